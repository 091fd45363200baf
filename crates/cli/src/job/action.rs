//! The options for the action of a job.

use clap::Args;
use hyper::Method;
use schedule::ActionTarget;
use schedule::spelling::RetryType;
use serde_json::{Map, Value, json};
use types::Span;

use super::view::JobProperties;
use crate::failure::Failure;

#[derive(Debug, Default, Args)]
pub struct ActionArgs {
    /// Call this URL
    #[arg(long, value_name = "URL", help_heading = "Action")]
    pub uri: Option<String>,
    /// The HTTP method; default GET, or POST with a body
    #[arg(long, value_parser = method, help_heading = "Action")]
    pub method: Option<String>,
    /// A header of the call; may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = header, help_heading = "Action")]
    pub headers: Vec<(String, String)>,
    /// The body of the call, or the request for the workflow as JSON
    #[arg(long, value_name = "TEXT", help_heading = "Action")]
    pub body: Option<String>,
    /// Start this workflow instead of calling a URL
    #[arg(long, value_name = "NAME", conflicts_with_all = ["uri", "method", "headers"], help_heading = "Action")]
    pub workflow: Option<String>,
    /// The number of retries after a failure; 0 for none. Default: 4
    #[arg(long, value_name = "N", help_heading = "Action")]
    pub retry_count: Option<u32>,
    /// The delay before each retry. Default: 30s
    #[arg(long, value_name = "SPAN", help_heading = "Action")]
    pub retry_interval: Option<Span>,
    /// Call this URL with POST after the last failed attempt
    #[arg(long, value_name = "URL", help_heading = "Action")]
    pub error_uri: Option<String>,
}

impl ActionArgs {
    pub fn is_empty(&self) -> bool {
        let ActionArgs { uri, method, headers, body, workflow, retry_count, retry_interval, error_uri } =
            self;
        let texts = [uri, method, body, workflow, error_uri];
        let retries = retry_count.is_some() || retry_interval.is_some();
        texts.iter().all(|text| text.is_none()) && headers.is_empty() && !retries
    }

    /// Writes the given options into the properties of a job. `current` is the job that is changed, if any.
    pub fn write(&self, properties: &mut Value, current: Option<&JobProperties>) -> Result<(), Failure> {
        let target = current.map(|current| &current.action.main.target);
        let to_workflow = match (&self.workflow, &self.uri) {
            (Some(_), _) => true,
            (None, Some(_)) => false,
            (None, None) => matches!(target, Some(ActionTarget::Workflow(_))),
        };
        if to_workflow {
            self.write_workflow(properties)?;
        } else {
            self.write_request(properties, target)?;
        }
        self.write_retries(properties, current);
        if let Some(uri) = &self.error_uri {
            let request = json!({ "uri": uri, "method": "POST" });
            properties["action"]["errorAction"] = json!({ "type": kind(uri), "request": request });
        }
        Ok(())
    }

    fn write_workflow(&self, properties: &mut Value) -> Result<(), Failure> {
        if self.method.is_some() || !self.headers.is_empty() {
            let text =
                "the job starts a workflow, which has no method or headers; add --uri to call a URL instead";
            return Err(Failure::Usage(text.to_owned()));
        }
        if let Some(name) = &self.workflow {
            properties["action"]["type"] = "Workflow".into();
            properties["action"]["workflow"]["name"] = name.as_str().into();
        }
        if let Some(body) = &self.body {
            let body: Value = serde_json::from_str(body).map_err(|error| {
                Failure::Usage(format!("--body of a workflow is not valid JSON: {error}"))
            })?;
            properties["action"]["workflow"]["body"] = body;
        }
        Ok(())
    }

