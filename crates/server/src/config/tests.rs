//! Bad settings are refused with the key and the fix; good ones mean what they say.

mod manifests;

use std::path::Path;

use super::*;

fn parse(text: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::parse(text, Path::new("sortie.toml"), variables).map_err(|error| error.to_string())
}

const TOKEN: &str = "[tokens.ops]\nrole = \"admin\"\nsecret = \"0123456789abcdef\"\n";

#[track_caller]
fn check_refused(text: &str, variables: &[(&str, &str)], expected: &str) {
    let error = parse(text, variables).unwrap_err();
    assert!(error.contains(expected), "expected {expected:?} in: {error}");
}

#[test]
fn an_unknown_key_is_refused_with_its_line() {
    check_refused("listen = \"127.0.0.1:1\"\nlisten_adress = 3\n", &[], "listen_adress");
    check_refused("listen = \"127.0.0.1:1\"\nlisten_adress = 3\n", &[], "line 2");
    check_refused("[journal]\nlinger = 3\n", &[], "linger");
}

#[test]
fn an_unknown_variable_is_refused_by_its_name() {
    check_refused(TOKEN, &[("SORTIE_LISTN", "x")], "SORTIE_LISTN");
    let several = [("SORTIE_LISTN", "x"), ("SORTIE_LISTEN", "127.0.0.1:2"), ("SORTIE_JOURNAL__SINK", "data")];
    check_refused(TOKEN, &several, "SORTIE_JOURNAL__SINK, SORTIE_LISTN: set nothing");
    check_refused(TOKEN, &[("SORTIE_JOURNAL__SYNC", "sometimes")], "SORTIE_JOURNAL__SYNC");
    for name in ["SORTIE_KEYS", "SORTIE_KEYS__NAME"] {
        let refused = format!("{name}: keys are set in the file");
        check_refused(TOKEN, &[(name, "[]")], &refused);
    }
}

#[test]
fn what_kubernetes_says_of_a_service_named_sortie_is_passed_over() {
    let variables = [
        ("SORTIE_PORT", "tcp://10.96.0.10:7070"),
        ("SORTIE_PORT_7070_TCP_ADDR", "10.96.0.10"),
        ("SORTIE_SERVICE_HOST", "10.96.0.10"),
        ("SORTIE_SERVICE_PORT_HTTP", "7070"),
    ];
    parse(TOKEN, &variables).unwrap_or_else(|error| panic!("{error}"));
    check_refused(TOKEN, &[("SORTIE_PORTS", "1")], "SORTIE_PORTS");
}

#[test]
fn a_wrong_type_is_refused() {
    check_refused("partitions = \"many\"\n", &[], "partitions");
    check_refused("partitions = 0\n", &[], "partitions: 0 is not 1 to 1024");
    check_refused("half = \n", &[], "sortie.toml");
}

#[test]
fn sizes_and_limits_that_cannot_work_are_refused() {
    check_refused("[journal]\nsegment_bytes = 99999999999999\n", &[], "at most 1073741824");
    check_refused("[journal]\nsegment_bytes = 1\n", &[], "at least 16777216");
    check_refused("[limits]\ncalls_max = 1\n", &[], "limits.calls_max: 1 is less than one for each of 32");
}

#[test]
fn an_inbox_that_holds_nothing_or_everything_is_refused() {
    for (bytes, expected) in [("1", "16777216 to 1099511627776"), ("2199023255552", "max_file_store")] {
        let text = format!(
            "{TOKEN}[cluster]\nnats = [\"n:4222\"]\nsecret = \"0123456789abcdef\"\ninbox_bytes_max = {bytes}\n"
        );
        check_refused(&text, &[], "cluster.inbox_bytes_max");
        check_refused(&text, &[], expected);
    }
    check_refused("[cluster]\ninbox_bytes_max = -1\n", &[], "inbox_bytes_max");
}

#[test]
fn a_certificate_for_nats_comes_with_its_key() {
    let cluster = "[cluster]\nnats = [\"n:4222\"]\nsecret = \"0123456789abcdef\"\n";
    let text = format!("{TOKEN}{cluster}tls_key_file = \"key.pem\"\n");
    check_refused(&text, &[], "give it together with cluster.tls_key_file");
}

#[test]
fn a_server_without_tokens_does_not_start() {
    check_refused("", &[], "tokens: none is set");
}

#[test]
fn tokens_are_checked() {
    check_refused(
        "[tokens.a]\nrole = \"god\"\nsecret = \"0123456789abcdef\"\n",
        &[],
        "tokens.a.role: \"god\"",
    );
    check_refused("[tokens.a]\nrole = \"admin\"\n", &[], "either sha256 or secret");
    check_refused("[tokens.a]\nrole = \"admin\"\nsecret = \"short\"\n", &[], "at least 16 characters");
    check_refused("[tokens.a]\nrole = \"admin\"\nsha256 = \"zz\"\n", &[], "64 hexadecimal digits");
}

#[test]
fn variables_override_the_file() {
    let text = format!("listen = \"127.0.0.1:1\"\n{TOKEN}");
    let variables = [
        ("SORTIE_LISTEN", "127.0.0.1:2"),
        ("SORTIE_JOURNAL__LINGER_MAX_US", "300"),
        ("SORTIE_TOKENS__CI__SECRET", "12345678901234567"),
        ("SORTIE_TOKENS__CI__ROLE", "ingest"),
        ("SORTIE_URL", "http://elsewhere"),
        ("SORTIE_SECRET_RABBIT", "hunter2"),
        ("PATH", "/bin"),
    ];
    let config = parse(&text, &variables).unwrap();
    assert_eq!(config.listen.port(), 2);
    assert_eq!(config.journal.linger_max_us, 300);
    assert_eq!(config.tokens.len(), 2);
}

#[test]
fn dev_is_for_loopback_only() {
    let mut config = Config::dev(PathBuf::from("x"), 0);
    assert!(config.access().is_ok());
    config.listen = SocketAddr::from(([0, 0, 0, 0], 7070));
    assert!(config.access().unwrap_err().to_string().contains("not loopback"));
}

#[test]
fn keys_are_checked_and_never_shown() {
    let key = |more: &str| format!("{TOKEN}[[keys]]\nname = \"root\"\n{more}\n");
    let check = |more: &str, expected: &str| check_refused(&key(more), &[], expected);
    check("rights = [\"send\"]", "keys.root.key: give one of key, key_env and key_file");
    check("key = \"short\"\nrights = [\"send\"]", "keys.root.key: must have at least 16");
    check("key = \"0123456789abcdef\"\nrights = []", "keys.root.rights: give some");
    check("key = \"0123456789abcdef\"\nrights = [\"read\"]", "\"read\" is not send, listen or manage");
    check("key_env = \"SORTIE_TEST_NO_SUCH\"\nrights = [\"send\"]", "keys.root.key_env");
    check("key_file = \"/no/such/file\"\nrights = [\"send\"]", "keys.root.key_file");
    let good = key("key = \"0123456789abcdef\"\nrights = [\"Send\", \"listen\"]\nqueue = \"Orders\"");
    check_refused(&format!("{good}{}", &good[TOKEN.len()..]), &[], "'root' is declared twice");
    let config = Config::parse(&good, Path::new("f"), std::iter::empty()).unwrap();
    assert!(!format!("{:?} {:?}", config.keys, config.access()).contains("0123456789abcdef"));
}
