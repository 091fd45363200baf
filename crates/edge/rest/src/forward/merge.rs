//! Merges the parts of a list that the instances returned, as if one instance had returned it all.

use std::collections::BTreeSet;

use api_types::{NamePage, PartitionView, QueueView, RunPage, RunSummary, ServiceView, TopicView};
use axum::body::Body;
use bytes::Bytes;
use http::Response;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use types::{PartitionId, RunId};
use view::{ListPosition, RunQuery};

use crate::azure;
use crate::error::ApiError;
use crate::forward::buffered_request::BufferedRequest;
use crate::forward::gather::json;
use crate::forward::scope::Merge;
use crate::overview;
use crate::routes;
use crate::runs as listing;

/// A list under `items`.
#[derive(Serialize, Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

/// One list out of its parts. `missing` are the partitions that are in none of them.
pub(crate) fn pages(
    list: Merge,
    buffered: &BufferedRequest,
    parts: &[Bytes],
    missing: &[PartitionId],
) -> Result<Response<Body>, ApiError> {
    match list {
        Merge::Runs | Merge::Parked => {
            let query = routes::run_query(&buffered.uri, list == Merge::Parked)?;
            Ok(json(&runs(&query, read(parts)?)?))
        }
        Merge::Queues => {
            let limit = routes::name_limit(&buffered.uri)?;
            Ok(json(&names(limit, read(parts)?, |queue: &QueueView| &queue.name)))
        }
        Merge::Topics => {
            let limit = routes::name_limit(&buffered.uri)?;
            Ok(json(&names(limit, read(parts)?, |topic: &TopicView| &topic.name)))
        }
        Merge::Collections => {
            let all = read::<Items<Value>>(parts)?.into_iter().flat_map(|part| part.items).collect();
            Ok(json(&Items { items: resources(all) }))
        }
        Merge::AzureCollections => {
            #[derive(Deserialize)]
            struct Part {
                value: Vec<Value>,
            }
            let all = read::<Part>(parts)?.into_iter().flat_map(|part| part.value).collect();
            Ok(azure::page(&buffered.uri, &buffered.headers, resources(all)))
        }
        Merge::Partitions => {
            let all = read::<Items<PartitionView>>(parts)?.into_iter().flat_map(|part| part.items).collect();
            Ok(json(&Items { items: partitions(all, missing) }))
        }
        Merge::Services => {
            let all = read::<Items<ServiceView>>(parts)?.into_iter().flat_map(|part| part.items).collect();
            Ok(json(&Items { items: overview::merge::services(all) }))
        }
        Merge::Service => {
            let all = overview::merge::services(read(parts)?);
            Ok(json(all.first().expect("somebody knows of it, or it is not found")))
        }
        Merge::Overview => {
            let unheld = u16::try_from(missing.len()).unwrap_or(u16::MAX);
            let all = overview::merge::overviews(read(parts)?, unheld);
            Ok(json(&all.expect("whoever asks has a part of its own")))
        }
    }
}

fn read<T: DeserializeOwned>(parts: &[Bytes]) -> Result<Vec<T>, ApiError> {
    let read = parts.iter().map(|part| serde_json::from_slice(part)).collect::<Result<_, _>>();
    // Another version of the program, most likely.
    read.map_err(|error| ApiError::View(format!("the part of another instance cannot be read: {error}")))
}

/// Runs: those in memory first, then those that have ended, as each part has them.
fn runs(query: &RunQuery, parts: Vec<RunPage>) -> Result<RunPage, ApiError> {
    let limit = query.limit;
    let live_goes_on = parts.iter().any(|part| part.next.as_deref().is_some_and(listing::is_live));
    // After the nearest end of a part there may be more of it, which must come first.
    let mut ends = Vec::new();
    for cursor in parts.iter().filter_map(|part| listing::ended_cursor(part.next.as_deref()?)) {
        let place = ListPosition::of_cursor(query, cursor);
        ends.push(
            place.ok_or_else(|| ApiError::View("another instance's cursor cannot be read".to_owned()))?,
        );
    }
    let end = ends.into_iter().min();
    let mut seen = BTreeSet::new();
    let all = parts.into_iter().flat_map(|part| part.items);
    let all = all.filter(|row| seen.insert(row.id.clone()));
    let (mut ended, mut live): (Vec<_>, Vec<_>) = all.partition(|row| row.status.is_final());
    live.sort_by(|a, b| (b.accepted_at.0, &b.id).cmp(&(a.accepted_at.0, &a.id)));
    if live.len() > limit || live_goes_on {
        live.truncate(limit);
        let next = live.last().map(listing::after_live_run);
        return Ok(RunPage { items: live, next });
    }
    if live.len() == limit {
        return Ok(RunPage { items: live, next: Some(listing::ENDED_FIRST.to_owned()) });
    }
    ended.sort_by_cached_key(place);
    let shown = ended.iter().filter(|row| end.as_ref().is_none_or(|end| place(row) <= *end)).count();
    // There is room for one at least.
    let cut = shown.min(limit - live.len());
    let next = if cut < shown { ended.get(cut - 1).map(place) } else { end };
    let next = next.map(|place| listing::after_ended_runs(&place.cursor(query)));
    ended.truncate(cut);
    live.extend(ended);
    Ok(RunPage { items: live, next })
}

