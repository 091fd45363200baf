//! The API client of the commands: every call is made once, and errors become failures with an exit code.

use ::client::{Error, Http};
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::table::clean;

pub use ::client::{Answer, Call, path, query};

/// A client of one server.
pub struct Client {
    http: Box<Http>,
}

impl Client {
    /// A client of the server at `url`; nothing is connected yet.
    pub fn new(url: &str, token: Option<&str>) -> Result<Client, Failure> {
        let http = Http::new(url).map_err(|error| Failure::Usage(format!("--url {error}")))?;
        let http = match token {
            Some(token) => http.with_token(token).map_err(|error| Failure::Usage(error.to_string()))?,
            None => http,
        };
        Ok(Client { http: Box::new(http) })
    }

    /// The address of the server, as given.
    pub fn url(&self) -> &str {
        self.http.url()
    }

    /// Fetches the document at `path`.
    pub async fn get<T: DeserializeOwned>(&mut self, path: &str) -> anyhow::Result<T> {
        Ok(self.send(Call::get(path)).await?.value()?)
    }

    /// Sends a request and returns the response; an error status becomes a problem.
    pub async fn send(&mut self, call: Call) -> anyhow::Result<Answer> {
        let answer = self.try_send(call).await?;
        self.check(answer)
    }

    /// The response if it is a success, otherwise its problem.
    pub fn check(&self, answer: Answer) -> anyhow::Result<Answer> {
        answer.success().map_err(failure)
    }

    /// Sends a request and returns the response, whatever its status.
    pub async fn try_send(&mut self, call: Call) -> anyhow::Result<Answer> {
        self.http.send(&call).await.map_err(failure)
    }
}

fn failure(error: Error) -> anyhow::Error {
    match error {
        Error::Problem(problem) => Failure::Refused(problem).into(),
        Error::Unreachable { url, cause, .. } => Failure::Unreachable { url, cause: clean(&cause) }.into(),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_url_is_refused_with_the_fix() {
        let refused = |url| Client::new(url, None).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused("127.0.0.1:7070").contains("--url \"127.0.0.1:7070\" has no scheme"));
        assert!(refused("127.0.0.1:7070").contains("like http://127.0.0.1:7070"));
    }
}
