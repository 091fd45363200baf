//! The paths of Azure Resource Manager, whose fixed parts are not case-sensitive.

use percent_encoding::percent_decode_str;

/// Where a collection lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CollectionPath {
    pub subscription: String,
    pub group: String,
    pub name: String,
}

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
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

impl CollectionPath {
    /// Where the collection is found.
    pub fn id(&self) -> String {
        kernel::job::collection_id(&self.subscription, &self.group, &self.name)
    }
}

impl Place {
    /// The collection that it is in.
    pub fn collection(&self) -> Option<&CollectionPath> {
        match self {
            Place::Collection(at) | Place::Enable(at) | Place::Disable(at) | Place::Jobs(at) => Some(at),
            Place::Job(at, _) | Place::Run(at, _) | Place::History(at, _) | Place::Preview(at, _) => Some(at),
            Place::Provider { .. } | Place::Collections { .. } | Place::Unknown => None,
        }
    }

    /// The place that a path names; none when it belongs to another API.
    pub fn of(path: &str) -> Option<Place> {
        let decode = |part: &str| percent_decode_str(part).decode_utf8().map(|text| text.into_owned());
        let rest = path.strip_prefix('/')?;
        if !rest.get(..14)?.eq_ignore_ascii_case("subscriptions/") {
            return None;
        }
        let parts: Vec<String> = rest.split('/').map(decode).collect::<Result<_, _>>().ok()?;
        let mut parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        parts.pop_if(|last| last.is_empty());
        Some(named(&parts[1..]).unwrap_or(Place::Unknown))
    }
}

fn named(parts: &[&str]) -> Option<Place> {
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
        ([], None) => return Some(Place::Provider { subscription }),
        ([fixed], _) if is(fixed, "jobCollections") => {
            return Some(Place::Collections { subscription, group });
        }
        ([fixed, rest @ ..], Some(_)) if is(fixed, "jobCollections") => rest,
        _ => return None,
    };
    let (name, rest) = rest.split_first()?;
    let collection = CollectionPath { subscription, group: group?, name: (*name).to_owned() };
    in_collection(collection, rest)
}

fn in_collection(collection: CollectionPath, rest: &[&str]) -> Option<Place> {
    Some(match rest {
        [] => Place::Collection(collection),
        [act] if is(act, "enable") => Place::Enable(collection),
        [act] if is(act, "disable") => Place::Disable(collection),
        [jobs] if is(jobs, "jobs") => Place::Jobs(collection),
        [jobs, job] if is(jobs, "jobs") => Place::Job(collection, (*job).to_owned()),
        [jobs, job, act] if is(jobs, "jobs") && is(act, "run") => Place::Run(collection, (*job).to_owned()),
        [jobs, job, act] if is(jobs, "jobs") && is(act, "history") => {
            Place::History(collection, (*job).to_owned())
        }
        [jobs, job, act] if is(jobs, "jobs") && is(act, "preview") => {
            Place::Preview(collection, (*job).to_owned())
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
            (C.to_owned(), Place::Collection(collection())),
            (format!("{C}/enable"), Place::Enable(collection())),
            (format!("{C}/disable"), Place::Disable(collection())),
            (format!("{C}/jobs"), Place::Jobs(collection())),
            (format!("{C}/jobs/j"), Place::Job(collection(), job.clone())),
            (format!("{C}/jobs/j/run"), Place::Run(collection(), job.clone())),
            (format!("{C}/jobs/j/history"), Place::History(collection(), job)),
            (format!("{C}/jobs/j/elsewhere"), Place::Unknown),
        ];
        for (path, place) in cases {
            assert_eq!(Place::of(&path.replace(' ', "%20")), Some(place), "{path}");
        }
        let group = Some("g".to_owned());
        let in_group = Place::Collections { subscription: "s".to_owned(), group };
        let path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
        assert_eq!(Place::of(path), Some(in_group));
        let all = Place::Collections { subscription: "s".to_owned(), group: None };
        assert_eq!(Place::of("/subscriptions/s/providers/Microsoft.Scheduler/jobCollections/"), Some(all));
    }

    #[test]
    fn fixed_parts_are_taken_in_any_case_and_names_are_kept() {
        let path = "/SUBSCRIPTIONS/S/resourcegroups/RG/providers/microsoft.scheduler/JOBCOLLECTIONS/C/Jobs/J";
        let Some(Place::Job(collection, job)) = Place::of(path) else { panic!("{path}") };
        assert_eq!((collection.name.as_str(), job.as_str()), ("C", "J"));
    }

    #[test]
    fn other_paths_belong_to_others() {
        for path in ["/v1/runs", "/", "/subscription/s", "", "/subscriptions"] {
            assert_eq!(Place::of(path), None, "{path}");
        }
    }
}
