//! Results, read as a reader of `load --json` would.

use std::io::Write as _;

use loadcurve_engine::{LoadResult, RunningLoad};
use loadcurve_plan::HttpLoad;
use serde_json::Value;

use crate::support::among_others;

/// A result whose requests are all accounted for.
pub(crate) struct Measured(Value);

/// Starts a load.
///
/// Where this kernel does not offer the backend there is nothing to test: the whole program of tests ends and says so.
#[expect(clippy::needless_pass_by_value, reason = "tests make plans where they use them")]
pub(crate) fn start(plan: HttpLoad) -> RunningLoad<LoadResult> {
    loadcurve_engine::start(&plan).unwrap_or_else(|error| {
        let text = error.to_string();
        assert!(text.starts_with("io_uring is not available"), "{text}");
        // Written past the test harness, which would keep it to itself.
        let _ = writeln!(std::io::stderr(), "skipped: {text}");
        std::process::exit(0);
    })
}

/// Runs a load to its end, beside other loads.
pub(crate) fn measure(plan: HttpLoad) -> Measured {
    let _among_others = among_others();
    Measured::from(&start(plan).finish())
}

impl From<&LoadResult> for Measured {
    fn from(result: &LoadResult) -> Self {
        let measured = Self(serde_json::to_value(result).unwrap());
        let ends = ["answered", "failed", "unanswered", "never_sent"].map(|end| measured.requests(end));
        assert_eq!(measured.requests("due"), ends.iter().sum::<u64>(), "requests got lost: {}", measured.0);
        let failures: u64 = measured.errors().iter().map(|(_, count)| count).sum();
        assert_eq!(measured.requests("failed"), failures, "failures without a class: {}", measured.0);
        measured
    }
}

impl Measured {
    /// The value at a path such as `/requests/due`.
    pub(crate) fn value(&self, path: &str) -> &Value {
        self.0.pointer(path).unwrap_or_else(|| panic!("the result has no {path}: {}", self.0))
    }

    pub(crate) fn count(&self, path: &str) -> u64 {
        self.value(path).as_u64().unwrap_or_else(|| panic!("{path} is not a count: {}", self.0))
    }

    pub(crate) fn number(&self, path: &str) -> f64 {
        self.value(path).as_f64().unwrap_or_else(|| panic!("{path} is not a number: {}", self.0))
    }

    pub(crate) fn requests(&self, what: &str) -> u64 {
        self.count(&format!("/requests/{what}"))
    }

    /// What the verdict says under a code; `None` if it has no such reason.
    pub(crate) fn reason(&self, code: &str) -> Option<&str> {
        let reasons = self.value("/verdict/reasons").as_array().unwrap();
        let reason = reasons.iter().find(|reason| reason["code"] == code)?;
        Some(reason["text"].as_str().unwrap())
    }

    /// The error classes that occurred, with their counts.
    pub(crate) fn errors(&self) -> Vec<(&str, u64)> {
        let classes = self.value("/errors").as_object().unwrap();
        let counts = classes.iter().map(|(class, count)| (class.as_str(), count.as_u64().unwrap()));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}
