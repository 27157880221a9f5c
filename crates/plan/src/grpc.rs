//! Calls of gRPC: what they say of themselves, and what their answers must be.

use serde::{Deserialize, Serialize};

use crate::InvalidPlan;

/// How many statuses there are.
const STATUSES: u32 = 17;

/// How calls of gRPC are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grpc {
    /// The statuses that are right: the bit of each one's number.
    pub right_statuses: u32,
    /// Whether calls tell the server their timeout (`grpc-timeout`).
    pub deadline: bool,
}

impl Default for Grpc {
    /// OK is right.
    fn default() -> Self {
        Self { right_statuses: 1, deadline: false }
    }
}

impl Grpc {
    /// Whether a status of this number is right.
    #[must_use]
    pub fn is_right(self, status: u8) -> bool {
        u32::from(status) < STATUSES && self.right_statuses >> status & 1 == 1
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// No status is right, or a bit is that of no status.
    pub(crate) fn validate(self) -> Result<(), InvalidPlan> {
        let bits = self.right_statuses;
        if bits == 0 || bits >> STATUSES > 0 {
            return Err(InvalidPlan(format!(
                "the right statuses of gRPC have the bits {bits:#b}; expected at least one of the lowest {STATUSES}"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Grpc;

    #[test]
    fn ok_is_right_unless_others_are_named() {
        let right = |grpc: Grpc| (0..=40).filter(|status| grpc.is_right(*status)).collect::<Vec<_>>();
        assert_eq!(right(Grpc::default()), [0]);
        assert_eq!(right(Grpc { right_statuses: 0b10_0001, ..Grpc::default() }), [0, 5]);
        assert_eq!(right(Grpc { right_statuses: 1 << 16, ..Grpc::default() }), [16]);
    }

    #[test]
    fn bits_that_are_no_status_are_refused() {
        let validated = |right_statuses| Grpc { right_statuses, ..Grpc::default() }.validate();
        assert!(validated(1 << 16).is_ok());
        assert!(validated(0).is_err() && validated(1 << 17).is_err());
    }
}
