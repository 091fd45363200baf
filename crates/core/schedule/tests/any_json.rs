//! Whatever is sent: nothing panics, nothing secret comes back, and what is taken has one form.

use std::convert::Infallible;

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::Config;
use schedule::{
    Dialect, FrontEnd, JobDocument, JobStatus, Limits, read_collection, read_collection_patch, read_job,
    read_job_patch, read_preview,
};
use serde_json::{Map, Value, json};
use types::{JobState, Timestamp};

/// 2016-03-30T19:36:08Z
const NOW: Timestamp = Timestamp(1_459_366_568_000);
/// Every secret of the bodies below contains it.
const MARK: &str = "hunter2";

fn bodies() -> Vec<Value> {
    let request = |authentication: Value| {
        json!({"type": "Http", "request": {
            "uri": "https://a.test:8080/p?q=1", "method": "post", "headers": {"A": "b"}, "body": "x",
            "authentication": authentication,
        }})
    };
    let bus = json!({
        "namespace": "n", "transportType": "NetMessaging", "message": "m", "queueName": "q",
        "authentication": {"sasKey": "hunter2-key", "sasKeyName": "k", "type": "SharedAccessKey"},
        "brokeredMessageProperties": {"timeToLive": "PT1H", "forcePersistence": true, "scheduledEnqueueTimeUtc": "2016-01-01"},
        "customMessageProperties": {"a": "b"},
    });
    let mut topic = bus.clone();
    topic.as_object_mut().expect("an object").remove("queueName");
    topic["topicPath"] = "t".into();
    let queue = json!({"storageAccount": "s", "queueName": "q", "sasToken": "hunter2-sas", "message": "m", "envelope": "none"});
    let sent = |mut target: Value| {
        target["message"] = "m".into();
        target["brokeredMessageProperties"] = json!({"label": "l", "timeToLive": "30s"});
        target["customMessageProperties"] = json!({"c": "d"});
        target
    };
    let login = |mut target: Value| {
        target["username"] = "u".into();
        target["password"] = "hunter2-broker".into();
        sent(target)
    };
    let actions = [
        request(json!({"type": "Basic", "username": "u", "password": "hunter2-basic"})),
        request(json!({"type": "ClientCertificate", "pfx": "hunter2-pfx", "password": "hunter2-pfxpw"})),
        request(
            json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": "hunter2-oauth"}),
        ),
        json!({"type": "StorageQueue", "queueMessage": queue}),
        json!({"type": "ServiceBusQueue", "serviceBusQueueMessage": bus}),
        json!({"type": "ServiceBusTopic", "serviceBusTopicMessage": topic}),
        json!({"type": "Workflow", "workflow": {"name": "w", "body": {"a": [1, {"b": null}]}, "id": "i"}}),
        json!({"type": "Queue", "queue": sent(json!({"name": "orders"}))}),
        json!({"type": "Topic", "topic": sent(json!({"name": "news"}))}),
        json!({"type": "Amqp", "amqp": login(json!({"url": "amqps://b.test:5671", "address": "a"}))}),
        json!({"type": "RabbitMq", "rabbitMq": login(json!({"url": "amqp://b.test/v", "exchange": "", "routingKey": "q"}))}),
        json!({"type": "Nats", "nats": login(json!({"url": "nats://a.test,nats://b.test:4222", "subject": "s.t", "stream": false}))}),
        json!({"type": "Kafka", "kafka": login(json!({"servers": "a.test:9092,b.test:9092", "topic": "t", "key": "k"}))}),
    ];
    let whens = [
        json!({"recurrence": {"frequency": "Month", "interval": 2, "count": 5, "endTime": "2020-01-01", "schedule": {
            "minutes": [1], "hours": 5, "monthDays": [-1], "monthlyOccurrences": [{"day": "Monday", "Occurrence": 1}]}}}),
        json!({"recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday"]}}, "startTime": "2016-01-01T00:00:00+02:00"}),
        json!({"recurrence": {"cron": "*/5 * * * *"}, "timeZone": "Europe/Berlin", "jitter": "10s"}),
        json!({"at": "2017-03-26T02:30", "timeZone": "Europe/Berlin", "clockChange": {"gap": "end", "repeat": "both"}}),
        json!({"missed": "all", "overlap": "queue", "state": "Disabled"}),
    ];
    let mut bodies = Vec::new();
    for (n, action) in actions.iter().enumerate() {
        let mut properties = whens[n % whens.len()].clone();
        properties["action"] = action.clone();
        properties["action"]["retryPolicy"] =
            json!({"retryType": "Fixed", "retryInterval": "00:01:00", "retryCount": 2});
        properties["action"]["errorAction"] = actions[(n + 3) % actions.len()].clone();
        bodies.push(json!({"properties": properties, "name": "j"}));
    }
    bodies
}

