//! Whether instances of several versions live side by side: an older one stops what a newer one has written.

use std::collections::BTreeSet;

use crate::Sight;

/// What instances say that do not tell their version.
const UNTOLD: &str = "older";

/// The versions that were seen last.
#[derive(Debug, Default)]
pub(crate) struct Versions(BTreeSet<String>);

impl Versions {
    /// All that live, once, when they have become several.
    pub(crate) fn mixed(&mut self, sight: &Sight) -> Option<String> {
        let told =
            sight.members.values().map(|member| member.version.as_deref().unwrap_or(UNTOLD).to_owned());
        let seen: BTreeSet<String> = told.collect();
        if seen == self.0 {
            return None;
        }
        self.0 = seen;
        let all: Vec<&str> = self.0.iter().map(String::as_str).collect();
        (all.len() > 1).then(|| all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InstanceId, Member, Roles};

    fn sight(versions: &[Option<&str>]) -> Sight {
        let mut sight = Sight::default();
        for (number, version) in versions.iter().enumerate() {
            let id = InstanceId(format!("i-{number}"));
            let version = version.map(str::to_owned);
            let member =
                Member { id: id.clone(), address: String::new(), roles: Roles::ALL, ordinal: None, version };
            sight.members.insert(id, member);
        }
        sight
    }

    #[test]
    fn several_versions_are_told_once_for_as_long_as_they_live() {
        let mut versions = Versions::default();
        assert_eq!(versions.mixed(&sight(&[Some("1.0"), Some("1.0")])), None);
        let both = sight(&[Some("1.0"), Some("1.1"), None]);
        assert_eq!(versions.mixed(&both).as_deref(), Some("1.0, 1.1, older"));
        assert_eq!(versions.mixed(&both), None);
        assert_eq!(versions.mixed(&sight(&[Some("1.1")])), None);
        assert!(versions.mixed(&both).is_some());
    }
}
