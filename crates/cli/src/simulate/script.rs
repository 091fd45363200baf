//! A script of services: what they answer to the calls of a simulation.

mod read;

use bytes::Bytes;
use http::HeaderMap;
use outbound::{Fault, ServiceResponse, Stage};
use types::{Span, Timestamp};

use super::call::SimulatedCall;
use super::window::TimeWindow;

pub use read::{KnownNames, read};

/// How long a service takes to answer unless the script says otherwise.
const LATENCY: Span = Span::from_ms(20);

/// What the services of a simulation answer.
#[derive(Debug, Default)]
pub struct Script {
    rules: Vec<Rule>,
    /// What calls get that no rule answers.
    default: Option<ScriptedReply>,
    /// When Sortie itself is down.
    down: Vec<TimeWindow>,
}

/// Which calls are meant, and what they get, one after another.
#[derive(Debug)]
struct Rule {
    line: u32,
    service: Pattern,
    step: Option<String>,
    work: Option<&'static str>,
    method: Option<String>,
    path: Option<Glob>,
    during: Vec<TimeWindow>,
    replies: Vec<ScriptedReply>,
    rounds: Rounds,
    /// Calls that it has answered.
    given: usize,
}

/// Whose calls are meant.
#[derive(Debug)]
enum Pattern {
    /// Those of a service of the workflow.
    Name(String),
    /// Those to a URL that begins like this.
    Url(Glob),
}

/// How often the answers of a rule are gone through.
#[derive(Debug, Clone, Copy)]
enum Rounds {
    /// Once; then the last one again and again.
    LastStays,
    Times(usize),
    Forever,
}

/// A text in which `*` progress_after_change for anything.
#[derive(Debug)]
struct Glob(String);

/// What a service does with a call.
#[derive(Debug, Clone)]
struct ScriptedReply {
    what: ScriptedResponse,
    latency: Span,
}

#[derive(Debug, Clone)]
enum ScriptedResponse {
    Answer(ServiceResponse),
    Timeout,
    RefusedConnection,
    LostConnection,
}

/// What came of a call, and after what time.
#[derive(Debug)]
pub struct ScriptReply {
    pub result: Result<ServiceResponse, Fault>,
    pub after: Span,
    /// Whether the script says so; else everything is assumed to go well.
    pub scripted: bool,
}

impl Script {
    /// What a call gets that leaves at `now`.
    pub fn answer(&mut self, call: &SimulatedCall, now: Timestamp) -> ScriptReply {
        let rule = self.rules.iter_mut().find(|rule| rule.counts(call, now));
        let reply = match rule {
            Some(rule) => Some(rule.next_reply()),
            None => self.default.clone(),
        };
        let scripted = reply.is_some();
        let (result, after) = reply.unwrap_or_else(ScriptedReply::well).give(call.timeout);
        ScriptReply { result, after, scripted }
    }

    /// When Sortie is up again, if it is down at `now`; a window without an end never lets it up.
    pub fn up_again(&self, now: Timestamp) -> Option<Option<Timestamp>> {
        let window = self.down.iter().find(|window| window.contains(now))?;
        Some(window.end_after(now))
    }

    /// When Sortie goes down next, after `now`.
    pub fn next_down(&self, now: Timestamp) -> Option<Timestamp> {
        self.down.iter().filter_map(|window| window.begin_after(now)).min()
    }

    /// The lines of rules that have answered nothing.
    pub fn unused(&self) -> impl Iterator<Item = u32> {
        self.rules.iter().filter(|rule| rule.given == 0).map(|rule| rule.line)
    }
}

impl Rule {
    fn counts(&self, call: &SimulatedCall, now: Timestamp) -> bool {
        let used_up = match self.rounds {
            Rounds::LastStays | Rounds::Forever => false,
            Rounds::Times(times) => self.given >= times * self.replies.len(),
        };
        let named = |wanted: &Option<String>, is: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(is))
        };
        !used_up
            && match &self.service {
                Pattern::Name(name) => call.service.as_ref() == Some(name),
                Pattern::Url(glob) => glob.begins(&call.url),
            }
            && self.step.as_ref().is_none_or(|step| *step == call.step)
            && self.work.is_none_or(|work| work == call.kind())
            && named(&self.method, &call.method)
            && self.path.as_ref().is_none_or(|path| path.matches(call.path()))
            && (self.during.is_empty() || self.during.iter().any(|window| window.contains(now)))
    }

    fn next_reply(&mut self) -> ScriptedReply {
        let place = match self.rounds {
            Rounds::LastStays => self.given.min(self.replies.len() - 1),
            Rounds::Times(_) | Rounds::Forever => self.given % self.replies.len(),
        };
        self.given += 1;
        self.replies[place].clone()
    }
}

impl ScriptedReply {
    /// The response of a healthy service.
    fn well() -> ScriptedReply {
        let answer =
            ServiceResponse { status: 200, headers: HeaderMap::new(), body: Bytes::from_static(b"{}") };
        ScriptedReply { what: ScriptedResponse::Answer(answer), latency: LATENCY }
    }

    /// What the caller sees of it, and when: a caller that waits for `timeout` sees no later response.
    fn give(self, timeout: Span) -> (Result<ServiceResponse, Fault>, Span) {
        if self.latency >= timeout || matches!(self.what, ScriptedResponse::Timeout) {
            return (Err(Fault::Timeout { sent: true }), timeout);
        }
        let result = match self.what {
            ScriptedResponse::Answer(answer) => Ok(answer),
            ScriptedResponse::RefusedConnection => {
                Err(Fault::Connect { stage: Stage::Tcp, reason: "connection refused".to_owned() })
            }
            ScriptedResponse::LostConnection => Err(Fault::Lost { reason: "connection reset".to_owned() }),
            ScriptedResponse::Timeout => unreachable!("handled above"),
        };
        (result, self.latency)
    }
}

impl Glob {
    fn matches(&self, text: &str) -> bool {
        matches(&self.0, text, true)
    }

    /// Whether the beginning of a text matches.
    fn begins(&self, text: &str) -> bool {
        matches(&self.0, text, false)
    }
}

fn matches(glob: &str, text: &str, whole: bool) -> bool {
    let mut parts = glob.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return !whole || rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    if whole { rest.ends_with(last) } else { rest.contains(last) }
}

/// How the words of a script stand for what has no answer.
const FAULTS: [(&str, ScriptedResponse); 3] = [
    ("timeout", ScriptedResponse::Timeout),
    ("refused connection", ScriptedResponse::RefusedConnection),
    ("lost connection", ScriptedResponse::LostConnection),
];

#[cfg(test)]
mod tests;
