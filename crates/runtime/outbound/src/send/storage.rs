//! Queues of Azure Storage: one POST with a shared access signature, and the text in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method};
use types::{Message, Ticks, Timestamp};
use vault::Secret;

use super::path_of;
use crate::client::OutboundRequest;
use crate::headers::OWN_USER_AGENT;
use crate::mask::Mask;
use crate::url::Url;

/// A queue of a storage account.
#[derive(Debug)]
pub(crate) struct StorageQueue {
    /// The URL of the account, without a slash at the end.
    pub account: String,
    pub queue: String,
    /// A query with its signature; a leading `?` is passed over.
    pub sas: Option<Secret>,
    /// With facts the message stands in the envelope that Azure Scheduler wrote, without them it stands alone.
    pub envelope: Option<Facts>,
}

/// What the envelope tells of the occurrence.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub execution_tag: String,
    pub expected_at: Ticks,
    pub job: String,
    pub collection: String,
    pub region: String,
}

impl StorageQueue {
    /// The account of Azure that has this name or host; a URL is taken as it is.
    pub(crate) fn account_url(account: &str) -> String {
        if account.contains("://") {
            return account.trim_end_matches('/').to_owned();
        }
        let is_host = account.contains(['.', ':']);
        if is_host {
            format!("https://{account}")
        } else {
            format!("https://{account}.queue.core.windows.net")
        }
    }

    /// The call that sends the message; `mask` learns which parts are secret.
    pub(super) fn request(
        &self,
        message: &Message,
        now: Timestamp,
        mask: &mut Mask,
    ) -> Result<OutboundRequest, String> {
        let mut query = Vec::new();
        if let Some(time_to_live) = message.time_to_live {
            query.push(format!("messagettl={}", time_to_live.as_ms().div_ceil(1000).max(1)));
        }
        if let Some(wait) = message.scheduled_at.map(|at| at.since(now)).filter(|wait| wait.as_ms() > 0) {
            query.push(format!("visibilitytimeout={}", wait.as_ms().div_ceil(1000)));
        }
        if let Some(sas) = &self.sas {
            mask.hide_query(sas.expose());
            let sas = sas.expose().trim().trim_start_matches('?');
            // Checked here, because whoever reads URLs quotes what is odd in them.
            if sas.is_empty() || !sas.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'#' | b'\\')) {
                return Err("the SAS token is not a query like sv=…&sig=…".to_owned());
            }
            query.push(sas.to_owned());
        }
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let url = format!("{}/{}/messages{query}", self.account, path_of(&self.queue)?);
        let url = Url::parse(&url).map_err(|fault| fault.to_string())?;
        let text = match &self.envelope {
            None => STANDARD.encode(&message.body),
            Some(facts) => {
                let request_id = uuid::Uuid::now_v7().to_string();
                STANDARD.encode(envelope(facts, &request_id, &String::from_utf8_lossy(&message.body)))
            }
        };
        let mut request = OutboundRequest::new(Method::POST, url);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        request.headers.insert(USER_AGENT, OWN_USER_AGENT);
        request.body = Some(format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>").into());
        Ok(request)
    }
}

/// What Azure Scheduler put into a queue, to the letter: it says utf-16, because it was written to a string of .NET.
fn envelope(facts: &Facts, request_id: &str, message: &str) -> String {
    let expected_at = jiff::Timestamp::from_second(facts.expected_at.0.div_euclid(Ticks::PER_SECOND));
    let expected_at = expected_at.unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-16\"?>\n\
         <StorageQueueMessage xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\n",
    );
    for (name, value) in [
        ("ExecutionTag", facts.execution_tag.as_str()),
        ("ClientRequestId", request_id),
        ("ExpectedExecutionTime", &expected_at),
        ("SchedulerJobId", &facts.job),
        ("SchedulerJobCollectionId", &facts.collection),
        ("Region", &facts.region),
        ("Message", message),
    ] {
        xml.push_str(&format!("  <{name}>"));
        push_escaped(&mut xml, value);
        xml.push_str(&format!("</{name}>\n"));
    }
    xml.push_str("</StorageQueueMessage>");
    xml
}

/// A carriage return would be read back as a line feed, so it is written out like the other control characters.
fn push_escaped(xml: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '\n' | '\t' => xml.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                xml.push_str(&format!("&#x{:X};", u32::from(c)));
            }
            c => xml.push(c),
        }
    }
}

#[cfg(test)]
mod tests;