/// One change somewhere in a body: where, and what is put there.
#[derive(Debug, Clone)]
struct Change {
    steps: Vec<u8>,
    kind: u8,
    value: Value,
}

fn values() -> impl Strategy<Value = Value> {
    let words = [
        "",
        "Http",
        "Https",
        "StorageQueue",
        "Workflow",
        "Basic",
        "ClientCertificate",
        "NotSpecified",
        "none",
        "exponential",
        "day",
        "week",
        "month",
        "minute",
        "monday",
        "2016-01-01",
        "9999-12-31T23:59:59.99999999Z",
        "PT1M",
        "30s",
        "00:00:15",
        "* * * * *",
        "0 0 31 2 *",
        "L",
        "Europe/Berlin",
        "UTC",
        "latest",
        "disabled",
        "http://a.test",
        "http://[::1]:1",
        "ü",
        "5",
        "-1",
        "\u{0}",
        "Free",
        "Sortie",
        "westus",
        "second",
        "/",
        "'",
    ];
    let word = proptest::sample::select(words.map(Value::from).to_vec());
    let leaf = prop_oneof![
        4 => word,
        2 => (-40i64..100).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        2 => Just(Value::Null),
        1 => "\\PC{0,12}".prop_map(Value::from),
    ];
    let name = proptest::sample::select(names());
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Every name in the bodies, and some others.
fn names() -> Vec<String> {
    fn collect(value: &Value, names: &mut Vec<String>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| {
                names.extend([name.clone(), name.to_uppercase()]);
                collect(value, names);
            }),
            Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
            _ => {}
        }
    }
    let mut names: Vec<String> =
        ["cron", "status", "months", "properties", "sku", "quota", "location", "tags", "", "ä"]
            .map(str::to_owned)
            .to_vec();
    collect(&Value::from(bodies()), &mut names);
    // A secret is recognized by its name: a value that may be shown must not appear under it.
    let secret = |name: &str| {
        ["password", "pfx", "secret", "sastoken", "saskey"].contains(&name.to_lowercase().as_str())
    };
    names.retain(|name| !secret(name));
    names.sort();
    names.dedup();
    names
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (proptest::collection::vec(any::<u8>(), 1..7), any::<u8>(), values())
        .prop_map(|(steps, kind, value)| Change { steps, kind, value });
    proptest::collection::vec(change, 0..3)
}

fn changed(mut body: Value, changes: &[Change]) -> Value {
    for change in changes {
        apply(&mut body, &change.steps, change);
    }
    body
}

fn apply(value: &mut Value, steps: &[u8], change: &Change) {
    let (step, rest) = steps.split_first().expect("the last step ends it");
    let child = match value {
        Value::Object(members) if !members.is_empty() => {
            let name = members.keys().nth(usize::from(*step) % members.len()).expect("in range").clone();
            if rest.is_empty() && change.kind.is_multiple_of(3) {
                members.remove(&name);
                return;
            }
            if rest.is_empty() && change.kind % 3 == 1 {
                let names = names();
                members
                    .insert(names[usize::from(change.kind) * 7 % names.len()].clone(), change.value.clone());
                return;
            }
            members.get_mut(&name)
        }
        Value::Array(items) if !items.is_empty() => {
            let n = usize::from(*step) % items.len();
            items.get_mut(n)
        }
        _ => None,
    };
    match child {
        Some(child) if !rest.is_empty() && (child.is_object() || child.is_array()) => {
            apply(child, rest, change)
        }
        Some(child) => *child = change.value.clone(),
        None => {}
    }
}

