//! The client of the API as benches use it: each call once, and an answer that is not a success as an error.

use ::client::{Error, Http};
use serde::de::DeserializeOwned;

pub use ::client::{Answer, Call, path, query};

/// A client of one server.
pub struct ApiClient {
    http: Box<Http>,
}

impl ApiClient {
    /// A client of the server at `url`; it connects with its first call.
    pub fn new(url: &str, token: Option<&str>) -> Result<ApiClient, Error> {
        let http = Http::new(url)?;
        let http = match token {
            Some(token) => http.with_token(token)?,
            None => http,
        };
        Ok(ApiClient { http: Box::new(http) })
    }

    /// Reads the resource at `path`.
    pub async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Error> {
        self.send(Call::get(path)).await?.value()
    }

    /// Sends a request and gives its response if that is a success, else the problem that it describes.
    pub async fn send(&mut self, call: Call) -> Result<Answer, Error> {
        self.try_send(call).await?.success()
    }

    /// Sends a request and gives its response, whatever its status.
    pub async fn try_send(&mut self, call: Call) -> Result<Answer, Error> {
        self.http.send(&call).await
    }
}
