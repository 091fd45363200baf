//! What crontabs say, and what becomes of it.

use super::*;

fn read(text: &str) -> Result<Vec<CronLine>, String> {
    read_crontab(text, CrontabOptions::default()).map_err(|problems| problems.to_string())
}

fn request(command: &str) -> Value {
    let lines = read(&format!("0 5 * * * {command}")).unwrap_or_else(|problems| panic!("{problems}"));
    lines[0].body["properties"]["action"]["request"].clone()
}

#[test]
fn a_crontab_becomes_jobs() {
    let lines = read(concat!(
        "# nightly\n",
        "MAILTO=ops@a.test\n",
        "\n",
        "30 4 1,15 * MON-FRI /usr/bin/curl -fsS https://a.test/Report?day=1 >/dev/null 2>&1\n",
        "CRON_TZ = \"europe/berlin\"\n",
        "@daily\twget -qO- http://b.test/\n",
        "  */5 * * * * curl https://a.test/report # again\n",
    ))
    .expect("a crontab");
    let shown: Vec<_> = lines
        .iter()
        .map(|line| (line.number, line.name.as_str(), line.schedule.as_str(), line.zone.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [
            (4, "a-test-report", "30 4 1,15 * MON-FRI", None),
            (6, "b-test", "@daily", Some("Europe/Berlin")),
            (7, "a-test-report-2", "*/5 * * * *", Some("Europe/Berlin")),
        ]
    );
    assert_eq!(lines[0].command, "/usr/bin/curl -fsS https://a.test/Report?day=1 >/dev/null 2>&1");
    assert_eq!(
        lines[1].body,
        json!({"properties": {
            "action": {"type": "Http", "request": {"uri": "http://b.test/", "method": "GET"}},
            "recurrence": {"cron": "@daily"},
            "timeZone": "Europe/Berlin",
        }})
    );
}

#[test]
fn curl_and_wget_become_requests() {
    let form = "application/x-www-form-urlencoded";
    for (command, expected) in [
        ("curl a.test", json!({"uri": "http://a.test", "method": "GET"})),
        (
            "curl -sXDELETE 'http://a.test/?a=1&b=2'",
            json!({"uri": "http://a.test/?a=1&b=2", "method": "DELETE"}),
        ),
        ("curl -I --url http://a.test -m 5 -o /dev/null", json!({"uri": "http://a.test", "method": "HEAD"})),
        (
            r#"curl -d a=1 --data-raw "b=\"2\"" http://a.test"#,
            json!({"uri": "http://a.test", "method": "POST", "headers": {"Content-Type": form}, "body": "a=1&b=\"2\""}),
        ),
        (
            "curl -d '{}' -H 'content-type: application/json' -H X-A:1 http://a.test --request=PUT",
            json!({"uri": "http://a.test", "method": "PUT", "headers": {"X-A": "1", "content-type": "application/json"}, "body": "{}"}),
        ),
        (
            "curl --json '{\"a\":1}' http://a.test &>/dev/null",
            json!({"uri": "http://a.test", "method": "POST", "headers": {"Content-Type": "application/json"}, "body": "{\"a\":1}"}),
        ),
        (
            "curl -G -d a=1 -d b=2 'http://a.test/?c=3'",
            json!({"uri": "http://a.test/?c=3&a=1&b=2", "method": "GET"}),
        ),
        (
            "curl -u me:pass -A robot http://a.test",
            json!({
                "uri": "http://a.test", "method": "GET", "headers": {"User-Agent": "robot"},
                "authentication": {"type": "Basic", "username": "me", "password": "pass"},
            }),
        ),
        ("curl http://a.test/100\\%", json!({"uri": "http://a.test/100%", "method": "GET"})),
        ("wget --spider -q http://a.test 2> /tmp/log", json!({"uri": "http://a.test", "method": "HEAD"})),
        (
            "wget --post-data=x=1 --header='A: b' -O /dev/null http://a.test",
            json!({"uri": "http://a.test", "method": "POST", "headers": {"A": "b", "Content-Type": form}, "body": "x=1"}),
        ),
    ] {
        assert_eq!(request(command), expected, "{command}");
    }
}

#[test]
fn a_line_that_is_not_a_job_is_named_with_what_to_do() {
    for (line, problem) in [
        ("* * * * * /opt/backup.sh --all", "is not curl or wget; let a small service run it"),
        (
            "* * * * * root curl http://a.test",
            "is not curl or wget (a crontab of the system names a user there",
        ),
        ("* * * * * curl http://a.test | mail me", "is more than one plain command"),
        ("* * * * * cd /x && curl http://a.test", "is more than one plain command"),
        ("* * * * * curl \"$URL\"", "is more than one plain command"),
        ("* * * * * curl http://a.test?d=$(date)", "is more than one plain command"),
        ("* * * * * curl 'http://a.test", "has a quote without an end"),
        ("* * * * * curl http://a.test/%d", "has a % that cron reads as a line feed; write \\%"),
        ("* * * * * curl -k https://a.test", "has an option that is not known here: '-k'"),
        (
            "* * * * * curl --cert=c.pem:hunter2 https://a.test",
            "has an option that is not known here: '--cert'",
        ),
        ("* * * * * curl -u me:hunter2 | true", "the command 'curl' is more than one plain command"),
        ("* * * * * curl -kume:hunter2 https://a.test", "has an option that is not known here: '-k'"),
        ("* * * * * curl -d @file http://a.test", "sends a file, which a job does not have"),
        ("* * * * * curl -s", "calls no URL"),
        ("* * * * * curl http://a.test http://b.test", "calls more than one URL"),
        ("* * * * * curl -X", "ends after -X"),
        ("* * * * * curl ftp://a.test", "uri: must begin with http:// or https://"),
        ("* * * * *", "needs five fields, or one like @daily, and a command after them"),
        ("@reboot curl http://a.test", "@reboot is not a time"),
        ("61 * * * * curl http://a.test", "properties.recurrence.cron: "),
        (
            "CRON_TZ=Europe/Berln",
            "CRON_TZ: 'Europe/Berln' is not a known time zone; did you mean 'Europe/Berlin'?",
        ),
    ] {
        let text = format!("@hourly curl http://ok.test\n{line}\n");
        let problems = read(&text).expect_err(line);
        assert!(!problems.contains("hunter2"), "{problems}");
        assert!(problems.starts_with("line 2: ") && problems.contains(problem), "{line}\n{problems}");
    }
}

#[test]
fn every_bad_line_is_reported_at_once() {
    let problems = read("1 2 3\nx\n@daily rm -rf /tmp/x\n").expect_err("three bad lines");
    assert_eq!(problems.matches("line ").count(), 3, "{problems}");
}

#[test]
fn a_template_takes_the_commands_that_are_not_calls() {
    let options = CrontabOptions { uri_template: Some("http://runner.test/lines/{line}") };
    let lines =
        read_crontab("@daily curl http://a.test\n0 1 * * * tar c /x | gzip > /y\n", options).expect("jobs");
    assert_eq!(lines[0].name, "a-test");
    assert_eq!(
        lines[1].body["properties"]["action"]["request"],
        json!({
            "uri": "http://runner.test/lines/2",
            "method": "POST",
            "headers": {"Content-Type": "text/plain; charset=utf-8"},
            "body": "tar c /x | gzip > /y",
        })
    );
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_text_upsets_the_reader(text in "[ -~\\n\\tü]{0,80}", command in "(curl|wget)[ -~]{0,40}") {
        for text in [text.clone(), format!("* * * * * {command}"), format!("@daily {text}")] {
            if let Ok(lines) = read(&text) {
                assert!(lines.len() <= text.lines().count());
            }
        }
    }
}
