//! Documents of jobs, native and Azure's: a job or problems that name a field; what is kept and shown reads the same.

use kernel::recurrence::preview;
use schedule::{
    Action, Dialect, JobDocument, JobStatus, Limits, Problems, read_job, read_job_patch, read_preview,
};
use serde_json::{Value, json};
use types::{JobState, Ticks, Timestamp};

use crate::input::{text, two_parts};
use crate::{Target, files};

pub const TARGET: Target = Target { name: "job", run, seeds, words: WORDS, inputs: 3000 };

pub(super) const WORDS: &[&str] = &[
    "\"properties\"",
    "\"action\"",
    "\"type\"",
    "\"Http\"",
    "\"Https\"",
    "\"StorageQueue\"",
    "\"ServiceBusQueue\"",
    "\"ServiceBusTopic\"",
    "\"Workflow\"",
    "\"Queue\"",
    "\"queue\"",
    "\"RabbitMq\"",
    "\"rabbitMq\"",
    "\"Nats\"",
    "\"Kafka\"",
    "\"amqp://a.test\"",
    "\"brokeredMessageProperties\"",
    "\"request\"",
    "\"uri\"",
    "\"method\"",
    "\"headers\"",
    "\"body\"",
    "\"authentication\"",
    "\"Basic\"",
    "\"ClientCertificate\"",
    "\"ActiveDirectoryOAuth\"",
    "\"password\"",
    "\"pfx\"",
    "\"secret\"",
    "\"retryPolicy\"",
    "\"retryType\"",
    "\"Fixed\"",
    "\"None\"",
    "\"retryInterval\"",
    "\"PT30S\"",
    "\"retryCount\"",
    "\"errorAction\"",
    "\"recurrence\"",
    "\"frequency\"",
    "\"Minute\"",
    "\"month\"",
    "\"interval\"",
    "\"count\"",
    "\"endTime\"",
    "\"schedule\"",
    "\"minutes\"",
    "\"hours\"",
    "\"weekDays\"",
    "\"Monday\"",
    "\"monthDays\"",
    "\"monthlyOccurrences\"",
    "\"day\"",
    "\"Occurrence\"",
    "\"startTime\"",
    "\"2016-03-30T20:37:51Z\"",
    "\"at\"",
    "\"timeZone\"",
    "\"Europe/Berlin\"",
    "\"cron\"",
    "\"*/5 * * * *\"",
    "\"clockChange\"",
    "\"gap\"",
    "\"skip\"",
    "\"repeat\"",
    "\"missed\"",
    "\"overlap\"",
    "\"jitter\"",
    "\"state\"",
    "\"Enabled\"",
    "\"Disabled\"",
    "\"queueMessage\"",
    "\"sasToken\"",
    "\"brokeredMessageProperties\"",
    "\"now\"",
    "\"http://a.test/\"",
    "null",
    "-1",
    "2147483648",
    "1e3",
    "1.5",
];

const NOW: Timestamp = Timestamp(1_480_000_000_000);

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let (document, patch) = two_parts(text);
    let Ok(body) = serde_json::from_str::<Value>(document) else { return };
    check_preview(&body);
    let job = match read_job(&body, &Limits::default(), NOW) {
        Ok(job) => job,
        Err(problems) => return check_problems(&problems),
    };
    check_job(&job);
    let patch = serde_json::from_str::<Value>(patch).unwrap_or(body);
    match read_job_patch(&patch) {
        Ok(patch) => match job.patched(&patch, &Limits::default(), NOW) {
            Ok(patched) => check_job(&patched),
            Err(problems) => check_problems(&problems),
        },
        Err(problems) => check_problems(&problems),
    }
}

fn check_job(job: &JobDocument) {
    let again = JobDocument::from_stored(&job.stored()).expect("what is kept is read again");
    assert!(again == *job, "what is kept reads the same: {job:?} {again:?}");
    assert!(Action::from_stored(&job.action_json()).is_ok());
    assert_eq!(again.spec(), job.spec());
    let (spec, now) = (job.spec(), Ticks::from(NOW));
    preview(&spec.timing, now, now, 3);
    for dialect in [
        Dialect::default(),
        Dialect { sdk_spellings: true, native: false },
        Dialect { sdk_spellings: false, native: true },
    ] {
        let shown = serde_json::to_value(job.render(&JobStatus::new(JobState::Enabled, None), dialect));
        let mut shown = shown.expect("a job can be shown");
        // What a client reads and writes back is the same job, but for the secrets, which it never reads.
        if !spec.authenticates && !job.stored().contains("sasToken") && !job.stored().contains("sasKey") {
            shown["state"] = json!(if spec.enabled { "Enabled" } else { "Disabled" });
            let read = read_job(&json!({ "properties": shown }), &Limits::default(), NOW);
            let read = read.unwrap_or_else(|problems| panic!("{problems}: {shown}"));
            assert_eq!(read.spec(), spec, "{shown}");
        }
    }
}

