//! Whether the server had settled, so that another length of the load would have given the same numbers.

use loadcurve_plan::Stop;

use super::change::{Change, NonStationary, non_stationarity};
use super::{Code, Evidence, PeriodMeans, Status, TimeSeries, Verdict};

/// The smallest change of throughput, as a share, that matters.
const LEAST_CHANGE_OF_RATE: f64 = 0.03;
/// The same of latency, which another core, another clock speed or a later wake already changes by some percent.
const LEAST_CHANGE_OF_LATENCY: f64 = 0.1;
/// Latencies that lie closer together are not told apart.
const LATENCY_RESOLUTION_MS: f64 = 0.001;

impl Verdict {
    /// Suspect, and never invalid, however large the change: the numbers are true of the window, and what they are not
    /// is those of another window.
    pub(super) fn judge_stationarity(&mut self, evidence: &Evidence) {
        if evidence.has_stopped_answering() {
            return;
        }
        let measure = Measure::of(evidence);
        let Some(unsettled) = measure.judge(evidence) else { return };
        let (seen, server) = (seen(&unsettled, measure, evidence), evidence.loaded.row().server);
        let text = match unsettled.level_after {
            Some(periods) => {
                let time_series = &evidence.time_series;
                let warmup_s = (time_series.warmup_s + length_s(&time_series.periods[..periods])).ceil();
                format!(
                    "{seen}: the {server} had not settled when the window began, and the numbers mix both; set \
                    a warm-up of at least {warmup_s} s (`--warmup {warmup_s}s`, in a study `warmup = \"{warmup_s}s\"`)"
                )
            }
            None => format!(
                "{seen}: the {server} had not settled by the end, so a load of another length \
                gives other numbers; {}, to see whether it settles and after which warm-up; if \
                it does not, find out what the {server} or its machine runs out of",
                longer(evidence)
            ),
        };
        self.add(Status::Suspect, Code::Unsettled, text);
    }
}

/// What the server decides about, and so tells whether it had settled.
#[derive(Clone, Copy)]
enum Measure {
    Rate,
    /// Where clients that think, or a schedule which is kept, set the rate.
    Latency,
}

impl Measure {
    fn of(evidence: &Evidence) -> Self {
        let thinks = evidence.kept_up.is_some_and(|kept_up| kept_up.think_ms > 0.0);
        let keeps_schedule = evidence.scheduled.is_some() && evidence.keeps_pace();
        if thinks || keeps_schedule { Self::Latency } else { Self::Rate }
    }

    fn judge(self, evidence: &Evidence) -> Option<NonStationary> {
        let time_series = &evidence.time_series;
        if time_series.rate_changes {
            return None;
        }
        match self {
            Self::Rate => {
                // Answers are whole.
                let resolution_rps = 1.0 / time_series.periods.first()?.width_s;
                non_stationarity(
                    &time_series.rates_rps(evidence.mean_latency_ms),
                    resolution_rps,
                    LEAST_CHANGE_OF_RATE,
                )
            }
            Self::Latency => {
                non_stationarity(&time_series.latencies_ms()?, LATENCY_RESOLUTION_MS, LEAST_CHANGE_OF_LATENCY)
            }
        }
    }

    fn name(self, requests: &str) -> String {
        match self {
            Self::Rate => format!("the {requests} answered per second"),
            Self::Latency => "the mean latency".into(),
        }
    }

    /// How a part is told apart from the others; shares above the whole are hard to read.
    fn differs(self, relative: f64, requests: &str) -> String {
        let (percent, times) = (percent(relative), 1.0 + relative);
        match self {
            Self::Rate if relative < 0.0 => {
                format!("answered {percent} fewer {requests} per second than the rest")
            }
            Self::Rate if times < 2.0 => {
                format!("answered {percent} more {requests} per second than the rest")
            }
            Self::Rate => format!("answered {times:.1} times as many {requests} per second as the rest"),
            Self::Latency if relative < 0.0 => {
                format!("had a mean latency {percent} shorter than the rest")
            }
            Self::Latency if times < 2.0 => format!("had a mean latency {percent} longer than the rest"),
            Self::Latency => format!("had a mean latency {times:.1} times as long as the rest"),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share.abs())
}

impl TimeSeries {
    /// Answers per second in each period.
    ///
    /// Where nothing was under way when the window began, the first answers came a latency later: that is no part of the
    /// first period, of which half still has to show the rate.
    fn rates_rps(&self, mean_latency_ms: Option<f64>) -> Vec<f64> {
        let waited_s = if self.warmup_s > 0.0 { 0.0 } else { mean_latency_ms.unwrap_or(0.0) / 1e3 };
        let rates_rps = self.periods.iter().enumerate().map(|(index, period)| {
            let waited_s = if index == 0 { waited_s.min(period.width_s / 2.0) } else { 0.0 };
            period.answered as f64 / (period.width_s - waited_s)
        });
        rates_rps.collect()
    }

    /// The mean latency in each period; `None` if one of them has no answer.
    fn latencies_ms(&self) -> Option<Vec<f64>> {
        self.periods.iter().map(|period| period.mean_latency_ms).collect()
    }
}

fn seen(unsettled: &NonStationary, measure: Measure, evidence: &Evidence) -> String {
    let (periods, requests) = (&evidence.time_series.periods, evidence.loaded.row().requests);
    let whole_s = length_s(periods);
    let differs = |relative| measure.differs(relative, requests);
    match unsettled.change {
        Change::Level { at, relative } if 2 * at <= periods.len() => {
            format!("the first {} of {whole_s} s {}", length_s(&periods[..at]), differs(relative))
        }
        Change::Level { at, relative } => {
            format!("the last {} of {whole_s} s {}", length_s(&periods[at..]), differs(relative))
        }
        Change::Trend { relative } => format!(
            "{} {} by {} from the first third of the {whole_s} s to the last",
            measure.name(requests),
            if relative < 0.0 { "fell" } else { "rose" },
            percent(relative)
        ),
    }
}

/// How long the periods are together, to a tenth of a second.
fn length_s(periods: &[PeriodMeans]) -> f64 {
    let length_s: f64 = periods.iter().map(|period| period.width_s).sum();
    (10.0 * length_s).round() / 10.0
}

fn longer(evidence: &Evidence) -> String {
    match evidence.stop {
        Stop::DurationS(seconds) => {
            format!(
                "make it three times as long (`--duration {0}s`, in a study `duration = \"{0}s\"`)",
                3.0 * seconds
            )
        }
        Stop::RequestsTotal(_) => {
            format!("make it send three times as many {}", evidence.loaded.row().requests)
        }
        Stop::ConnectionsTotal(_) => "make it open three times as many connections".into(),
        Stop::Recording => "replay a recording three times as long".into(),
    }
}
