//! Jobs to call with, and servers that tell what they were asked.

use std::sync::{Arc, Mutex};

use brokers::{Anywhere, Brokers};
use order::Stop;
use outbound::{
    ActionPart, Client, JobCall, JobCaller, JobSettings, Post, PostError, PostTarget, Posting, Sender,
    Settings, StartError, StartRequest, Starter, Starting,
};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use types::{Message, Outcome, Span, Ticks};
use vault::Vault;

use super::{Server, read_request, settings};

/// 2016-03-30T20:39:52.6597062Z
pub const EXPECTED_AT: Ticks = Ticks(14_593_703_926_597_062);

/// A caller with its vault, and all that an occurrence needs.
pub struct Jobs {
    pub caller: JobCaller,
    pub vault: Arc<Vault>,
    pub stop: Stop,
    pub started: Arc<Starts>,
    pub posted: Arc<Posts>,
}

/// Remembers what was posted; refuses the queue `unknown`, and has no room in `full`.
#[derive(Default)]
pub struct Posts(pub Mutex<Vec<(PostTarget, Message)>>);

impl Post for Posts {
    fn post(&self, to: PostTarget, message: Message) -> Posting<'_> {
        Box::pin(async move {
            match &to {
                PostTarget::Queue(name) if name == "unknown" => {
                    Err(PostError::Refused("no queue has this name".to_owned()))
                }
                PostTarget::Queue(name) if name == "full" => {
                    let retry_after = Some(Span::from_secs(7));
                    Err(PostError::Later { reason: "the queue is full".to_owned(), retry_after })
                }
                PostTarget::Queue(_) | PostTarget::Topic(_) => {
                    self.0.lock().unwrap().push((to, message));
                    Ok(())
                }
            }
        })
    }
}

/// Remembers what was started; refuses the workflow `unknown`.
#[derive(Default)]
pub struct Starts(pub Mutex<Vec<StartRequest>>);

impl Starter for Starts {
    fn start(&self, request: StartRequest) -> Starting<'_> {
        Box::pin(async move {
            if request.workflow == "unknown" {
                return Err(StartError { reason: "no such workflow".to_owned(), retry_after: None });
            }
            let id = request.id.clone();
            self.0.lock().unwrap().push(request);
            Ok(id)
        })
    }
}

impl Jobs {
    pub fn new() -> Jobs {
        Jobs::with(settings(), JobSettings::default())
    }

    pub fn with(client: Settings, jobs: JobSettings) -> Jobs {
        let vault = Arc::new(Vault::new([7; 32]));
        let started = Arc::new(Starts::default());
        let clock = host::Clock::start();
        let (client, posted) = (Client::new(client), Arc::new(Posts::default()));
        let sender =
            Sender::new(client.clone(), Brokers::new(Arc::new(Anywhere)), posted.clone(), clock.clone());
        let caller = JobCaller::new(client, sender, vault.clone(), started.clone(), clock, jobs);
        Jobs { caller, vault, stop: Stop::default(), started, posted }
    }

    /// The outcome of a first attempt that nobody stops.
    pub async fn call(&self, action: &Value) -> Outcome {
        self.attempt(action, ActionPart::Main, 1).await.expect("nobody has stopped it")
    }

    pub async fn attempt(&self, action: &Value, part: ActionPart, attempt: u32) -> Option<Outcome> {
        let call = JobCall {
            action: &action.to_string(),
            part,
            job: "rm-msol-membership",
            collection: "rmmsol",
            expected_at: EXPECTED_AT,
            execution_tag: "e927cf76d24da9625608248ce654cfa7",
            region: "West Europe",
            idempotency_key: "e927cf76d24da9625608248ce654cfa7",
            attempt,
            stop: &self.stop,
        };
        self.caller.call(call).await
    }
}

/// A server that gives the answers in turn, the last one for ever, and tells of every request.
pub async fn recording_server(answers: &[&str]) -> (Server, UnboundedReceiver<String>) {
    let (tx, rx) = unbounded_channel();
    let answers: Arc<Mutex<Vec<String>>> =
        Arc::new(Mutex::new(answers.iter().rev().map(|answer| (*answer).to_owned()).collect()));
    let server = Server::start(move |mut stream| {
        let (tx, answers) = (tx.clone(), answers.clone());
        async move {
            while let Some(request) = read_request(&mut stream).await {
                let answer = {
                    let mut answers = answers.lock().unwrap();
                    if answers.len() > 1 { answers.pop().unwrap() } else { answers[0].clone() }
                };
                // The test may be over.
                let _ = tx.send(request);
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    (server, rx)
}

/// An answer with this body.
pub fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

pub fn http_action(uri: &str) -> Value {
    serde_json::json!({ "type": "Http", "request": { "uri": uri, "method": "GET" } })
}

/// The text of an outcome, and its status.
pub fn status_and_text(outcome: &Outcome) -> (Option<u16>, String) {
    match outcome {
        Outcome::Done { status, output } => {
            let output: Value = serde_json::from_slice(output).unwrap();
            assert_eq!(output["status"], *status);
            (Some(*status), output["message"].as_str().unwrap().to_owned())
        }
        Outcome::Refused { .. } => panic!("a job's attempt is never refused: {outcome:?}"),
        Outcome::Transient { status, reason, .. } => (*status, reason.clone()),
        Outcome::Unknown { reason } => (None, reason.clone()),
    }
}
