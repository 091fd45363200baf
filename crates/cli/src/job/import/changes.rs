//! The changes of an import, as a table.

use schedule::{Dialect, JobStatus, Limits, read_job};
use serde::Deserialize;
use serde_json::Value;

use super::super::facts::differences;
use super::super::recurrence;
use super::super::view::JobProperties;
use crate::screen::{Screen, Tone};
use crate::table::{Cell, Column, TextTable};
use crate::when;

#[derive(Debug, Deserialize)]
pub struct Changes {
    collection: ChangeKind,
    jobs: Vec<JobChange>,
}

#[derive(Debug, Deserialize)]
struct JobChange {
    name: String,
    change: ChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChangeKind {
    Created,
    Updated,
    Unchanged,
    Deleted,
}

impl Changes {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.all().all(|change| change == ChangeKind::Unchanged)
    }

    fn all(&self) -> impl Iterator<Item = ChangeKind> {
        self.jobs.iter().map(|job| job.change).chain([self.collection])
    }

    /// `before` is the collection as it was exported, `wanted` the document that was imported.
    pub fn render(
        &self,
        collection: &str,
        before: Option<&Value>,
        wanted: &Value,
        dry_run: bool,
        screen: &Screen,
    ) -> String {
        let mut table = TextTable::new([Column::whole("CHANGE"), Column::whole("WHAT"), Column::text("HOW")]);
        if self.collection != ChangeKind::Unchanged {
            table.row([
                self.collection.cell(dry_run),
                Cell::new(format!("collection {collection}")),
                Cell::default(),
            ]);
        }
        for job in self.jobs.iter().filter(|job| job.change != ChangeKind::Unchanged) {
            let after = find(wanted, &job.name).and_then(canonical);
            let how = match job.change {
                ChangeKind::Created => after.map(|after| recurrence::describe(&after)),
                ChangeKind::Updated => {
                    let before = before.and_then(|before| find(before, &job.name)).and_then(canonical);
                    before.zip(after).map(|(before, after)| differences(&before, &after).join("; "))
                }
                ChangeKind::Unchanged | ChangeKind::Deleted => None,
            };
            table.row([
                job.change.cell(dry_run),
                Cell::new(format!("job {collection}/{}", job.name)),
                Cell::new(how.unwrap_or_default()),
            ]);
        }
        let same = self.jobs.iter().filter(|job| job.change == ChangeKind::Unchanged).count();
        let are = if same == 1 { "job matches" } else { "jobs match" };
        let same = format!("{same} {are} the file.\n");
        if table.is_empty() { format!("No differences: {same}") } else { table.render(screen) + &same }
    }
}

impl ChangeKind {
    fn cell(self, dry_run: bool) -> Cell {
        let (word, would, tone) = match self {
            ChangeKind::Created => ("created", "would be created", Tone::Good),
            ChangeKind::Updated => ("updated", "would be updated", Tone::Attention),
            ChangeKind::Deleted => ("deleted", "would be deleted", Tone::Bad),
            ChangeKind::Unchanged => ("unchanged", "unchanged", Tone::Plain),
        };
        Cell::toned(tone, if dry_run { would } else { word })
    }
}

/// A job of a document by its name, which may be prefixed with that of its collection.
fn find<'a>(document: &'a Value, name: &str) -> Option<&'a Value> {
    let is_named = |job: &&Value| {
        let written = job["name"].as_str().and_then(|written| written.rsplit('/').next());
        written.is_some_and(|written| written.to_lowercase() == name.to_lowercase())
    };
    document["jobs"].as_array()?.iter().find(is_named)
}

/// A job as the server would show it. `None` if it lacks the secrets that an export omits.
fn canonical(job: &Value) -> Option<JobProperties> {
    let document = read_job(job, &Limits::default(), when::now()).ok()?;
    let state = if document.spec().enabled { types::JobState::Enabled } else { types::JobState::Disabled };
    let shown = document.render(&JobStatus::new(state, None), Dialect::default());
    serde_json::from_value(serde_json::to_value(shown).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_say_what_and_how() {
        let job = |name: &str, minutes: u32| {
            let request = json!({"uri": "http://x/", "method": "GET"});
            let recurrence = json!({"frequency": "Minute", "interval": minutes});
            json!({"name": name, "properties": {"action": {"type": "Http", "request": request}, "recurrence": recurrence}})
        };
        let before = json!({"jobs": [job("a", 5), job("gone", 1), job("same", 1)]});
        let wanted = json!({"jobs": [job("ops/A", 60), job("new", 2), job("same", 1)]});
        let changes: Changes = serde_json::from_value(json!({"collection": "updated", "jobs": [
            {"name": "A", "change": "updated"}, {"name": "new", "change": "created"},
            {"name": "same", "change": "unchanged"}, {"name": "gone", "change": "deleted"}]}))
        .unwrap();
        let screen = Screen { colour: false, width: None };
        expect![[r#"
            CHANGE            WHAT            HOW
            would be updated  collection ops
            would be updated  job ops/A       schedule: every 5 minutes -> every 60 minutes
            would be created  job ops/new     every 2 minutes
            would be deleted  job ops/gone
            1 job matches the file.
        "#]]
        .assert_eq(&changes.render("ops", Some(&before), &wanted, true, &screen));
        let same: Changes = serde_json::from_value(
            json!({"collection": "unchanged", "jobs": [{"name": "same", "change": "unchanged"}]}),
        )
        .unwrap();
        assert!(same.is_empty() && !changes.is_empty());
        expect![[r#"
            No differences: 1 job matches the file.
        "#]]
        .assert_eq(&same.render("ops", Some(&before), &wanted, false, &screen));
    }
}