/// What must hold of every document that was taken.
fn check(document: &JobDocument) {
    document.spec();
    assert_eq!(JobDocument::from_stored(&document.stored()).expect("stored"), *document);
    let mut properties: Map<String, Value> = serde_json::from_str(&document.stored()).expect("JSON");
    properties.remove("atInstant");
    let body = json!({ "properties": properties });
    let again = read_job(&body, &Limits::default(), NOW);
    assert_eq!(
        again.as_ref().map_err(ToString::to_string),
        Ok(document),
        "the canonical form reads as itself"
    );
    let patch = read_job_patch(&body).expect("a patch");
    assert_eq!(
        document.patched(&patch, &Limits::default(), NOW).as_ref(),
        Ok(document),
        "and changes nothing"
    );
    for (sdk_spellings, native) in [(false, false), (true, true)] {
        let view =
            document.render(&JobStatus::new(JobState::Enabled, None), Dialect { sdk_spellings, native });
        let text = format!("{} {view:?} {document:?}", serde_json::to_string(&view).expect("JSON"));
        assert!(!text.contains(MARK), "{text}");
    }
    let mut sealed = document.clone();
    let Ok(()) = sealed.visit_secrets(|_, secret| {
        secret.clear();
        Ok::<(), Infallible>(())
    });
    assert!(!sealed.stored().contains(MARK), "every secret was visited: {}", sealed.stored());
}

proptest! {
    #![proptest_config(Config { cases: 500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn jobs_and_their_changes_keep_every_promise(
        (first, second) in (0usize..7, 0usize..7),
        (changes, patch) in (changes(), changes()),
    ) {
        let body = changed(bodies()[first].clone(), &changes);
        let document = match read_job(&body, &Limits::default(), NOW) {
            Ok(document) => document,
            Err(problems) => {
                assert!(!problems.to_string().contains(MARK), "{problems}");
                read_job(&bodies()[first], &Limits::default(), NOW).expect("an unchanged body")
            }
        };
        check(&document);
        let written = changed(bodies()[second].clone(), &patch);
        let result = read_job_patch(&written).and_then(|patch| {
            assert!(!format!("{patch:?}").contains(MARK));
            document.patched(&patch, &Limits::default(), NOW)
        });
        match result {
            Ok(document) => check(&document),
            Err(problems) => assert!(!problems.to_string().contains(MARK), "{problems}"),
        }
    }

    #[test]
    fn nothing_panics_on_any_json(value in values()) {
        for body in [value.clone(), json!({"properties": value}), json!({"properties": {"action": value}})] {
            if let Ok(document) = read_job(&body, &Limits::default(), NOW) {
                check(&document);
            }
            if let Ok(preview) = read_preview(&body, &Limits::default(), NOW) {
                assert!((1..=1000).contains(&preview.count));
            }
            let base = read_job(&bodies()[0], &Limits::default(), NOW).expect("a job");
            if let Ok(Ok(document)) = read_job_patch(&body).map(|patch| base.patched(&patch, &Limits::default(), NOW)) {
                check(&document);
            }
            if let Ok(collection) = read_collection(&body, FrontEnd::Native) {
                collection.spec();
                if let Ok(patch) = read_collection_patch(&body) {
                    assert_eq!(collection.patched(&patch).as_ref(), Ok(&collection));
                }
            }
        }
    }
}

#[test]
fn the_bodies_that_are_changed_are_right_before() {
    let mut bodies = bodies();
    bodies[6]["properties"]["action"]["workflow"]["body"] =
        json!([7.79429947160892e266, 6.758673436933183e243]);
    for body in bodies {
        check(
            &read_job(&body, &Limits::default(), NOW).unwrap_or_else(|problems| panic!("{problems}: {body}")),
        );
    }
}
