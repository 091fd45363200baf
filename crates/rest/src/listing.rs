//! Lists of runs: first those in memory, then those that have ended, each newest first.

use engine::limits::QUERY_RUNS_MAX;
use journal::Journal;
use kernel::{Run, State};
use view::RunQuery;
use wire::{RunPage, RunSummary};
use words::{PartitionId, RunStatus, Timestamp};

use crate::api::Api;
use crate::error::ApiError;
use crate::show;

/// Where a list goes on.
enum Cursor {
    /// Behind this live run.
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
pub(crate) async fn page<J: Journal>(api: &Api<J>, query: RunQuery) -> Result<RunPage, ApiError> {
    if query.status == Some(RunStatus::Accepted) {
        let text = "status: accepted requests wait in the inbox and are not listed; see /v1/partitions for their number";
        return Err(ApiError::BadRequest(text.to_owned()));
    }
    let cursor = query.cursor.as_deref().map(parse_cursor).transpose()?;
    let after = match cursor {
        Some(Cursor::Ended(cursor)) => return ended(api, RunQuery { cursor: Some(cursor), ..query }).await,
        Some(Cursor::EndedFirst) => return ended(api, RunQuery { cursor: None, ..query }).await,
        Some(Cursor::Live { accepted_at, id }) => Some((accepted_at, id)),
        None => None,
    };
    let mut items = live(api, &query, after).await?;
    let limit = query.limit;
    if items.len() > limit {
        items.truncate(limit);
        let last = items.last().expect("a page has at least one row");
        let next = format!("l.{}.{}", last.accepted_at.0.0, last.id);
        return Ok(RunPage { items, next: Some(next) });
    }
    if items.len() == limit {
        return Ok(RunPage { items, next: Some("e".to_owned()) });
    }
    let rest = ended(api, RunQuery { limit: limit - items.len(), cursor: None, ..query }).await?;
    items.extend(rest.items);
    Ok(RunPage { items, next: rest.next })
}

fn parse_cursor(text: &str) -> Result<Cursor, ApiError> {
    let bad = || ApiError::BadRequest(BAD_CURSOR.to_owned());
    if text == "e" {
        return Ok(Cursor::EndedFirst);
    }
    if let Some(cursor) = text.strip_prefix("e.") {
        return Ok(Cursor::Ended(cursor.to_owned()));
    }
    let (at, id) = text.strip_prefix("l.").and_then(|rest| rest.split_once('.')).ok_or_else(bad)?;
    let accepted_at = Timestamp(at.parse().map_err(|_| bad())?);
    Ok(Cursor::Live { accepted_at, id: id.to_owned() })
}

/// Up to one more than the limit, so that the caller sees whether there are more.
async fn live<J: Journal>(
    api: &Api<J>,
    query: &RunQuery,
    after: Option<(Timestamp, String)>,
) -> Result<Vec<RunSummary>, ApiError> {
    let mut found = Vec::new();
    for partition in (0..api.limits.partitions).map(PartitionId) {
        let (query, after) = (query.clone(), after.clone());
        let matching = move |state: &State| select(state, &query, after.as_ref());
        match api.engine.query(partition, matching).await {
            Ok(rows) => found.extend(rows),
            // The runs of a stopped partition cannot be listed; /v1/partitions and readiness tell of it.
            Err(error) => tracing::debug!(%error, "a partition was left out of a list"),
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
            && after.is_none_or(|(at, id)| (request.accepted_at, request.id.as_str()) < (*at, id.as_str()))
    };
    let rows = state.runs().rev().filter(wanted).take(QUERY_RUNS_MAX.min(query.limit + 1));
    rows.map(|run| RunSummary { reason: run.reason(), ..show::summary(run) }).collect()
}

async fn ended<J: Journal>(api: &Api<J>, query: RunQuery) -> Result<RunPage, ApiError> {
    if query.status.is_some_and(|status| !status.is_final()) {
        return Ok(RunPage { items: Vec::new(), next: None });
    }
    let view = api.view.clone();
    let listed = tokio::task::spawn_blocking(move || view.list(&query)).await;
    let page = listed.expect("listing does not panic").map_err(|error| match error {
        view::ListError::BadCursor => ApiError::BadRequest(BAD_CURSOR.to_owned()),
        view::ListError::View(error) => ApiError::View(error.to_string()),
    })?;
    let items = page.rows.into_iter().map(show::ended_summary).collect();
    Ok(RunPage { items, next: page.next.map(|cursor| format!("e.{cursor}")) })
}