fn check_preview(body: &Value) {
    match read_preview(body, &Limits::default(), NOW) {
        Ok(found) => {
            let planned = preview(&found.timing, found.now, found.now, found.count.min(20) as usize);
            assert!(planned.is_sorted_by(|one, other| one.at < other.at), "{planned:?}");
        }
        Err(problems) => check_problems(&problems),
    }
}

pub(super) fn check_problems(problems: &Problems) {
    assert!(problems.iter().count() > 0, "a refusal has a reason");
    for problem in problems.iter() {
        assert!(!problem.message.is_empty(), "a problem says something");
        assert!(problem.message.len() < 2000, "a message does not repeat the document: {problem}");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut found = recorded(is_job);
    let cases = files::cases("crates/core/schedule/tests/fixtures/bad-documents.txt");
    found.extend(cases.iter().filter_map(|case| case.strip_prefix("PUT ")).map(str::to_owned));
    let call = r#""action":{"type":"http","request":{"uri":"http://a.test/","method":"GET"}}"#;
    let native = [
        r#""at":"2017-10-29T02:30:00","timeZone":"Europe/Berlin","clockChange":{"gap":"skip","repeat":"both"}"#,
        r#""recurrence":{"cron":"*/5 * * * *","count":7},"missed":"all","overlap":"queue","jitter":"PT30S""#,
        r#""recurrence":{"frequency":"month","schedule":{"hours":[3],"minutes":[0,30],"monthlyOccurrences":[{"day":"friday","occurrence":-1}]}}"#,
    ];
    found.extend(native.map(|time| format!("{{\"properties\":{{{call},{time}}}}}")));
    let first = found[0].clone();
    found.push(format!(
        "{first}\n---\n{{\"properties\":{{\"recurrence\":{{\"count\":null,\"interval\":2}}}}}}"
    ));
    found.into_iter().map(String::into_bytes).collect()
}

/// Whether a path of Azure Scheduler is that of a job.
pub(super) fn is_job(path: &str) -> bool {
    path.contains("/jobs/")
}

/// The bodies that were sent to such paths, as Azure Scheduler was recorded.
pub(super) fn recorded(is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let directory = files::root().join("testdata/azure-scheduler");
    let mut bodies = Vec::new();
    for (_, bytes) in files::read_all(&directory).expect("the recordings can be read") {
        let Ok(recording) = serde_json::from_slice::<Value>(&bytes) else { continue };
        for step in recording["steps"].as_array().into_iter().flatten() {
            let request = &step["request"];
            let path = request["path"].as_str().unwrap_or_default();
            if request["body"].is_object() && is_wanted(path) {
                bodies.push(request["body"].to_string());
            }
        }
    }
    assert!(!bodies.is_empty(), "there are recordings of such paths");
    bodies
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixtures of errors are among the seeds; what was recorded or written as a job is one.
    #[test]
    fn recorded_jobs_and_those_of_the_native_form_are_accepted() {
        let read = |seed: &[u8]| {
            let (document, _) = two_parts(text(seed).expect("seeds are text"));
            let body: Value = serde_json::from_str(document).map_err(|error| error.to_string())?;
            read_job(&body, &Limits::default(), NOW).map_err(|problems| problems.to_string())
        };
        for part in ["clockChange", "jitter", "\"frequency\":\"month\",\"schedule\"", "\n---\n"] {
            let seeds = seeds();
            let with_part = seeds.iter().filter(|seed| text(seed).expect("seeds are text").contains(part));
            let results: Vec<_> = with_part.map(|seed| read(seed)).collect();
            assert!(results.iter().any(Result::is_ok), "no seed with {part} is valid: {results:?}");
        }
        let accepted: Vec<_> = seeds().into_iter().filter(|seed| read(seed).is_ok()).collect();
        assert!(accepted.len() >= recorded(is_job).len() / 2, "{} seeds are valid", accepted.len());
    }
}
