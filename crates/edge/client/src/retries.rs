//! When something is asked for again.

use std::time::Duration;

use api_types::Problem;
use http::StatusCode;
use http::header::RETRY_AFTER;
use uuid::Uuid;

use crate::call::{Answer, Call};
use crate::error::Error;

const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The codes of what is refused before anything is done.
const UNTOUCHED: [&str; 3] = ["backlog_full", "disk_full", "memory_full"];

/// How often and for how long something is asked for again.
///
/// What the server refuses for now, with 429 or 503, is asked for again, after the time that the server names. What
/// would do something twice is so only when the code of the problem says that nothing was done, and never when it was
/// sent and nobody answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// All attempts, the first included; 1 never asks again.
    pub attempts_max: u32,
    /// No attempt begins later than this after the first.
    pub patience: Duration,
}

impl Retries {
    pub const NONE: Retries = Retries { attempts_max: 1, patience: Duration::ZERO };

    /// How long to wait before the next attempt; none when there is nothing to gain by one, or no time left.
    pub(crate) fn pause(
        &self,
        attempts: u32,
        elapsed: Duration,
        call: &Call,
        came: &Result<Answer, Error>,
    ) -> Option<Duration> {
        let named = match came {
            Ok(answer) if is_busy(answer.status) && (call.repeatable || is_untouched(answer)) => {
                retry_after(answer)
            }
            Err(Error::Unreachable { sent, .. }) if !sent || call.repeatable => None,
            _ => return None,
        };
        let pause = named.unwrap_or_else(|| backoff(attempts));
        (attempts < self.attempts_max && elapsed.saturating_add(pause) <= self.patience).then_some(pause)
    }
}

impl Default for Retries {
    fn default() -> Retries {
        Retries { attempts_max: 6, patience: Duration::from_secs(60) }
    }
}

fn is_busy(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE
}

/// Whether the server has surely done nothing. Other codes may come from the middle of the work.
fn is_untouched(answer: &Answer) -> bool {
    let problem: Result<Problem, _> = serde_json::from_slice(&answer.body);
    problem.is_ok_and(|problem| UNTOUCHED.contains(&problem.code.as_str()))
}

fn retry_after(answer: &Answer) -> Option<Duration> {
    let seconds = answer.headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Twice as long each time, and by chance somewhat less, so that many clients do not come back together.
fn backoff(attempts: u32) -> Duration {
    let full = PAUSE_MAX.min(PAUSE_FIRST * 2u32.saturating_pow(attempts.saturating_sub(1)));
    let chance = f64::from(Uuid::now_v7().as_bytes()[15]) / 255.0;
    full.mul_f64(0.5 + chance / 2.0)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn answered(status: u16, retry_after: Option<&str>) -> Result<Answer, Error> {
        let mut headers = HeaderMap::new();
        if let Some(text) = retry_after {
            headers.insert(RETRY_AFTER, text.parse().unwrap());
        }
        Ok(Answer { status: StatusCode::from_u16(status).unwrap(), headers, body: Default::default() })
    }

    fn unreachable(sent: bool) -> Result<Answer, Error> {
        Err(Error::Unreachable { url: String::new(), cause: String::new(), sent })
    }

    fn refused(status: u16, code: &str) -> Result<Answer, Error> {
        let mut answer = answered(status, Some("7"))?;
        answer.body =
            format!(r#"{{"type":"t","title":"t","status":{status},"code":"{code}","detail":"d"}}"#).into();
        Ok(answer)
    }

    #[test]
    fn what_was_refused_for_now_is_asked_for_again_when_the_server_says() {
        let (call, some) = (Call::get("/"), Retries::default());
        let pause = |came| some.pause(1, Duration::ZERO, &call, &came);
        assert_eq!(pause(answered(429, Some("7"))), Some(Duration::from_secs(7)));
        assert!(pause(answered(503, None)).is_some_and(|pause| pause <= PAUSE_FIRST));
        assert_eq!(pause(answered(400, Some("7"))), None);
        assert_eq!(pause(answered(200, None)), None);
        let ages = answered(503, Some(&u64::MAX.to_string()));
        assert_eq!(some.pause(1, Duration::from_secs(1), &call, &ages), None, "longer than anybody waits");
    }

    #[test]
    fn what_would_do_something_twice_is_sent_again_only_if_surely_nothing_was_done() {
        let some = Retries::default();
        let again = |call: Call, came| some.pause(1, Duration::ZERO, &call, &came).is_some();
        for (status, code) in [(429, "backlog_full"), (503, "disk_full"), (503, "memory_full")] {
            assert!(again(Call::post_nothing("/"), refused(status, code)), "{code}");
        }
        for code in ["not_held", "partition_stopped", "journal_unavailable", "stopping", "incomplete"] {
            assert!(!again(Call::post_nothing("/"), refused(503, code)), "{code}");
            assert!(again(Call::post_nothing("/").repeatable(), refused(503, code)), "{code}");
        }
        assert!(!again(Call::post_nothing("/"), answered(503, None)), "a proxy knows nothing");
    }

    #[test]
    fn what_may_have_arrived_is_sent_again_only_if_that_does_nothing_twice() {
        let some = Retries::default();
        let again = |call: Call, sent| some.pause(1, Duration::ZERO, &call, &unreachable(sent)).is_some();
        assert!(!again(Call::post_nothing("/"), true));
        assert!(again(Call::post_nothing("/"), false));
        assert!(again(Call::post_nothing("/").repeatable(), true));
        assert!(again(Call::get("/"), true));
    }

    #[test]
    fn it_ends() {
        let (call, some) = (Call::get("/"), Retries { attempts_max: 3, patience: Duration::from_secs(9) });
        let pause = |attempts, elapsed| {
            some.pause(attempts, Duration::from_secs(elapsed), &call, &answered(503, Some("5")))
        };
        assert!(pause(2, 4).is_some());
        assert_eq!(pause(3, 0), None);
        assert_eq!(pause(1, 5), None);
        assert!((1..40).all(|attempts| backoff(attempts) <= PAUSE_MAX));
    }
}
