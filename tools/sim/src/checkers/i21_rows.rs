//! I21, for jobs: the rows of the view, after snapshots and crashes, are those that the whole history makes.

use super::{Accusations, Audit, Checker};

pub struct Rows;

impl Checker for Rows {
    fn id(&self) -> &'static str {
        "I21"
    }

    fn audit(&self, audit: &Audit<'_>, accusations: &mut Accusations<'_>) {
        if audit.book.collections != audit.rows.collections {
            accusations.accuse("the collections are others than those of the history".to_owned());
        }
        for (at, job) in &audit.book.jobs {
            let row = audit.rows.jobs.get(at);
            if row != Some(job) {
                let what = format!("job {} is {row:?}, its history makes {job:?}", at.name);
                accusations.accuse(what);
            }
        }
        for at in audit.rows.jobs.keys().filter(|at| !audit.book.jobs.contains_key(at)) {
            accusations.accuse(format!("job {} is in the view and not in the history", at.name));
        }
    }
}
