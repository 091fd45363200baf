//! A dry run: how many runs are meant, and what would happen to the first of them.

use api_types::{BulkAction, BulkCount, BulkPreview, BulkSample, BulkView, DecisionKind, RunSummary};
use axum::body::Body;
use axum::response::IntoResponse;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};

use super::act::id_again;
use super::select::{NoList, is_meant, is_occurrence};
use super::{Next, Order};
use crate::auth::access::Permission;
use crate::body::{self, Payload};
use crate::error::ApiError;
use crate::limits::{BULK_BYTES_MAX, BULK_SAMPLE_MAX};
use crate::router::Router;

impl Router {
    /// Whether a request asks for a bulk.
    pub(crate) fn is_bulk(request: &Request<Payload>) -> bool {
        request.method() == Method::POST && request.uri().path() == "/v1/bulk"
    }

    /// Begins a bulk, or says what it would do.
    pub(crate) async fn take_bulk(&self, request: Request<Payload>) -> Result<Response<Body>, ApiError> {
        let by = self.api.auth.allow(request.headers(), Permission::Operate)?.to_owned();
        let bytes = body::read(request, BULK_BYTES_MAX).await?;
        let mut order = Order::read(&bytes, &by, self.api.bulks.clock.now())?;
        if order.dry_run {
            return Ok(axum::Json(self.preview(&order).await?).into_response());
        }
        if order.bulk.next == Next::Taken(0) {
            order.bulk.view.matched = Some(BulkCount { count: order.ids.len() as u64, at_least: false });
        }
        self.api.bulks.begin(&order.bulk, &order.ids).await?;
        let location = format!("/v1/bulk/{}", order.bulk.view.id);
        Ok((StatusCode::ACCEPTED, [(http::header::LOCATION, location)], axum::Json(order.bulk.view))
            .into_response())
    }

    async fn preview(&self, order: &Order) -> Result<BulkPreview, ApiError> {
        let view = &order.bulk.view;
        let Some(select) = &view.select else { return Ok(self.preview_ids(view, &order.ids).await) };
        let (matched, rows) =
            self.count_runs(view, select, BULK_SAMPLE_MAX).await.map_err(|error| match error {
                NoList::Later { problem, .. } => ApiError::Unsure(problem.detail),
                NoList::Never(problem) => ApiError::BadRequest(problem.detail),
            })?;
        Ok(BulkPreview { matched, sample: rows.into_iter().map(|row| sample(view, row)).collect() })
    }

    async fn preview_ids(&self, view: &BulkView, ids: &[String]) -> BulkPreview {
        let mut samples = Vec::new();
        for id in ids.iter().take(BULK_SAMPLE_MAX) {
            let uri = format!("/v1/runs/{id}").parse().expect("an id is a part of a path");
            let answer = self.ask_for(&view.by, Method::GET, uri, Bytes::new()).await;
            let row = answer.status.is_success().then(|| answer.json::<RunSummary>());
            samples.push(match row {
                Some(Ok(row)) => sample(view, row),
                _ => BulkSample {
                    id: id.clone(),
                    workflow: None,
                    status: None,
                    reason: None,
                    then: format!("skipped: {}", answer.problem().detail),
                },
            });
        }
        BulkPreview { matched: BulkCount { count: ids.len() as u64, at_least: false }, sample: samples }
    }
}

fn sample(view: &BulkView, row: RunSummary) -> BulkSample {
    let then = if !is_meant(view.action, row.status) {
        format!("skipped: it is {}", row.status.as_str())
    } else {
        match view.action {
            BulkAction::Retry => "what failed is tried again".to_owned(),
            BulkAction::Cancel => "it is cancelled, and what was done is undone".to_owned(),
            BulkAction::Resolve => resolved(view),
            BulkAction::Rerun if is_occurrence(&row) => "skipped: it is an occurrence of a job".to_owned(),
            BulkAction::Rerun => format!("its request is handed in again as {}", id_again(&row.id)),
        }
    };
    BulkSample {
        id: row.id,
        workflow: Some(row.workflow),
        status: Some(row.status),
        reason: row.reason,
        then,
    }
}

fn resolved(view: &BulkView) -> String {
    let step = view.step.as_deref().unwrap_or_default();
    match view.decision {
        Some(DecisionKind::Skip) => format!("step {step} is skipped"),
        Some(DecisionKind::ByHand) => format!("step {step} counts as done by hand"),
        _ => "it is given up and stays as it is".to_owned(),
    }
}
