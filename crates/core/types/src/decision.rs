//! What a person can decide about a parked run.

use serde::{Deserialize, Serialize};

/// A kind of decision. The names are part of the API and the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    Retry,
    RetryFrom,
    Skip,
    ByHand,
    Instead,
    GiveUp,
}

impl DecisionKind {
    pub const ALL: [DecisionKind; 6] = [
        DecisionKind::Retry,
        DecisionKind::RetryFrom,
        DecisionKind::Skip,
        DecisionKind::ByHand,
        DecisionKind::Instead,
        DecisionKind::GiveUp,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            DecisionKind::Retry => "retry",
            DecisionKind::RetryFrom => "retry_from",
            DecisionKind::Skip => "skip",
            DecisionKind::ByHand => "by_hand",
            DecisionKind::Instead => "instead",
            DecisionKind::GiveUp => "give_up",
        }
    }

    /// Whether a note must say why. A retry needs none: the workflow retries by itself as well.
    pub fn needs_note(self) -> bool {
        self != DecisionKind::Retry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_decision_has_one_name() {
        for kind in DecisionKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
