//! Azurite's queue service, with queues that can be made and read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use outbound::{OutboundRequest, Url};

use super::client;

pub struct Azurite(test_brokers::Azurite);

impl Azurite {
    pub async fn start() -> Azurite {
        let started = tokio::task::spawn_blocking(test_brokers::Azurite::start).await;
        Azurite(started.expect("starting does not panic").expect("azurite starts"))
    }

    pub fn account_url(&self) -> String {
        self.0.url()
    }

    /// A token for everything in the account's queues.
    pub fn sas(&self) -> String {
        self.0.sas()
    }

    pub async fn create_queue(&self, name: &str) {
        let (status, body) = self.ask(Method::PUT, &format!("/{name}")).await;
        assert_eq!(status, 201, "{body}");
    }

    /// The text of the next message, out of its base64.
    pub async fn receive(&self, queue: &str) -> String {
        let (status, body) = self.ask(Method::GET, &format!("/{queue}/messages")).await;
        assert_eq!(status, 200, "{body}");
        let text = body.split("MessageText>").nth(1).unwrap_or_else(|| panic!("no message: {body}"));
        let text = STANDARD.decode(text.trim_end_matches("</")).expect("base64");
        String::from_utf8(text).expect("text")
    }

    async fn ask(&self, method: Method, path: &str) -> (u16, String) {
        let url = format!("{}{path}{}", self.account_url(), self.sas());
        let mut request = OutboundRequest::new(method, Url::parse(&url).expect("a URL"));
        request.body = Some(bytes::Bytes::new());
        let answer = client().send(request).await.expect("azurite answers");
        (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
    }
}