    fn write_request(&self, properties: &mut Value, target: Option<&ActionTarget>) -> Result<(), Failure> {
        let was_request = matches!(target, Some(ActionTarget::Request(_)));
        let mut request = Map::new();
        if let Some(uri) = &self.uri {
            properties["action"]["type"] = kind(uri).into();
            request.insert("uri".to_owned(), uri.as_str().into());
        }
        let usual = if self.body.is_some() { "POST" } else { "GET" };
        let method = self.method.as_deref().or((self.uri.is_some() && !was_request).then_some(usual));
        if let Some(method) = method {
            request.insert("method".to_owned(), method.into());
        }
        if !self.headers.is_empty() {
            let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
            request.insert("headers".to_owned(), Value::Object(headers.collect()));
        }
        if let Some(body) = &self.body {
            request.insert("body".to_owned(), body.as_str().into());
        }
        if request.is_empty() {
            return Ok(());
        }
        if self.uri.is_none() && target.is_some() && !was_request {
            let text = "the job sends a message; change it with --file, or add --uri to call a URL instead";
            return Err(Failure::Usage(text.to_owned()));
        }
        properties["action"]["request"] = Value::Object(request);
        Ok(())
    }

    fn write_retries(&self, properties: &mut Value, current: Option<&JobProperties>) {
        if self.retry_count.is_none() && self.retry_interval.is_none() {
            return;
        }
        if self.retry_count == Some(0) {
            properties["action"]["retryPolicy"] = json!({ "retryType": "none" });
            return;
        }
        let mut policy = Map::new();
        let before = current.and_then(|current| current.action.main.retry_policy.as_ref()?.retry_type);
        if before != Some(RetryType::Exponential) {
            policy.insert("retryType".to_owned(), "fixed".into());
        }
        if let Some(count) = self.retry_count {
            policy.insert("retryCount".to_owned(), count.into());
        }
        if let Some(interval) = self.retry_interval {
            policy.insert("retryInterval".to_owned(), interval.to_string().into());
        }
        properties["action"]["retryPolicy"] = Value::Object(policy);
    }
}

/// The type of an action that calls this URL.
fn kind(uri: &str) -> &'static str {
    let https = uri.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("https:"));
    if https { "Https" } else { "Http" }
}

fn method(text: &str) -> Result<String, String> {
    let method = text.to_ascii_uppercase();
    method
        .parse::<Method>()
        .map(|_| method)
        .map_err(|_| "not an HTTP method; use GET, POST, PUT …".to_owned())
}

/// `Name=value`, or `Name: value` as curl takes it.
fn header(text: &str) -> Result<(String, String), String> {
    let hint = "the format of a header is NAME=VALUE";
    let (name, value) = text.split_at(text.find(['=', ':']).ok_or(hint)?);
    if name.trim().is_empty() {
        return Err(hint.to_owned());
    }
    Ok((name.trim().to_owned(), value[1..].trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_in_both_spellings() {
        let read = |text| header(text).map(|(name, value)| format!("{name}|{value}"));
        assert_eq!(read("X-A=b:c").unwrap(), "X-A|b:c");
        assert_eq!(read("Authorization: Basic YQ==").unwrap(), "Authorization|Basic YQ==");
        assert!(read("X-A").is_err() && read("=b").is_err());
    }

    #[test]
    fn a_call_has_the_type_of_its_address_and_a_method() {
        let write = |action: ActionArgs| {
            let mut properties = json!({});
            action.write(&mut properties, None).unwrap();
            properties["action"].to_string()
        };
        let uri = |text: &str| Some(text.to_owned());
        assert_eq!(
            write(ActionArgs { uri: uri("HTTPS://x/"), ..ActionArgs::default() }),
            r#"{"request":{"method":"GET","uri":"HTTPS://x/"},"type":"Https"}"#
        );
        let body = Some("b".to_owned());
        assert_eq!(
            write(ActionArgs { uri: uri("http://x/"), body, retry_count: Some(0), ..ActionArgs::default() }),
            r#"{"request":{"body":"b","method":"POST","uri":"http://x/"},"retryPolicy":{"retryType":"none"},"type":"Http"}"#
        );
    }
}
