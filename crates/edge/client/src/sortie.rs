//! The client: one server, and what is asked of it.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::call::{Answer, Call};
use crate::error::Error;
use crate::http::Http;
use crate::retries::Retries;

pub(crate) const JSON: &str = "application/json";

/// A client of one server. A clone is cheap and shares its connections.
#[derive(Debug, Clone)]
pub struct Sortie {
    http: Arc<Http>,
    retries: Retries,
}

impl Sortie {
    /// A client of the server at `url`; it connects when something is asked of it.
    ///
    /// ```
    /// # fn main() -> Result<(), client::Error> {
    /// let sortie = client::Sortie::connect("http://127.0.0.1:7070")?.token("a-token-of-yours")?;
    /// assert!(client::Sortie::connect("127.0.0.1:7070").is_err(), "without a scheme it is not a URL");
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect(url: &str) -> Result<Sortie, Error> {
        Ok(Sortie { http: Arc::new(Http::new(url)?), retries: Retries::default() })
    }

    /// The same, and shows this token with every call.
    pub fn token(self, token: &str) -> Result<Sortie, Error> {
        let http = Http::clone(&self.http).with_token(token)?;
        Ok(Sortie { http: Arc::new(http), retries: self.retries })
    }

    /// The same, and asks again as often as this says.
    #[must_use]
    pub fn retries(self, retries: Retries) -> Sortie {
        Sortie { retries, ..self }
    }

    /// Sends a call, again where that helps and is safe, and gives its answer if it is a success.
    pub async fn send(&self, call: Call) -> Result<Answer, Error> {
        let (begun, mut attempts) = (Instant::now(), 1);
        loop {
            let came = self.http.send(&call).await;
            let Some(pause) = self.retries.pause(attempts, begun.elapsed(), &call, &came) else {
                return came?.success();
            };
            tokio::time::sleep(pause).await;
            attempts += 1;
        }
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.send(Call::get(path)).await?.value()
    }
}

/// A value as the body of a call.
pub(crate) fn body(value: &(impl Serialize + ?Sized)) -> Result<Bytes, Error> {
    let bytes = serde_json::to_vec(value);
    bytes
        .map(Bytes::from)
        .map_err(|error| Error::Input(format!("the body cannot be written as JSON: {error}")))
}
