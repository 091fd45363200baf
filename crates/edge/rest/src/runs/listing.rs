//! Lists of runs: first those in memory, then those that have ended, each newest first.

use std::collections::BTreeMap;

use api_types::{RunPage, RunSummary};
use kernel::{Run, State};
use types::{RunStatus, Timestamp};
use view::RunQuery;

use super::Runs;
use super::show;
use crate::error::ApiError;

/// Where a list goes on.
enum Cursor {
    /// After this live run.
    Live {
        accepted_at: Timestamp,
        id: String,
    },
    /// Among the ended ones.
    Ended(String),
    EndedFirst,
}

const BAD_CURSOR: &str = "cursor: not one that this list has handed out; start again without it";

/// One page of the runs that a query selects.
pub(crate) async fn page(runs: &Runs, query: RunQuery) -> Result<RunPage, ApiError> {
    if query.status == Some(RunStatus::Accepted) {
        let text = "status: accepted requests wait in the inbox and are not listed; see /v1/partitions for their number";
        return Err(ApiError::BadRequest(text.to_owned()));
    }
    let cursor = query.cursor.as_deref().map(parse_cursor).transpose()?;
    let after = match cursor {
        Some(Cursor::Ended(cursor)) => return ended(runs, RunQuery { cursor: Some(cursor), ..query }).await,
        Some(Cursor::EndedFirst) => return ended(runs, RunQuery { cursor: None, ..query }).await,
        Some(Cursor::Live { accepted_at, id }) => Some((accepted_at, id)),
        None => None,
    };
    let mut items = live(runs, &query, after).await?;
    let limit = query.limit;
    if items.len() > limit {
        items.truncate(limit);
        let last = items.last().expect("a page has at least one row");
        let next = after_live_run(last);
        return Ok(RunPage { items, next: Some(next) });
    }
    if items.len() == limit {
        return Ok(RunPage { items, next: Some(ENDED_FIRST.to_owned()) });
    }
    let rest = ended(runs, RunQuery { limit: limit - items.len(), cursor: None, ..query }).await?;
    items.extend(rest.items);
    Ok(RunPage { items, next: rest.next })
}

/// The cursor of a list that goes on with the first ended run.
pub(crate) const ENDED_FIRST: &str = "e";

/// The cursor of a list that continues after a live run.
pub(crate) fn after_live_run(row: &RunSummary) -> String {
    format!("l.{}.{}", row.accepted_at.0.0, row.id)
}

/// The cursor of a list that continues among ended runs, from a cursor of the view.
pub(crate) fn after_ended_runs(cursor: &str) -> String {
    format!("e.{cursor}")
}

/// Whether a list goes on among live runs.
pub(crate) fn is_live(cursor: &str) -> bool {
    cursor.starts_with("l.")
}

/// The cursor of the view, when a list goes on among ended runs.
pub(crate) fn ended_cursor(cursor: &str) -> Option<&str> {
    cursor.strip_prefix("e.")
}

fn parse_cursor(text: &str) -> Result<Cursor, ApiError> {
    let bad = || ApiError::BadRequest(BAD_CURSOR.to_owned());
    if text == ENDED_FIRST {
        return Ok(Cursor::EndedFirst);
    }
    if let Some(cursor) = ended_cursor(text) {
        return Ok(Cursor::Ended(cursor.to_owned()));
    }
    let (at, id) = text.strip_prefix("l.").and_then(|rest| rest.split_once('.')).ok_or_else(bad)?;
    let accepted_at = Timestamp(at.parse().map_err(|_| bad())?);
    Ok(Cursor::Live { accepted_at, id: id.to_owned() })
}

