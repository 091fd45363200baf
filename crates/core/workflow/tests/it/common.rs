//! What the tests share: the drone delivery workflow and a context to render it in.

use std::path::Path;

use bytes::Bytes;
use types::{Key, RunId};
use workflow::{Definition, ExpressionContext, RenderedAction, RenderedCall, RenderedMessage};

pub const REQUEST: &str = r#"{"deliveryId":"d-1","ownerId":"owner 7","pickupLocation":"0,37.4,-78.6","dropOffLocation":"0,37.5,-78.7","pickupTime":"2026-11-15T10:00:00Z","deadline":"","expedited":true,"confirmationRequired":"None","packageInfo":{"packageId":"p/1","size":"Small","weight":10.50,"tag":"mytag"}}"#;

pub fn fixtures() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures"))
}

pub fn drone_source() -> String {
    let source = std::fs::read_to_string(fixtures().join("drone-delivery.yaml")).unwrap();
    workflow::inline_files(&source, fixtures()).unwrap()
}

pub fn drone() -> Definition {
    Definition::parse(&drone_source()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A run and its request, to borrow a context from.
pub struct Run {
    pub id: RunId,
    pub key: Key,
    pub request: Bytes,
    pub outputs: Vec<Option<Bytes>>,
}

impl Run {
    pub fn new(request: &str) -> Run {
        let id = RunId::new("d-1").unwrap();
        Run {
            key: id.clone().into(),
            id,
            request: Bytes::copy_from_slice(request.as_bytes()),
            outputs: Vec::new(),
        }
    }

    pub fn context(&self) -> ExpressionContext<'_> {
        ExpressionContext {
            run: &self.id,
            key: &self.key,
            request: &self.request,
            outputs: &self.outputs,
            ending: None,
        }
    }
}

/// The HTTP call that was rendered.
pub fn call(rendered: RenderedAction) -> RenderedCall {
    match rendered {
        RenderedAction::Call(request) => request,
        RenderedAction::Send(sending) => panic!("a message, not a call: {sending:?}"),
    }
}

/// The message that was rendered.
pub fn sending(rendered: RenderedAction) -> RenderedMessage {
    match rendered {
        RenderedAction::Send(sending) => *sending,
        RenderedAction::Call(request) => panic!("a call, not a message: {request:?}"),
    }
}
