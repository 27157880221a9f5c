//! What several processes record of one load, merged as it comes, so that of each only a few numbers are kept.

use loadcurve_plan::Nanos;

use crate::part::{CpuUse, Finished};
use crate::result::Lateness;
use crate::verdict::evidence::GeneratorEvidence;

/// The parts of a load that have arrived so far, as one.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    whole: Option<Finished>,
    generators: Vec<OwnGenerator>,
}

/// How late and how busy one of the processes was.
#[derive(Clone, Copy, Debug)]
struct OwnGenerator {
    lateness: Option<Lateness>,
    cpu: CpuUse,
    threads: usize,
}

impl Gathered {
    /// Adds what one more process records; the order is of no matter.
    pub fn add(&mut self, finished: Finished) {
        let part = &finished.part;
        self.generators.push(OwnGenerator {
            lateness: Lateness::of(&part.recorder.lateness),
            cpu: part.cpu,
            threads: part.threads,
        });
        match &mut self.whole {
            Some(whole) => whole.merge(finished),
            None => self.whole = Some(finished),
        }
    }

    /// Everything together, and how well the generators kept up in a window of a length: the slowest counts.
    ///
    /// # Panics
    /// Without a process.
    pub(crate) fn together(self) -> (Finished, impl FnOnce(Nanos) -> GeneratorEvidence) {
        let whole = self.whole.expect("a load has at least one process");
        let evidence = move |length| {
            let of = |own: &OwnGenerator| {
                GeneratorEvidence::new(own.lateness, own.cpu.working(), own.threads, length)
            };
            self.generators.iter().map(of).reduce(GeneratorEvidence::or_slower).unwrap_or_default()
        };
        (whole, evidence)
    }

    /// What results call the backend of the first process that says it.
    #[must_use]
    pub fn io(&self) -> Option<std::borrow::Cow<'static, str>> {
        self.whole.as_ref()?.io.clone()
    }
}

impl FromIterator<Finished> for Gathered {
    fn from_iter<T: IntoIterator<Item = Finished>>(all: T) -> Self {
        let mut gathered = Self::default();
        all.into_iter().for_each(|finished| gathered.add(finished));
        gathered
    }
}
