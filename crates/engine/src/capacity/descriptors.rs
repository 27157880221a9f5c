//! Open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::words::grouped;

/// Open files that the process needs beside one for each connection.
const OTHERS: u64 = 64;

/// The open files of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptors {
    needed: u64,
    /// How many this process may have; none for any number.
    allowed: Option<u64>,
}

impl Descriptors {
    /// Raises the soft limit of this process as far as this many connections need it.
    ///
    /// # Errors
    /// When the hard limit is lower.
    pub(super) fn allow(connections: usize) -> Result<Self, String> {
        let needed = connections as u64 + OTHERS;
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current.is_none_or(|current| current >= needed) {
            return Ok(Self { needed, allowed: current });
        }
        if maximum.is_some_and(|maximum| maximum < needed) {
            let refused = Self { needed, allowed: maximum };
            return Err(format!(
                "{}: use fewer connections, or {}",
                refused.in_words(),
                refused.raising_in_words()
            ));
        }
        setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum })
            .map(|()| Self { needed, allowed: Some(needed) })
            .map_err(|errno| {
                format!("the limit of open files cannot be raised to {}: {errno}", grouped(needed))
            })
    }

    /// The same need, with the limit as it is now.
    pub(super) fn now(self) -> Self {
        Self { allowed: getrlimit(Resource::Nofile).current, ..self }
    }

    /// What a load needed that found no open file for some connections, what there was, and what to change.
    pub(crate) fn shortage(self) -> String {
        if self.allowed.is_some_and(|allowed| allowed < self.needed) {
            return format!("{}: {}", self.in_words(), self.raising_in_words());
        }
        format!(
            "{}, which would suffice: other parts of this process, or all processes together (sysctl \
            fs.file-max), have used them up",
            self.in_words()
        )
    }

    fn in_words(self) -> String {
        let allowed = self.allowed.map_or("any number".into(), grouped);
        format!(
            "the load needs {} open files ({OTHERS} in addition to one per connection) and this process may \
            open {allowed}",
            grouped(self.needed)
        )
    }

    fn raising_in_words(self) -> String {
        format!(
            "raise the limit (as root: ulimit -n {needed}; for a service: LimitNOFILE={needed})",
            needed = self.needed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Descriptors;

    #[test]
    fn a_limit_below_the_need_is_reported_with_both_numbers_and_the_setting() {
        let text = Descriptors { needed: 20_064, allowed: Some(1_024) }.shortage();
        for part in ["needs 20,064 open files", "may open 1,024", "ulimit -n 20064"] {
            assert!(text.contains(part), "{text:?} does not say {part:?}");
        }
    }

    #[test]
    fn raising_a_limit_that_would_do_is_not_advised() {
        let text = Descriptors { needed: 74, allowed: Some(1_024) }.shortage();
        assert!(text.contains("fs.file-max") && !text.contains("ulimit"), "{text}");
    }
}
