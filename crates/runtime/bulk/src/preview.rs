//! A dry run: how many runs match, and what would happen to the first of them.

use api_types::{BulkAction, BulkCount, BulkPreview, BulkSample, BulkView, DecisionKind, RunSummary};

use crate::act::id_again;
use crate::api::RunApi;
use crate::limits::BULK_SAMPLE_MAX;
use crate::select::{ListFailure, count_runs, is_meant, is_occurrence};
use crate::{BulkError, BulkOrder, Bulks, NextPage};

impl BulkOrder {
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Begins the bulk: when this returns, it is durable.
    pub async fn begin(mut self, bulks: &Bulks) -> Result<BulkView, BulkError> {
        if self.bulk.next == NextPage::Taken(0) {
            self.bulk.view.matched = Some(BulkCount { count: self.ids.len() as u64, at_least: false });
        }
        bulks.begin(&self.bulk, &self.ids).await?;
        Ok(self.bulk.view)
    }

    /// What it would do.
    pub async fn preview(&self, api: &impl RunApi) -> Result<BulkPreview, BulkError> {
        let view = &self.bulk.view;
        let Some(select) = &view.select else { return Ok(preview_ids(api, view, &self.ids).await) };
        let counted = count_runs(api, view, select, BULK_SAMPLE_MAX).await;
        let (matched, rows) = counted.map_err(|failure| match failure {
            ListFailure::Later { problem, .. } => BulkError::Unsure(problem.detail),
            ListFailure::Permanent(problem) => BulkError::Invalid(problem.detail),
        })?;
        Ok(BulkPreview { matched, sample: rows.into_iter().map(|row| sample(view, row)).collect() })
    }
}

async fn preview_ids(api: &impl RunApi, view: &BulkView, ids: &[String]) -> BulkPreview {
    let mut samples = Vec::new();
    for id in ids.iter().take(BULK_SAMPLE_MAX) {
        samples.push(match api.get(&view.by, id).await {
            Ok(run) => sample(view, run.summary),
            Err(refusal) => BulkSample {
                id: id.clone(),
                workflow: None,
                status: None,
                reason: None,
                then: format!("skipped: {}", refusal.problem.detail),
            },
        });
    }
    BulkPreview { matched: BulkCount { count: ids.len() as u64, at_least: false }, sample: samples }
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
        Some(DecisionKind::ByHand) => format!("step {step} counts as done manually"),
        _ => "it is given up and stays as it is".to_owned(),
    }
}
