//! What an attempt of a job would send, for people to see.

use super::action::Action;
use super::{JobCall, JobCaller};
use crate::shown::CallPreview;

impl JobCaller {
    /// The attempt as people may see it; or why it could not be made.
    pub(crate) fn show(&self, call: &JobCall<'_>) -> Result<CallPreview, String> {
        match Action::parse(call.action, call.part) {
            Ok(Action::Http(action)) => self.0.http.show(&action, call),
            Ok(Action::Workflow(action)) => {
                let body = String::from_utf8_lossy(&action.body).into_owned();
                Ok(CallPreview::Start { workflow: action.name, id: action.id, body })
            }
            // Its address and its secrets stand side by side in the stored form; the job's own page shows it without.
            Ok(Action::Message(_)) => Err("messages of jobs are shown with their job".to_owned()),
            Err(error) => Err(format!("the action cannot be carried out: {error}")),
        }
    }
}