/// Up to one more than the limit, so that the caller sees whether there are more.
async fn live(
    runs: &Runs,
    query: &RunQuery,
    after: Option<(Timestamp, String)>,
) -> Result<Vec<RunSummary>, ApiError> {
    let mut found = Vec::new();
    for partition in runs.cluster.owned_partitions() {
        let (query, after) = (query.clone(), after.clone());
        let matching = move |state: &State| select(state, &query, after.as_ref());
        match runs.engine.query(partition, matching).await {
            Ok(rows) => found.extend(rows),
            // The runs of a stopped partition cannot be listed; /v1/partitions and readiness tell of it.
            Err(error) => tracing::debug!(%error, "a partition was skipped in a list"),
        }
    }
    found.sort_by(|a, b| position(b).cmp(&position(a)));
    found.truncate(query.limit + 1);
    Ok(found)
}

fn position(row: &RunSummary) -> (Timestamp, &str) {
    (row.accepted_at.0, &row.id)
}

fn select(state: &State, query: &RunQuery, after: Option<&(Timestamp, String)>) -> Vec<RunSummary> {
    let wanted = |run: &&Run| {
        let request = &run.request;
        query.workflow.as_ref().is_none_or(|name| *name == request.workflow)
            && query.status.is_none_or(|status| status == run.status())
            && query.key.as_ref().is_none_or(|key| *key == request.key)
            && query.from.is_none_or(|from| request.accepted_at >= from)
            && query.to.is_none_or(|to| request.accepted_at < to)
            && after.is_none_or(|(at, id)| place(run) < (*at, id.as_str()))
    };
    // Runs stand in the order in which they were taken from the inbox, which is not quite that of their times: what was
    // skipped by the one and passed over by the other would be in no page.
    let placed = |run| (place(run), run);
    let found = last(state.runs().filter(wanted).map(placed), query.limit + 1);
    found.map(|run| RunSummary { reason: run.reason(), ..show::summary(run) }).collect()
}

fn place(run: &Run) -> (Timestamp, &str) {
    (run.request.accepted_at, run.request.id.as_str())
}

/// The `count` last by their places, the last one first. No more of them are ever held.
fn last<P: Ord, T>(all: impl Iterator<Item = (P, T)>, count: usize) -> impl Iterator<Item = T> {
    let mut found = BTreeMap::new();
    for (place, one) in all {
        if found.len() < count {
            found.insert(place, one);
        } else if found.first_key_value().is_some_and(|(first, _)| *first < place) {
            found.pop_first();
            found.insert(place, one);
        }
    }
    found.into_values().rev()
}

async fn ended(runs: &Runs, query: RunQuery) -> Result<RunPage, ApiError> {
    if query.status.is_some_and(|status| !status.is_final()) {
        return Ok(RunPage { items: Vec::new(), next: None });
    }
    let view = runs.view.clone();
    let among =
        (!runs.cluster.directory.is_alone()).then(|| runs.cluster.owned_partitions().into_iter().collect());
    let query = RunQuery { among, ..query };
    let listed = tokio::task::spawn_blocking(move || view.list(&query)).await;
    let page = listed.expect("listing does not panic").map_err(|error| match error {
        view::ListError::BadCursor => ApiError::BadRequest(BAD_CURSOR.to_owned()),
        view::ListError::View(error) => ApiError::View(error.to_string()),
    })?;
    let items = page.rows.into_iter().map(show::ended_summary).collect();
    Ok(RunPage { items, next: page.next.map(|cursor| after_ended_runs(&cursor)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_found_in_whatever_order_they_come() {
        let of = |places: &[u32], count| {
            last(places.iter().map(|place| (*place, *place)), count).collect::<Vec<_>>()
        };
        assert_eq!(of(&[3, 9, 1, 7, 5, 8], 3), [9, 8, 7]);
        assert_eq!(of(&[1, 2, 3, 4], 2), [4, 3]);
        assert_eq!(of(&[4, 3, 2, 1], 2), [4, 3]);
        assert_eq!(of(&[2, 1], 5), [2, 1]);
        assert!(of(&[1], 0).is_empty());
    }
}
