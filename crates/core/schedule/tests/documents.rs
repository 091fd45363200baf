//! How documents are read, changed and shown: leniently in, one form inside, no secret out.

use std::convert::Infallible;

use schedule::{
    CertificateFacts, CollectionDocument, CollectionState, Date, Dialect, FrontEnd, JobDocument, JobStatus,
    Limits, Plan, identity, read_collection, read_collection_patch, read_job, read_job_patch, read_preview,
};
use serde_json::{Value, json};
use types::{
    CollectionSpec, Frequency, Gap, JobSpec, JobState, Missed, Monthly, Overlap, Recurrence, Repeat, Retry,
    Rule, Schedule, Span, Ticks, Timestamp, Timing, WeekDay,
};

/// 2016-03-30T19:36:08Z
const NOW: Timestamp = Timestamp(1_459_366_568_000);

fn job(properties: Value) -> JobDocument {
    let body = json!({ "properties": properties });
    read_job(&body, &Limits::default(), NOW).unwrap_or_else(|problems| panic!("{problems}"))
}

fn http(request: Value) -> JobDocument {
    job(json!({"action": {"type": "Http", "request": request}}))
}

fn patched(document: &JobDocument, properties: Value) -> Result<JobDocument, String> {
    let patch =
        read_job_patch(&json!({ "properties": properties })).map_err(|problems| problems.to_string())?;
    document.patched(&patch, &Limits::default(), NOW).map_err(|problems| problems.to_string())
}

fn change(document: &JobDocument, properties: Value) -> JobDocument {
    patched(document, properties).unwrap_or_else(|problems| panic!("{problems}"))
}

fn shown(document: &JobDocument) -> Value {
    let status = JobStatus::new(JobState::Disabled, None);
    serde_json::to_value(document.render(&status, Dialect::default())).expect("JSON")
}

fn secrets(document: &JobDocument) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Ok(()) = document.clone().visit_secrets(|path, secret| {
        found.push((path.to_owned(), secret.clone()));
        Ok::<(), Infallible>(())
    });
    found
}

fn ticks(text: &str) -> Ticks {
    text.parse::<Date>().expect(text).0
}

#[test]
fn casing_and_notation_make_no_difference() {
    let strange = job(json!({
        "STARTTIME": "2015-07-12T17:00:00-07:00",
        "Action": {
            "TYPE": "hTTPS",
            "Request": {"URI": "https://a.test/", "Method": "get", "Headers": {"X-Mixed": 5}, "body": null},
            "RetryPolicy": {"retrytype": "FIXED", "RetryInterval": "00:01:00", "RETRYCOUNT": "2"},
        },
        "recurrence": {
            "Frequency": "MONTH",
            "Interval": "2",
            "count": 3.0,
            "endtime": "2020-10-10",
            "schedule": {
                "Hours": 5,
                "minutes": ["0", 30],
                "monthlyOccurrences": [{"Day": "FRIDAY", "Occurrence": -1, "occurrence": "-1"}],
                "monthdays": null,
            },
        },
        "State": "DISABLED",
        "status": {"anything": "is passed over"},
    }));
    assert_eq!(
        shown(&strange),
        json!({
            "startTime": "2015-07-13T00:00:00Z",
            "action": {
                "request": {"uri": "https://a.test/", "method": "get", "headers": {"X-Mixed": "5"}},
                "type": "Https",
                "retryPolicy": {"retryType": "fixed", "retryInterval": "00:01:00", "retryCount": 2},
            },
            "recurrence": {
                "frequency": "month",
                "count": 3,
                "endTime": "2020-10-10T00:00:00Z",
                "interval": 2,
                "schedule": {
                    "minutes": [0, 30],
                    "hours": [5],
                    "monthlyOccurrences": [{"day": "friday", "occurrence": -1}],
                },
            },
            "state": "disabled",
        })
    );
}

