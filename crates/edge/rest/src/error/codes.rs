//! The codes of problems in words: what each means, and what to do. The table of docs/reference/errors.md is made of it.

/// One code. It never changes its meaning and is never used again for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    pub status: u16,
    pub code: &'static str,
    pub means: &'static str,
    /// Empty where nothing can be done.
    pub remedy: &'static str,
}

impl Code {
    const fn new(status: u16, code: &'static str, means: &'static str, remedy: &'static str) -> Code {
        Code { status, code, means, remedy }
    }
}

/// Every code, by status.
pub const CODES: &[Code] = &[
    Code::new(400, "bad_request", "a parameter, header or decision is malformed", "the detail names it"),
    Code::new(400, "not_json", "the body is not valid JSON, or nested deeper than 64", "send JSON"),
    Code::new(400, "schema", "the body does not match the workflow's schema", "see `errors`"),
    Code::new(
        400,
        "bad_id",
        "the id or key cannot be used, or path and body differ",
        "the detail says which",
    ),
    Code::new(
        400,
        "body_broken",
        "the connection broke before the whole body arrived",
        "send it again, with the same id",
    ),
    Code::new(400, "invalid_definition", "a definition or action is wrong", "see `errors`"),
    Code::new(400, "no_such_step", "the workflow has no such step", ""),
    Code::new(400, "invalid_job", "a job, collection or preview is wrong", "see `errors`"),
    Code::new(
        400,
        "invalid_queue",
        "the settings of a queue, topic or subscription are wrong",
        "the detail names the field",
    ),
    Code::new(
        400,
        "invalid_message",
        "`BrokerProperties`, a property or a batch is wrong",
        "the detail names it",
    ),
    Code::new(
        400,
        "session_needed",
        "the queue handles sessions in order, and the message has none",
        "give it a `SessionId`",
    ),
    Code::new(
        401,
        "unauthorized",
        "no valid token; for queues, a signature that is wrong, has expired or is for another queue",
        "`Authorization: Bearer TOKEN`, or a new signature",
    ),
    Code::new(
        403,
        "forbidden",
        "the token's role does not allow the call; with `sortie dev`, the request came from a page of another site",
        "use another token",
    ),
    Code::new(
        403,
        "queue_full",
        "the queue has reached its maximum size, or remembers as many message ids as it can",
        "let consumers catch up, or raise its bounds",
    ),
    Code::new(404, "not_found", "no such run or path", ""),
    Code::new(
        404,
        "unknown_workflow",
        "no such workflow, or no such version",
        "the detail names the nearest",
    ),
    Code::new(404, "unknown_collection", "no such collection", ""),
    Code::new(404, "unknown_job", "no such job", ""),
    Code::new(404, "unknown_queue", "no such queue or topic", ""),
    Code::new(404, "unknown_subscription", "no such subscription", ""),
    Code::new(404, "lock_lost", "the lock has expired, or the message was settled", "receive it again"),
    Code::new(405, "method_not_allowed", "the path does not take this method", "see /openapi.json"),
    Code::new(408, "body_timeout", "the body did not arrive in 30 s", "send it again, with the same id"),
    Code::new(
        409,
        "id_conflict",
        "the id was used with another body (compared byte by byte) or for another workflow",
        "use another id",
    ),
    Code::new(409, "after_pivot", "the run only goes forward now", "undo it by a new request"),
    Code::new(409, "run_ended", "the run has ended", ""),
    Code::new(409, "run_parked", "the run is parked: a cancel cannot help", "decide on it"),
    Code::new(409, "not_parked", "there is nothing to decide", ""),
    Code::new(
        409,
        "step_not_open",
        "this step does not wait for a decision",
        "the detail lists those that do",
    ),
    Code::new(409, "only_back", "the run is being undone and cannot go forward", "submit a new request"),
    Code::new(409, "stale", "the attempt is not running", ""),
    Code::new(409, "route_taken", "another workflow has this route", "choose another"),
    Code::new(
        409,
        "quota",
        "the plan or the quota of the collection does not allow it, or its jobs do not fit the new one; or the partition is full of queues",
        "the detail says which",
    ),
    Code::new(
        409,
        "job_finished",
        "the job is completed or faulted",
        "write it again with `PUT`, or delete it",
    ),
    Code::new(
        409,
        "job_running",
        "the job is running, and its occurrences do not overlap",
        "wait, or set `overlap`",
    ),
    Code::new(
        409,
        "job_conflict",
        "the subscription has a free collection already, or other clients keep changing the same thing",
        "the detail says which",
    ),
    Code::new(409, "is_topic", "the name belongs to a topic, where a queue is meant", ""),
    Code::new(409, "is_queue", "the name belongs to a queue, where a topic is meant", ""),
    Code::new(
        409,
        "sessions_fixed",
        "sessions cannot be switched on or off",
        "delete the queue and create it again",
    ),
    Code::new(
        409,
        "too_many_bulks",
        "the maximum number of bulks is running",
        "wait for one to end, or stop one",
    ),
    Code::new(
        409,
        "region_conflict",
        "the region cannot be promoted, demoted or switched as things are",
        "the detail says why",
    ),
    Code::new(
        412,
        "changed",
        "the workflow, collection, job, queue or topic is at another version than `If-Match` says",
        "read it again",
    ),
    Code::new(412, "exists", "it already exists, and the request has `If-None-Match: *`", ""),
    Code::new(413, "too_large", "the body is over the limit", "see /v1/limits"),
    Code::new(
        415,
        "media_type",
        "the route does not accept the media type of the body",
        "the detail lists those that it accepts",
    ),
    Code::new(
        421,
        "wrong_role",
        "this instance does not have the role that the call needs (`rest`, `ingest`)",
        "send the request to an instance that has it; see /v1/cluster",
    ),
    Code::new(429, "backlog_full", "too many accepted requests have not ended", "wait as `Retry-After` says"),
    Code::new(
        502,
        "outcome_unknown",
        "the instance that owns the partition did not answer, or lost the partition meanwhile: the request may have been carried out",
        "check before you try again",
    ),
    Code::new(503, "disk_full", "the disk is nearly full", "wait, or add disk space"),
    Code::new(
        503,
        "memory_full",
        "the process has nearly reached its memory limit",
        "wait, or raise the limit",
    ),
    Code::new(
        503,
        "partition_stopped",
        "damage or an error has stopped the partition, or one that may hold the run",
        "see /readyz and the log",
    ),
    Code::new(503, "standby", "this region is not the active one", "ask the region that the detail names"),
    Code::new(
        503,
        "region_unavailable",
        "the pair, the witness or NATS did not answer",
        "see `sortie region status`",
    ),
    Code::new(503, "journal_unavailable", "the journal cannot be written now", "wait as `Retry-After` says"),
    Code::new(503, "view_unavailable", "the requested data cannot be read now", "wait as `Retry-After` says"),
    Code::new(503, "stopping", "the server is stopping", "wait as `Retry-After` says"),
    Code::new(
        503,
        "not_held",
        "the partition is changing owners, or no instance owns it",
        "wait as `Retry-After` says; nothing was done",
    ),
    Code::new(
        503,
        "incomplete",
        "some partitions did not answer: a list may be incomplete, or a missing thing may be in one of them",
        "wait as `Retry-After` says; see /v1/partitions",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::StatusCode;

    use super::*;

    /// The pairs of status and code that the table in `error.rs` gives, by its own text.
    fn given() -> BTreeSet<(String, String)> {
        let source = include_str!("../error.rs");
        let pairs = source.split("StatusCode::").skip(1).filter_map(|rest| {
            let (status, rest) = rest.split_once(',')?;
            let code = rest.trim_start().strip_prefix('"')?.split('"').next()?;
            Some((status.to_owned(), code.to_owned()))
        });
        pairs.collect()
    }

    fn documented() -> BTreeSet<(String, String)> {
        let name = |status: u16| {
            let status = StatusCode::from_u16(status).expect("a status");
            status.canonical_reason().expect("it has a name").to_uppercase().replace(' ', "_")
        };
        CODES.iter().map(|code| (name(code.status), code.code.to_owned())).collect()
    }

    #[test]
    fn every_code_in_use_is_documented_with_its_status() {
        assert!(given().len() > 40, "the table was not found in error.rs");
        assert_eq!(
            given(),
            documented(),
            "left: error.rs; right: CODES, which docs/reference/errors.md is made of"
        );
    }
}
