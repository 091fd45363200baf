//! I21, for jobs: the rows of the view, after snapshots and crashes, are those that the whole history makes.

use super::{Audit, Checker, Violations};

pub struct Rows;

impl Checker for Rows {
    fn id(&self) -> &'static str {
        "I21"
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        if audit.job_model.collections != audit.rows.collections {
            violations.add_violation("the collections are others than those of the history".to_owned());
        }
        for (at, job) in &audit.job_model.jobs {
            let row = audit.rows.jobs.get(at);
            if row != Some(job) {
                let what = format!("job {} is {row:?}, its history makes {job:?}", at.name);
                violations.add_violation(what);
            }
        }
        for at in audit.rows.jobs.keys().filter(|at| !audit.job_model.jobs.contains_key(at)) {
            violations.add_violation(format!("job {} is in the view and not in the history", at.name));
        }
    }
}