fn place(row: &RunSummary) -> ListPosition {
    let id = RunId::new(&row.id).expect("an instance lists runs by their ids");
    ListPosition::of_run(row.accepted_at.0, &id)
}

fn names<T>(limit: usize, parts: Vec<NamePage<T>>, name: impl Fn(&T) -> &String) -> NamePage<T> {
    let cut = parts.iter().any(|part| part.next.is_some());
    let mut all: Vec<T> = parts.into_iter().flat_map(|part| part.items).collect();
    all.sort_by(|a, b| name(a).cmp(name(b)));
    // A queue whose partition has just changed its owner may be in two parts.
    all.dedup_by(|a, b| name(a) == name(b));
    let more = cut || all.len() > limit;
    all.truncate(limit);
    let next = all.last().filter(|_| more).map(|last| name(last).clone());
    NamePage { items: all, next }
}

/// Collections by their ids, as one instance orders them.
fn resources(mut all: Vec<Value>) -> Vec<Value> {
    let id = |value: &Value| value["id"].as_str().unwrap_or_default().to_lowercase();
    all.sort_by_cached_key(id);
    all.dedup_by_key(|value| id(value));
    all
}

fn partitions(mut all: Vec<PartitionView>, missing: &[PartitionId]) -> Vec<PartitionView> {
    let known: BTreeSet<u16> = all.iter().map(|view| view.partition).collect();
    let unheld = missing.iter().filter(|id| !known.contains(&id.0));
    all.extend(unheld.map(|id| PartitionView::unheld(id.0)));
    all.sort_by_key(|view| view.partition);
    all.dedup_by_key(|view| view.partition);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use api_types::Time;
    use types::{RunStatus, Timestamp};

    fn row(id: &str, at: i64, status: RunStatus) -> RunSummary {
        RunSummary {
            id: id.to_owned(),
            workflow: "w".to_owned(),
            version: 1,
            status,
            key: id.to_owned(),
            accepted_at: Time(Timestamp(at)),
            ended_at: None,
            reason: None,
        }
    }

    fn query(limit: usize) -> RunQuery {
        RunQuery { limit, ..RunQuery::default() }
    }

    fn ids(page: &RunPage) -> Vec<&str> {
        page.items.iter().map(|row| row.id.as_str()).collect()
    }

    fn next_after(row: &RunSummary, query: &RunQuery) -> Option<String> {
        Some(listing::after_ended_runs(&place(row).cursor(query)))
    }

    #[test]
    fn rows_after_the_end_of_a_short_page_wait_for_what_may_come_before_them() {
        let done = |id: &str, at| row(id, at, RunStatus::Completed);
        let query = query(10);
        // The first has scanned to 50 and found one row; the second has more rows after that.
        let short = RunPage { items: vec![done("a", 70)], next: next_after(&done("x", 50), &query) };
        let whole = RunPage { items: vec![done("b", 60), done("c", 40)], next: None };
        let page = runs(&query, vec![short, whole]).unwrap();
        assert_eq!(ids(&page), ["a", "b"]);
        assert_eq!(page.next, next_after(&done("x", 50), &query));
    }

    // guards: 51
    #[test]
    fn a_page_ends_after_its_last_row_and_live_runs_come_first() {
        let (live, done) = (RunStatus::Running, RunStatus::Completed);
        let parts = || {
            let one = RunPage { items: vec![row("a", 10, live), row("d", 90, done)], next: None };
            let other = RunPage { items: vec![row("b", 20, live), row("e", 95, done)], next: None };
            vec![one, other]
        };
        let cut = |limit| {
            let page = runs(&query(limit), parts()).unwrap();
            (ids(&page).join(" "), page.next)
        };
        assert_eq!(cut(1), ("b".to_owned(), Some("l.20.b".to_owned())));
        assert_eq!(cut(2), ("b a".to_owned(), Some("e".to_owned())));
        assert_eq!(cut(3), ("b a e".to_owned(), next_after(&row("e", 95, done), &query(3))));
        assert_eq!(cut(4), ("b a e d".to_owned(), None));
    }

    #[test]
    fn what_was_seen_at_two_instances_is_shown_once() {
        let one = || RunPage { items: vec![row("a", 10, RunStatus::Running)], next: None };
        assert_eq!(ids(&runs(&query(5), vec![one(), one()]).unwrap()), ["a"]);
        let view = |partition, state: &str| PartitionView {
            state: state.to_owned(),
            ..PartitionView::unheld(partition)
        };
        let all =
            partitions(vec![view(2, "running"), view(0, "stopped"), view(2, "running")], &[PartitionId(1)]);
        let states: Vec<_> = all.iter().map(|view| (view.partition, view.state.as_str())).collect();
        assert_eq!(states, [(0, "stopped"), (1, "unheld"), (2, "running")]);
    }
}