#[test]
fn our_own_members_come_after_the_recurrence_and_have_one_place() {
    let action =
        json!({"type": "Workflow", "workflow": {"name": "drone-delivery", "body": {"b": null, "a": [1]}}});
    let document = job(json!({
        "action": action,
        "cron": "  0   9 * * MON-FRI ",
        "recurrence": {"timeZone": "europe/berlin", "count": 3},
        "clockChange": {"gap": "Skip"},
        "missed": "All",
        "overlap": "Queue",
        "jitter": "5m",
    }));
    let status = JobStatus::new(JobState::Disabled, None);
    let text = serde_json::to_string(&document.render(&status, Dialect::default())).expect("JSON");
    assert_eq!(
        text,
        concat!(
            r#"{"action":{"workflow":{"name":"drone-delivery","body":{"a":[1],"b":null}},"type":"Workflow"},"#,
            r#""recurrence":{"count":3,"cron":"0 9 * * MON-FRI"},"timeZone":"Europe/Berlin","#,
            r#""clockChange":{"gap":"skip"},"missed":"all","overlap":"queue","jitter":"PT5M","state":"disabled"}"#
        )
    );
    assert_eq!(JobDocument::from_stored(&document.stored()).expect("stored"), document);
}

#[test]
fn the_kernel_gets_what_it_decides_by() {
    let document = job(json!({
        "startTime": "2016-04-01T00:00:00.5Z",
        "action": {
            "type": "http",
            "request": {"uri": "http://a.test", "method": "GET"},
            "retryPolicy": {"retryType": "exponential", "retryInterval": "PT15S", "retryCount": 0},
            "errorAction": {
                "type": "http",
                "request": {
                    "uri": "http://b.test",
                    "method": "POST",
                    "authentication": {"type": "Basic", "username": "u", "password": "p"},
                },
            },
        },
        "recurrence": {
            "frequency": "week",
            "endTime": "2017-01-01",
            "count": 9,
            "schedule": {"weekDays": ["Friday", "Monday", "friday"], "hours": [17, 9, 17]},
        },
        "timeZone": "Europe/Berlin",
        "clockChange": {"repeat": "both"},
        "missed": "skip",
        "overlap": "allow",
        "jitter": "PT10S",
        "state": "Disabled",
    }));
    let retry = Retry::Exponential {
        first: Span::from_secs(15),
        factor_percent: 200,
        max: Span::from_secs(3600),
        attempts: 1,
    };
    let schedule = Schedule {
        hours: vec![9, 17],
        week_days: vec![WeekDay::Monday, WeekDay::Friday],
        ..Schedule::default()
    };
    let rule = Rule::Every { frequency: Frequency::Week, interval: 1, schedule: Some(schedule) };
    let expected = JobSpec {
        timing: Timing {
            start: Some(ticks("2016-04-01T00:00:00.5Z")),
            recurrence: Some(Recurrence { rule, count: Some(9), end: Some(ticks("2017-01-01")) }),
            zone: Some("Europe/Berlin".to_owned()),
            gap: Gap::End,
            repeat: Repeat::Both,
            jitter: Span::from_secs(10),
        },
        retry,
        alternative: Some(retry),
        missed: Missed::Skip,
        overlap: Overlap::Allow,
        enabled: false,
        authenticates: true,
    };
    assert_eq!(document.spec(), expected);
    assert!(document.with_enabled(true).spec().enabled);
}

#[test]
fn a_job_that_says_nothing_has_the_defaults() {
    let document = http(json!({"uri": "http://a.test", "method": "GET"}));
    let timing = Timing {
        start: None,
        recurrence: None,
        zone: None,
        gap: Gap::End,
        repeat: Repeat::First,
        jitter: Span::ZERO,
    };
    let expected = JobSpec {
        timing,
        retry: Retry::Fixed { delay: Span::from_secs(30), attempts: 5 },
        alternative: None,
        missed: Missed::Latest,
        overlap: Overlap::Skip,
        enabled: true,
        authenticates: false,
    };
    assert_eq!(document.spec(), expected);
}

