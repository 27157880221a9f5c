//! What a load records: each thread, each process, and, in a form that travels, several processes together.

use std::borrow::Cow;
use std::fmt;

use loadcurve_pauses::Pause;
use loadcurve_plan::Nanos;
use loadcurve_record::{Recorder, Window};
use serde::{Deserialize, Serialize};

use crate::kernel::TcpCounters;

/// Names the form in which parts travel; another one has another name.
const FORMAT: &str = "loadcurve-part/6";

/// Waits without sleeping, of which a thread that has a processor to itself makes use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Polling {
    /// Processor time that they took.
    pub(crate) spent: Nanos,
    /// How many of them have found something.
    pub(crate) found: u64,
    /// The longest pause between two looks.
    pub(crate) longest_pause: Nanos,
}

impl Polling {
    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            spent: self.spent + other.spent,
            found: self.found + other.found,
            longest_pause: self.longest_pause.max(other.longest_pause),
        }
    }

    /// What has come since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { spent: self.spent - earlier.spent, found: self.found - earlier.found, ..self }
    }
}

/// How threads have mostly waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitedBy {
    /// Without sleeping.
    Polling,
    /// Until the kernel woke them.
    Sleeping,
}

/// Processor time between the start of the window and the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    pub(crate) user: Nanos,
    pub(crate) system: Nanos,
    /// What was spent on waiting without sleeping.
    pub(crate) polling: Polling,
    /// How often threads went to sleep, because nothing had arrived.
    pub(crate) voluntary_switches: u64,
}

impl CpuUse {
    /// Without what was spent on waiting.
    pub(crate) fn working(self) -> Nanos {
        self.user + self.system - self.polling.spent
    }

    /// How its threads have waited for answers.
    pub(crate) fn waiting(self) -> WaitedBy {
        if self.polling.found > self.voluntary_switches { WaitedBy::Polling } else { WaitedBy::Sleeping }
    }

    fn add(&mut self, other: Self) {
        self.user = self.user + other.user;
        self.system = self.system + other.system;
        self.polling = self.polling.and(other.polling);
        self.voluntary_switches += other.voluntary_switches;
    }
}

/// What one thread records, or several of them together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// What it recorded.
    pub recorder: Recorder,
    /// The measured window.
    pub window: Window,
    /// When the first thread began, at the common start or later.
    pub began: Nanos,
    /// How much later than the first thread the last one began.
    pub began_within: Nanos,
    /// When the last thread stopped: after the window, or before its end when interrupted.
    pub ended: Nanos,
    /// What it cost.
    pub cpu: CpuUse,
    /// How many threads there were.
    pub threads: usize,
}

impl Part {
    /// What one thread records.
    #[must_use]
    pub fn of_thread(recorder: Recorder, window: Window, began: Nanos, ended: Nanos, cpu: CpuUse) -> Self {
        debug_assert_eq!(recorder.balance(), Ok(()), "a thread has lost requests");
        Self { recorder, window, began, began_within: Nanos::ZERO, ended, cpu, threads: 1 }
    }

    /// Adds what other threads of the same load record; the order is of no matter.
    pub fn merge(&mut self, other: &Self) {
        let last = self.last_began().max(other.last_began());
        self.recorder.merge(&other.recorder);
        self.began = self.began.min(other.began);
        self.began_within = last - self.began;
        self.ended = self.ended.max(other.ended);
        self.cpu.add(other.cpu);
        self.threads += other.threads;
        debug_assert_eq!(self.recorder.balance(), Ok(()), "requests were lost in merging");
    }

    /// When the last thread began.
    pub(crate) fn last_began(&self) -> Nanos {
        self.began + self.began_within
    }

    /// The same part where a time line's start is not at `from`, but at `to`.
    fn moved(self, from: Nanos, to: Nanos) -> Self {
        Self {
            recorder: self.recorder.moved(from, to),
            window: self.window.moved(from, to),
            began: self.began.moved(from, to),
            ended: self.ended.moved(from, to),
            ..self
        }
    }
}

/// What the threads of one process have recorded when all have ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finished {
    /// That of all threads.
    pub part: Part,
    /// How much the machine's TCP counters have grown.
    pub kernel: TcpCounters,
    /// Whether the load was asked to stop before its end.
    pub interrupted: bool,
    /// When its CPUs did not run; `None` where that is not known.
    pub pauses: Option<Vec<Pause>>,
    /// What results call the backend; `None` where it is not the part that says it.
    pub io: Option<Cow<'static, str>>,
}

/// Names the format in which a part travels.
#[derive(Serialize, Deserialize)]
struct Form {
    format: String,
}

/// A part as it travels, with times from the common start.
#[derive(Serialize, Deserialize)]
struct Travelling {
    format: String,
    finished: Finished,
}

/// A text that is no part of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPart(String);

impl fmt::Display for InvalidPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not a part of a load in the format {FORMAT}: {}", self.0)
    }
}

impl Finished {
    /// The recordings of the threads of a process, at least one.
    ///
    /// # Panics
    /// Without a thread.
    #[must_use]
    pub fn of(parts: Vec<Part>, kernel: TcpCounters, interrupted: bool) -> Self {
        let together = parts.into_iter().reduce(|mut together, part| {
            together.merge(&part);
            together
        });
        Self {
            part: together.expect("a load has at least one thread"),
            kernel,
            interrupted,
            pauses: None,
            io: None,
        }
    }

    /// Adds what another process records of the same load.
    pub(crate) fn merge(&mut self, other: Self) {
        self.part.merge(&other.part);
        self.kernel = self.kernel.and(other.kernel);
        self.interrupted |= other.interrupted;
        self.pauses = self.pauses.take().zip(other.pauses).map(|(ours, theirs)| [ours, theirs].concat());
        self.io = self.io.take().or(other.io);
    }

    /// The form that travels to another process or machine, where the load began at another reading of the clock: JSON,
    /// with times from `epoch`, at which the load began here.
    ///
    /// # Panics
    /// Never: everything that is measured can be written.
    #[must_use]
    pub fn encode(&self, epoch: Nanos) -> String {
        let finished = self.clone().moved(epoch, Nanos::ZERO);
        serde_json::to_string(&Travelling { format: FORMAT.into(), finished }).expect("it can be written")
    }

    /// Reads that form exactly; the load began at `epoch` of the clock here.
    ///
    /// # Errors
    /// The text is of another form, or damaged.
    pub fn decode(text: &str, epoch: Nanos) -> Result<Self, InvalidPart> {
        let invalid = |error: serde_json::Error| InvalidPart(error.to_string());
        let Form { format } = serde_json::from_str(text).map_err(invalid)?;
        if format != FORMAT {
            return Err(InvalidPart(format!("its format is {format:?}")));
        }
        let Travelling { finished, .. } = serde_json::from_str(text).map_err(invalid)?;
        finished.part.recorder.balance().map_err(|unbalanced| InvalidPart(unbalanced.to_string()))?;
        Ok(finished.moved(Nanos::ZERO, epoch))
    }

    fn moved(self, from: Nanos, to: Nanos) -> Self {
        // What was before the start is no part of the load.
        let since_begin = |pause: &Pause| pause.earliest >= from;
        let moved = |pauses: Vec<Pause>| {
            pauses.into_iter().filter(since_begin).map(|pause| pause.moved(from, to)).collect()
        };
        Self { part: self.part.moved(from, to), pauses: self.pauses.map(moved), ..self }
    }
}

#[cfg(test)]
mod tests;
