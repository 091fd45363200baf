//! Notices a cluster of mixed versions: an older instance stops at records that a newer one has written.

use std::collections::BTreeSet;

use crate::ClusterView;

/// Stands for instances that do not report their version.
const UNREPORTED: &str = "older";

/// The versions that were seen last.
#[derive(Debug, Default)]
pub(crate) struct Versions(BTreeSet<String>);

impl Versions {
    /// All versions, once, when there are several for the first time.
    pub(crate) fn mixed(&mut self, view: &ClusterView) -> Option<String> {
        let reported =
            view.members.values().map(|member| member.version.as_deref().unwrap_or(UNREPORTED).to_owned());
        let seen: BTreeSet<String> = reported.collect();
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

    fn view(versions: &[Option<&str>]) -> ClusterView {
        let mut view = ClusterView::default();
        for (number, version) in versions.iter().enumerate() {
            let id = InstanceId(format!("i-{number}"));
            let version = version.map(str::to_owned);
            let member =
                Member { id: id.clone(), address: String::new(), roles: Roles::ALL, ordinal: None, version };
            view.members.insert(id, member);
        }
        view
    }

    #[test]
    fn several_versions_are_reported_once_for_as_long_as_they_live() {
        let mut versions = Versions::default();
        assert_eq!(versions.mixed(&view(&[Some("1.0"), Some("1.0")])), None);
        let both = view(&[Some("1.0"), Some("1.1"), None]);
        assert_eq!(versions.mixed(&both).as_deref(), Some("1.0, 1.1, older"));
        assert_eq!(versions.mixed(&both), None);
        assert_eq!(versions.mixed(&view(&[Some("1.1")])), None);
        assert!(versions.mixed(&both).is_some());
    }
}