#[test]
fn retry_policies_fill_in_what_they_leave_out() {
    let retry = |policy: Value| {
        let action = json!({"type": "Http", "request": {"uri": "http://a.test", "method": "GET"}, "retryPolicy": policy});
        job(json!({ "action": action })).spec().retry
    };
    let fixed = |secs, attempts| Retry::Fixed { delay: Span::from_secs(secs), attempts };
    assert_eq!(retry(json!({})), fixed(30, 5));
    assert_eq!(retry(json!({"retryType": "fixed", "retryInterval": "PT1D"})), fixed(86_400, 5));
    assert_eq!(retry(json!({"retryCount": 20, "retryInterval": "00:00:15"})), fixed(15, 21));
    // Clients send a count and an interval along that mean nothing here.
    assert_eq!(
        retry(json!({"retryType": "None", "retryInterval": "00:00:00", "retryCount": 99})),
        Retry::None
    );
}

#[test]
fn wider_limits_let_more_through() {
    let body = json!({"properties": {"action": {
        "type": "Http",
        "request": {"uri": "http://a.test", "method": "GET"},
        "retryPolicy": {"retryInterval": "PT1S", "retryCount": 100},
    }}});
    let limits = Limits { retry_interval_min: Span::from_secs(1), retry_count_max: 100, ..Limits::default() };
    assert!(read_job(&body, &Limits::default(), NOW).is_err());
    let retry = read_job(&body, &limits, NOW).expect("within the limits").spec().retry;
    assert_eq!(retry, Retry::Fixed { delay: Span::from_secs(1), attempts: 101 });
}

#[test]
fn an_end_that_has_passed_and_a_start_long_ago_are_taken() {
    let action = json!({"type": "Http", "request": {"uri": "http://a.test", "method": "GET"}});
    job(
        json!({"action": action, "startTime": "0001-01-01", "recurrence": {"frequency": "day", "endTime": "2012-11-04"}}),
    );
    job(
        json!({"action": action, "recurrence": {"frequency": "day", "endTime": "9999-12-31T23:59:59.9999999Z"}}),
    );
    job(json!({"action": action, "startTime": "2017-09-29T19:36:08Z"}));
}

#[test]
fn at_is_resolved_when_it_is_written() {
    let action = json!({"type": "Http", "request": {"uri": "http://a.test", "method": "GET"}});
    let document = job(json!({"action": action, "at": "2017-03-26 02:30", "timeZone": "Europe/Berlin"}));
    assert_eq!(document.start(), Some(ticks("2017-03-26T01:00:00Z")));
    assert_eq!(document.spec().timing.start, document.start());
    assert_eq!(shown(&document)["at"], "2017-03-26T02:30:00");
    assert_eq!(shown(&document).get("startTime"), None);
    assert_eq!(shown(&document).get("atInstant"), None);
    let elsewhere = change(&document, json!({"timeZone": "America/New_York"}));
    assert_eq!(elsewhere.start(), Some(ticks("2017-03-26T06:30:00Z")));
    let later = change(&document, json!({"startTime": "2017-01-01"}));
    assert_eq!(later.start(), Some(ticks("2017-01-01")));
    assert_eq!(change(&document, json!({"at": null})).start(), None);
}

#[test]
fn a_patch_merges_objects_replaces_lists_and_removes_nulls() {
    let before = job(json!({
        "action": {
            "type": "Http",
            "request": {
                "uri": "http://a.test/",
                "method": "POST",
                "headers": {"Content-Type": "text/plain", "X-Keep": "1", "X-Drop": "2"},
                "body": "b",
            },
            "retryPolicy": {"retryType": "fixed", "retryInterval": "PT1M", "retryCount": 2},
            "errorAction": {"type": "Http", "request": {"uri": "http://b.test/", "method": "GET"}},
        },
        "recurrence": {"frequency": "day", "interval": 3, "count": 5, "schedule": {"hours": [1, 2], "minutes": [3]}},
        "missed": "all",
    }));
    let after = change(
        &before,
        json!({
            "action": {
                "request": {"headers": {"content-type": "application/json", "x-drop": null, "X-New": "3"}, "body": null},
                "retryPolicy": {"retryCount": 3},
                "errorAction": null,
            },
            "recurrence": {"interval": null, "count": null, "schedule": {"hours": [7], "minutes": []}},
            "missed": null,
            "state": "disabled",
        }),
    );
    assert_eq!(
        shown(&after),
        json!({
            "action": {
                "request": {
                    "uri": "http://a.test/",
                    "method": "POST",
                    "headers": {"content-type": "application/json", "X-Keep": "1", "X-New": "3"},
                },
                "type": "Http",
                "retryPolicy": {"retryType": "fixed", "retryInterval": "PT1M", "retryCount": 3},
            },
            "recurrence": {"frequency": "day", "interval": 1, "schedule": {"hours": [7]}},
            "state": "disabled",
        })
    );
    assert_eq!(change(&before, json!({})), before);
    assert_eq!(
        read_job_patch(&json!({})).map(|patch| before.patched(&patch, &Limits::default(), NOW)),
        Ok(Ok(before))
    );
}

