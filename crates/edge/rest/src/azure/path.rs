//! The paths of Azure Resource Manager, whose fixed parts are not case-sensitive.

use percent_encoding::percent_decode_str;

use crate::jobs::CollectionPath;

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AzurePath {
    /// What the provider offers.
    Provider {
        subscription: String,
    },
    /// The collections of a subscription, or of one of its resource groups.
    Collections {
        subscription: String,
        group: Option<String>,
    },
    Collection(CollectionPath),
    Enable(CollectionPath),
    Disable(CollectionPath),
    Jobs(CollectionPath),
    Job(CollectionPath, String),
    Run(CollectionPath, String),
    History(CollectionPath, String),
    Preview(CollectionPath, String),
    /// Under the provider, and nothing.
    Unknown,
}

impl AzurePath {
    /// The collection that it is in.
    pub fn collection(&self) -> Option<&CollectionPath> {
        match self {
            AzurePath::Collection(at)
            | AzurePath::Enable(at)
            | AzurePath::Disable(at)
            | AzurePath::Jobs(at) => Some(at),
            AzurePath::Job(at, _)
            | AzurePath::Run(at, _)
            | AzurePath::History(at, _)
            | AzurePath::Preview(at, _) => Some(at),
            AzurePath::Provider { .. } | AzurePath::Collections { .. } | AzurePath::Unknown => None,
        }
    }

    /// The place that a path names; none when it belongs to another API.
    pub fn of(path: &str) -> Option<AzurePath> {
        let decode = |part: &str| percent_decode_str(part).decode_utf8().map(|text| text.into_owned());
        let rest = path.strip_prefix('/')?;
        if !rest.get(..14)?.eq_ignore_ascii_case("subscriptions/") {
            return None;
        }
        let parts: Vec<String> = rest.split('/').map(decode).collect::<Result<_, _>>().ok()?;
        let mut parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        parts.pop_if(|last| last.is_empty());
        Some(named(&parts[1..]).unwrap_or(AzurePath::Unknown))
    }
}

fn named(parts: &[&str]) -> Option<AzurePath> {
    let (subscription, rest) = parts.split_first().filter(|(name, _)| !name.is_empty())?;
    let (group, rest) = match rest {
        [fixed, group, rest @ ..] if is(fixed, "resourceGroups") => (Some((*group).to_owned()), rest),
        rest => (None, rest),
    };
    let rest = match rest {
        [fixed, provider, rest @ ..] if is(fixed, "providers") && is(provider, "Microsoft.Scheduler") => rest,
        _ => return None,
    };
    let subscription = (*subscription).to_owned();
    let rest = match (rest, &group) {
        ([], None) => return Some(AzurePath::Provider { subscription }),
        ([fixed], _) if is(fixed, "jobCollections") => {
            return Some(AzurePath::Collections { subscription, group });
        }
        ([fixed, rest @ ..], Some(_)) if is(fixed, "jobCollections") => rest,
        _ => return None,
    };
    let (name, rest) = rest.split_first()?;
    let collection = CollectionPath { subscription, group: group?, name: (*name).to_owned() };
    in_collection(collection, rest)
}

fn in_collection(collection: CollectionPath, rest: &[&str]) -> Option<AzurePath> {
    Some(match rest {
        [] => AzurePath::Collection(collection),
        [act] if is(act, "enable") => AzurePath::Enable(collection),
        [act] if is(act, "disable") => AzurePath::Disable(collection),
        [jobs] if is(jobs, "jobs") => AzurePath::Jobs(collection),
        [jobs, job] if is(jobs, "jobs") => AzurePath::Job(collection, (*job).to_owned()),
        [jobs, job, act] if is(jobs, "jobs") && is(act, "run") => {
            AzurePath::Run(collection, (*job).to_owned())
        }
        [jobs, job, act] if is(jobs, "jobs") && is(act, "history") => {
            AzurePath::History(collection, (*job).to_owned())
        }
        [jobs, job, act] if is(jobs, "jobs") && is(act, "preview") => {
            AzurePath::Preview(collection, (*job).to_owned())
        }
        _ => return None,
    })
}

fn is(part: &str, fixed: &str) -> bool {
    part.eq_ignore_ascii_case(fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: &str = "/subscriptions/s/resourceGroups/rg 1/providers/Microsoft.Scheduler/jobCollections/c";

    fn collection() -> CollectionPath {
        CollectionPath { subscription: "s".to_owned(), group: "rg 1".to_owned(), name: "c".to_owned() }
    }

    #[test]
    fn every_operation_has_its_place() {
        let job = "j".to_owned();
        let cases = [
            (C.to_owned(), AzurePath::Collection(collection())),
            (format!("{C}/enable"), AzurePath::Enable(collection())),
            (format!("{C}/disable"), AzurePath::Disable(collection())),
            (format!("{C}/jobs"), AzurePath::Jobs(collection())),
            (format!("{C}/jobs/j"), AzurePath::Job(collection(), job.clone())),
            (format!("{C}/jobs/j/run"), AzurePath::Run(collection(), job.clone())),
            (format!("{C}/jobs/j/history"), AzurePath::History(collection(), job)),
            (format!("{C}/jobs/j/elsewhere"), AzurePath::Unknown),
        ];
        for (path, place) in cases {
            assert_eq!(AzurePath::of(&path.replace(' ', "%20")), Some(place), "{path}");
        }
        let group = Some("g".to_owned());
        let in_group = AzurePath::Collections { subscription: "s".to_owned(), group };
        let path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
        assert_eq!(AzurePath::of(path), Some(in_group));
        let all = AzurePath::Collections { subscription: "s".to_owned(), group: None };
        assert_eq!(
            AzurePath::of("/subscriptions/s/providers/Microsoft.Scheduler/jobCollections/"),
            Some(all)
        );
    }

    #[test]
    fn fixed_parts_are_taken_in_any_case_and_names_are_kept() {
        let path = "/SUBSCRIPTIONS/S/resourcegroups/RG/providers/microsoft.scheduler/JOBCOLLECTIONS/C/Jobs/J";
        let Some(AzurePath::Job(collection, job)) = AzurePath::of(path) else { panic!("{path}") };
        assert_eq!((collection.name.as_str(), job.as_str()), ("C", "J"));
    }

    #[test]
    fn other_paths_belong_to_others() {
        for path in ["/v1/runs", "/", "/subscription/s", "", "/subscriptions"] {
            assert_eq!(AzurePath::of(path), None, "{path}");
        }
    }
}
