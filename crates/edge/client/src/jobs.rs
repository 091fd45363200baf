//! Jobs and their collections. Their documents are JSON, as docs/reference/jobs.md has them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, path, query};
use crate::error::Error;
use crate::sortie::{JSON, Sortie, body};

#[derive(Deserialize)]
struct JobPage {
    items: Vec<Value>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Fired {
    run: String,
}

impl Sortie {
    /// Creates a collection, or replaces its settings; its jobs stay.
    pub async fn put_collection(
        &self,
        collection: &str,
        document: &(impl Serialize + ?Sized),
    ) -> Result<Value, Error> {
        let call = Call::put(path("/v1/collections/{}", &[collection]), JSON, body(document)?);
        self.send(call.repeatable()).await?.value()
    }

    /// Creates a job, or replaces it.
    ///
    /// ```no_run
    /// # async fn put(sortie: client::Sortie) -> Result<(), client::Error> {
    /// let nightly = serde_json::json!({ "properties": {
    ///     "action": { "type": "Http", "request": { "uri": "https://shop.example/nightly", "method": "POST" } },
    ///     "recurrence": { "cron": "0 3 * * *" }, "timeZone": "Europe/Berlin" } });
    /// sortie.put_job("shop", "nightly", &nightly).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn put_job(
        &self,
        collection: &str,
        job: &str,
        document: &(impl Serialize + ?Sized),
    ) -> Result<Value, Error> {
        let call = Call::put(job_path(collection, job, ""), JSON, body(document)?);
        self.send(call.repeatable()).await?.value()
    }

    /// A job, and where it stands.
    pub async fn job(&self, collection: &str, job: &str) -> Result<Value, Error> {
        self.get(&job_path(collection, job, "")).await
    }

    /// All jobs of a collection, in the order of their names.
    pub async fn jobs(&self, collection: &str) -> Result<Vec<Value>, Error> {
        let all = path("/v1/collections/{}/jobs", &[collection]);
        let (mut jobs, mut cursor) = (Vec::new(), None);
        loop {
            let parameters = [("limit", Some("1000".to_owned())), ("cursor", cursor)];
            let page: JobPage = self.get(&query(&all, &parameters)).await?;
            jobs.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                return Ok(jobs);
            }
        }
    }

    /// Fires a job now; what is planned stays planned. The id of its run.
    pub async fn fire_job(&self, collection: &str, job: &str) -> Result<String, Error> {
        let call = Call::post_nothing(job_path(collection, job, "/run"));
        Ok(self.send(call).await?.value::<Fired>()?.run)
    }

    /// Deletes a job; an occurrence that is running goes on.
    pub async fn delete_job(&self, collection: &str, job: &str) -> Result<(), Error> {
        self.send(Call::delete(job_path(collection, job, ""))).await.map(drop)
    }
}

fn job_path(collection: &str, job: &str, rest: &str) -> String {
    path("/v1/collections/{}/jobs/{}", &[collection, job]) + rest
}