#[test]
fn of_two_ways_to_say_when_the_written_one_stays() {
    let action = json!({"type": "Http", "request": {"uri": "http://a.test", "method": "GET"}});
    let weekly = job(json!({
        "action": action,
        "startTime": "2016-04-01",
        "recurrence": {"frequency": "week", "count": 4, "schedule": {"weekDays": ["monday"]}},
    }));
    let cron = change(&weekly, json!({"cron": "0 9 * * *"}));
    assert_eq!(shown(&cron)["recurrence"], json!({"count": 4, "cron": "0 9 * * *"}));
    let daily = change(&cron, json!({"recurrence": {"frequency": "day"}}));
    assert_eq!(shown(&daily)["recurrence"], json!({"frequency": "day", "count": 4, "interval": 1}));
    let bare = change(&cron, json!({"recurrence": {"count": null}}));
    assert_eq!(shown(&change(&bare, json!({"cron": null}))).get("recurrence"), None);
    let never = http(json!({"uri": "http://a.test/", "method": "GET"}));
    assert_eq!(change(&never, json!({"cron": null})), never);
    let once = change(&daily, json!({"at": "2016-05-01"}));
    assert_eq!((shown(&once).get("recurrence"), shown(&once).get("startTime")), (None, None));
    assert_eq!(
        patched(&weekly, json!({"recurrence": {"frequency": "day"}})),
        Err("properties.recurrence.schedule.weekDays: goes with frequency week, not with day".to_owned())
    );
}

#[test]
fn an_action_of_another_type_leaves_nothing_of_the_old_one() {
    let before = http(json!({"uri": "http://a.test/", "method": "GET"}));
    let after = change(
        &before,
        json!({"action": {"type": "workflow", "workflow": {"name": "w", "body": {"a": {"b": 1}}}}}),
    );
    assert_eq!(
        shown(&after)["action"],
        json!({"workflow": {"name": "w", "body": {"a": {"b": 1}}}, "type": "Workflow"})
    );
    // The body of a workflow is the client's own: it is replaced as a whole.
    let after = change(&after, json!({"action": {"workflow": {"body": {"a": {"c": null}}}}}));
    assert_eq!(shown(&after)["action"]["workflow"]["body"], json!({"a": {"c": null}}));
    let secure = change(&before, json!({"action": {"type": "Https", "request": {"uri": "https://a.test/"}}}));
    assert_eq!(shown(&secure)["action"]["request"]["method"], "GET");
}

const BASIC: &str = "properties.action.request.authentication.password";

#[test]
fn a_patch_keeps_the_stored_secret_unless_it_writes_another() {
    let basic = json!({"type": "Basic", "username": "u", "password": "sealed"});
    let before = http(json!({"uri": "http://a.test/", "method": "GET", "authentication": basic}));
    let request = |authentication: Value| json!({"action": {"request": {"authentication": authentication}}});
    let kept = vec![(BASIC.to_owned(), "sealed".to_owned())];

    assert_eq!(secrets(&change(&before, json!({"state": "disabled"}))), kept);
    assert_eq!(secrets(&change(&before, json!({"action": {"request": {"method": "PUT"}}}))), kept);
    let renamed = change(&before, request(json!({"type": "basic", "username": "v"})));
    assert_eq!(secrets(&renamed), kept);
    assert_eq!(
        shown(&renamed)["action"]["request"]["authentication"],
        json!({"username": "v", "type": "Basic"})
    );
    let other = change(&before, request(json!({"password": "new"})));
    assert_eq!(secrets(&other), [(BASIC.to_owned(), "new".to_owned())]);

    for none in [Value::Null, json!({"type": "NotSpecified"})] {
        let after = change(&before, request(none));
        assert_eq!(secrets(&after), []);
        assert!(!after.spec().authenticates);
    }
    assert_eq!(
        patched(&before, request(json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c"}))),
        Err("properties.action.request.authentication.secret: required by authentication of type ActiveDirectoryOAuth"
            .to_owned())
    );
    assert_eq!(
        patched(&before, request(json!({"password": null}))),
        Err(format!("{BASIC}: required by authentication of type Basic"))
    );
}

#[test]
fn every_secret_is_shown_to_the_one_who_seals_it_and_to_nobody_else() {
    let oauth = json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": "hunter2"});
    let bus = |target: &str, place: &str| {
        json!({
            "type": target,
            place: {
                "queueName": "q", "namespace": "n", "transportType": "amqp", "message": "m",
                "authentication": {"sasKeyName": "k", "sasKey": "hunter2"},
            },
        })
    };
    let mut topic = bus("ServiceBusTopic", "serviceBusTopicMessage");
    topic["serviceBusTopicMessage"].as_object_mut().expect("an object").remove("queueName");
    topic["serviceBusTopicMessage"]["topicPath"] = "t".into();
    let certificate = json!({"type": "ClientCertificate", "pfx": "hunter2", "password": "hunter2"});
    let request = |authentication: Value| json!({"type": "Http", "request": {"uri": "http://a.test", "method": "GET", "authentication": authentication}});
    let queue = json!({"storageAccount": "s", "queueName": "q", "sasToken": "hunter2", "message": "m"});
    for (call, places) in [
        (
            request(json!({"type": "Basic", "username": "u", "password": "hunter2"})),
            vec!["request.authentication.password"],
        ),
        (request(oauth), vec!["request.authentication.secret"]),
        (request(certificate), vec!["request.authentication.pfx", "request.authentication.password"]),
        (json!({"type": "StorageQueue", "queueMessage": queue}), vec!["queueMessage.sasToken"]),
        (
            bus("ServiceBusQueue", "serviceBusQueueMessage"),
            vec!["serviceBusQueueMessage.authentication.sasKey"],
        ),
        (topic, vec!["serviceBusTopicMessage.authentication.sasKey"]),
    ] {
        let mut action = call.clone();
        action["errorAction"] = call;
        let body = json!({"properties": {"action": action}});
        let mut expected: Vec<String> =
            places.iter().map(|place| format!("properties.action.{place}")).collect();
        expected.extend(places.iter().map(|place| format!("properties.action.errorAction.{place}")));

        let mut document = read_job(&body, &Limits::default(), NOW).expect("a job");
        let mut patch = read_job_patch(&body).expect("a patch");
        assert!(!format!("{document:?} {patch:?} {:?}", document.action()).contains("hunter2"));
        assert!(document.stored().contains("hunter2"));
        let mut seen = Vec::new();
        let mut seal = |path: &str, secret: &mut String| {
            assert_eq!(std::mem::replace(secret, "sealed".to_owned()), "hunter2");
            seen.push(path.to_owned());
            Ok::<(), Infallible>(())
        };
        let Ok(()) = document.visit_secrets(&mut seal);
        let Ok(()) = patch.visit_secrets(&mut seal);
        assert_eq!(seen, [expected.clone(), expected].concat());
        assert!(!document.stored().contains("hunter2") && document.stored().contains("sealed"));
        assert!(!shown(&document).to_string().contains("sealed"));
        assert_eq!(document.patched(&patch, &Limits::default(), NOW), Ok(document));
    }
}

#[test]
fn the_first_error_of_sealing_ends_it() {
    let basic = json!({"type": "Basic", "username": "u", "password": "p"});
    let mut document = http(json!({"uri": "http://a.test/", "method": "GET", "authentication": basic}));
    assert_eq!(document.visit_secrets(|path, _| Err(path.to_owned())), Err(BASIC.to_owned()));
}

fn facts(thumbprint: &str) -> CertificateFacts {
    CertificateFacts {
        thumbprint: thumbprint.to_owned(),
        expiration: Date(ticks("2021-01-01T07:00:00Z")),
        subject_name: "CN=test".to_owned(),
    }
}

#[test]
fn a_new_certificate_brings_its_own_facts() {
    let certificate = json!({"type": "ClientCertificate", "pfx": "one", "password": ""});
    let mut before = http(json!({"uri": "http://a.test/", "method": "GET", "authentication": certificate}));
    let look = |path: &str, pfx: &str, password: &str| {
        assert_eq!(path, "properties.action.request.authentication");
        Ok::<_, Infallible>(facts(&format!("{pfx}/{password}")))
    };
    let Ok(()) = before.fill_certificates(look);
    let authentication =
        |document: &JobDocument| shown(document)["action"]["request"]["authentication"].clone();
    let told = |thumbprint: &str| {
        json!({
            "certificateThumbprint": thumbprint,
            "certificateExpiration": "2021-01-01T07:00:00Z",
            "certificateSubjectName": "CN=test",
            "type": "ClientCertificate",
        })
    };
    assert_eq!(authentication(&before), told("one/"));
    // What a client writes there is passed over, and a stored certificate keeps its facts.
    let echo = json!({"action": {"request": {"authentication": {"certificateThumbprint": "forged"}}}});
    assert_eq!(authentication(&change(&before, echo)), told("one/"));

    let written = json!({"action": {"request": {"authentication": {"pfx": "two", "password": "p"}}}});
    let mut patch = read_job_patch(&json!({ "properties": written })).expect("a patch");
    let unknown = before.patched(&patch, &Limits::default(), NOW).expect("a job");
    assert_eq!(authentication(&unknown), json!({"type": "ClientCertificate"}));
    let Ok(()) = patch.fill_certificates(look);
    assert_eq!(
        authentication(&before.patched(&patch, &Limits::default(), NOW).expect("a job")),
        told("two/p")
    );

    let half = json!({"action": {"request": {"authentication": {"pfx": "two"}}}});
    assert_eq!(
        patched(&before, half),
        Err("properties.action.request.authentication: pfx and password are written together, or neither"
            .to_owned())
    );
}

#[test]
fn the_spellings_of_the_sdks_are_added_when_asked_for() {
    let certificate = json!({"type": "ClientCertificate", "pfx": "one", "password": "p"});
    let request = json!({"uri": "http://a.test/", "method": "GET", "authentication": certificate});
    let mut document = job(json!({
        "action": {"type": "Http", "request": request},
        "recurrence": {"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "monday", "occurrence": 1}]}},
    }));
    let Ok(()) = document.fill_certificates(|_, _, _| Ok::<_, Infallible>(facts("t")));
    let status = JobStatus::new(JobState::Enabled, None);
    let dialect = Dialect { sdk_spellings: true, ..Dialect::default() };
    let view = serde_json::to_value(document.render(&status, dialect)).expect("JSON");
    assert_eq!(
        view["recurrence"]["schedule"]["monthlyOccurrences"],
        json!([{"day": "monday", "occurrence": 1, "Occurrence": 1}])
    );
    let authentication = &view["action"]["request"]["authentication"];
    assert_eq!(authentication["certificateExpirationDate"], authentication["certificateExpiration"]);
    let monthly = &document.spec().timing.recurrence.expect("a recurrence").rule;
    let expected = Schedule {
        monthly: vec![Monthly { day: WeekDay::Monday, occurrence: Some(1) }],
        ..Schedule::default()
    };
    assert_eq!(*monthly, Rule::Every { frequency: Frequency::Month, interval: 1, schedule: Some(expected) });
}

#[test]
fn the_name_in_a_body_is_found() {
    let body = json!({"ID": "/x", "Name": "c/j", "properties": {}});
    assert_eq!((identity(&body).id, identity(&body).name), (Some("/x"), Some("c/j")));
    assert_eq!(identity(&json!([])), schedule::ResourceIdentity::default());
}

#[test]
fn plans_and_quotas_bound_a_collection() {
    let spec = |body: Value, front_end| read_collection(&body, front_end).expect("a collection").spec();
    let standard =
        CollectionSpec { jobs_max: 50, period_min: Span::from_secs(60), authentication: true, enabled: true };
    assert_eq!(spec(json!({"location": "westus"}), FrontEnd::Azure), standard);
    assert_eq!(
        spec(json!({}), FrontEnd::Native),
        CollectionSpec { jobs_max: 10_000, period_min: Span::from_secs(1), ..standard }
    );
    assert_eq!(
        spec(
            json!({"location": "x", "properties": {"sku": {"name": "free"}, "state": "suspended"}}),
            FrontEnd::Azure
        ),
        CollectionSpec {
            jobs_max: 5,
            period_min: Span::from_secs(3600),
            authentication: false,
            enabled: false
        }
    );
    let quota = json!({"maxJobCount": "10", "maxRecurrence": {"Frequency": "Month", "interval": 2}});
    assert_eq!(
        spec(json!({"location": "x", "properties": {"quota": quota}}), FrontEnd::Azure),
        CollectionSpec { jobs_max: 10, period_min: Span::from_secs(56 * 24 * 3600), ..standard }
    );
}

#[test]
fn a_collection_is_patched_like_a_job() {
    let body = json!({
        "name": "ignored",
        "location": "westus2",
        "tags": {"a": "1", "b": 2},
        "properties": {"sku": {"name": "p20premium"}, "quota": {"maxJobCount": 1000, "maxJobOccurrence": 5}},
    });
    let before = read_collection(&body, FrontEnd::Azure).expect("a collection");
    let change = |body: Value| {
        let patch = read_collection_patch(&body).map_err(|problems| problems.to_string())?;
        before.patched(&patch).map_err(|problems| problems.to_string())
    };
    let after =
        change(json!({"tags": {"a": null, "c": "3"}, "properties": {"state": "disabled"}})).expect("changed");
    assert_eq!(
        after.stored(),
        r#"{"location":"West US 2","tags":{"b":"2","c":"3"},"properties":{"sku":{"name":"P20Premium"},"state":"Disabled","quota":{"maxJobCount":1000,"maxJobOccurrence":5}}}"#
    );
    assert_eq!(CollectionDocument::from_stored(&after.stored()).expect("stored"), after);
    assert_eq!(
        change(json!({"properties": {"sku": {"name": "Standard"}}})),
        Err("properties.quota.maxJobCount: 1000 jobs are more than 50, the most of the plan Standard"
            .to_owned())
    );
    assert_eq!(change(json!({"location": null})), Err("location: cannot be removed".to_owned()));
    let plain = change(json!({"properties": {"sku": null, "quota": null}})).expect("changed");
    assert_eq!((plain.plan(), plain.properties.quota), (Plan::Standard, None));
    assert_eq!(before.with_state(CollectionState::Disabled).properties.state, CollectionState::Disabled);
}

#[test]
fn a_preview_is_read_flat_below_properties_and_from_a_whole_job() {
    let recurrence = json!({"frequency": "day", "schedule": {"hours": [9]}});
    let timing = json!({"startTime": "2016-04-01", "recurrence": recurrence, "timeZone": "Europe/Berlin"});
    let read = |body: Value| read_preview(&body, &Limits::default(), NOW).expect("a preview");
    let mut flat = timing.clone();
    flat["now"] = "2016-05-01".into();
    flat["count"] = "3".into();
    let flat = read(flat);
    assert_eq!((flat.now, flat.count), (ticks("2016-05-01"), 3));
    assert_eq!(read(json!({"properties": timing, "now": "2016-05-01", "count": 3})), flat);
    let mut whole = timing;
    whole["action"] = json!({"type": "Http", "request": {"uri": "http://a.test", "method": "GET"}});
    whole["state"] = "Disabled".into();
    let preview = read(json!({ "name": "j", "properties": whole }));
    assert_eq!((preview.now, preview.count), (NOW.into(), 10));
    assert_eq!((preview.timing.clone(), preview.timing), (flat.timing, job(whole).spec().timing));
}
