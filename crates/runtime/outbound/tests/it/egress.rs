//! The outbound guard, end to end: whatever a URL or a name server says, only checked addresses are connected to.

use std::sync::Arc;
use std::time::Duration;

use crate::support::job::answer;
use crate::support::names::Names;
use crate::support::{Server, get};
use outbound::{Client, Egress, Fault, ServiceResponse, Settings, Url};

/// Where the allowed service listens. The guard allows this one address of all loopback addresses.
const ALLOWED: &str = "127.0.0.1";

fn guarded(egress: Egress, names: Arc<Names>) -> Client {
    Client::new(Settings {
        egress,
        resolver: names,
        connect_timeout: Duration::from_millis(200),
        ..Settings::default()
    })
}

fn networks(networks: &[&str]) -> Egress {
    Egress { networks: networks.iter().map(|text| text.parse().unwrap()).collect(), ..Egress::default() }
}

async fn call(client: &Client, url: &str) -> Result<ServiceResponse, Fault> {
    client.send(get(Url::parse(url)?)).await
}

async fn assert_refused(client: &Client, url: &str) {
    let result = call(client, url).await;
    assert!(matches!(result, Err(Fault::Refused { .. })), "{url}: {result:?}");
}

async fn service() -> Server {
    Server::answering(answer("200 OK", "connection: close\r\n", "reached")).await
}

#[tokio::test]
async fn a_name_that_changes_its_mind_never_leads_to_an_unchecked_address() {
    let server = service().await;
    let port = server.address.port();
    // First an allowed address, then the one that is not; the other way around; and both at once.
    let names = Names::new(&[
        ("rebind.test", &["127.0.0.2", "127.0.0.1"]),
        ("back.test", &["127.0.0.1", "127.0.0.2"]),
        ("both.test", &["127.0.0.2 127.0.0.1"]),
        ("mapped.test", &["::ffff:127.0.0.1"]),
    ]);
    // The server listens on 127.0.0.1, which is the forbidden one here.
    let client = guarded(networks(&["127.0.0.2/32"]), names.clone());
    let url = |name: &str| format!("http://{name}:{port}/");
    let first = call(&client, &url("rebind.test")).await;
    assert!(matches!(first, Err(Fault::Connect { .. })), "nobody listens there: {first:?}");
    // Answers serve for a second, so the next question comes later than that.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(2)).await;
    tokio::time::resume();
    assert_refused(&client, &url("rebind.test")).await;
    assert_refused(&client, &url("rebind.test")).await;
    for name in ["back.test", "both.test", "mapped.test"] {
        assert_refused(&client, &url(name)).await;
    }
    assert_eq!(server.connections(), 0);
    let asked = names.questions().iter().filter(|name| *name == "rebind.test").count();
    assert!(asked >= 2, "the second answer was asked for");
}

#[tokio::test]
async fn what_was_looked_up_once_is_what_is_connected() {
    let server = service().await;
    // A second look-up for the same connection would get the metadata service's address.
    let names = Names::new(&[("once.test", &[ALLOWED, "169.254.169.254"])]);
    let client = guarded(networks(&["127.0.0.1/32"]), names.clone());
    let url = format!("http://once.test:{}/", server.address.port());
    assert_eq!(call(&client, &url).await.unwrap().body, "reached");
    assert_eq!(names.questions(), ["once.test"]);
}

#[tokio::test]
async fn addresses_in_every_spelling_are_refused() {
    let server = service().await;
    let port = server.address.port();
    let client = guarded(Egress::default(), Names::new(&[]));
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.1.",
        "0177.0.0.1",
        "017700000001",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0x7F.0x0.0x0.0x1",
        "127.0.0.0x1",
        "0",
        "0.0.0.0",
        "0x0",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[::ffff:0.0.0.0]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "10.0.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "255.255.255.255",
        "%31%32%37.0.0.1",
        "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
        "127\u{3002}0\u{3002}0\u{3002}1",
    ] {
        assert_refused(&client, &format!("http://{host}:{port}/")).await;
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn local_names_are_judged_by_their_addresses() {
    let server = service().await;
    let port = server.address.port();
    let local: [(&str, &[&str]); 8] = [
        ("localhost", &["127.0.0.1"]),
        ("localhost.", &["127.0.0.1"]),
        ("a.localhost", &["::1 127.0.0.1"]),
        ("localhost.localdomain", &["127.0.0.1"]),
        ("ip6-localhost", &["::1"]),
        ("127.0.0.1.nip.test", &["127.0.0.1"]),
        ("zero.test", &["0.0.0.0"]),
        ("metadata.google.internal", &["169.254.169.254"]),
    ];
    let names = Names::new(&local);
    let client = guarded(Egress::default(), names.clone());
    for (name, _) in local {
        assert_refused(&client, &format!("http://{name}:{port}/")).await;
        assert_refused(&client, &format!("http://{}:{port}/", name.to_uppercase())).await;
    }
    // A name on the list may be private, but neither local nor special.
    let named = Egress {
        names: local.map(|(name, _)| name.trim_end_matches('.').to_owned()).into(),
        ..Egress::default()
    };
    let client = guarded(named, names);
    for (name, _) in local {
        assert_refused(&client, &format!("http://{name}:{port}/")).await;
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn user_info_does_not_disguise_a_host() {
    let server = service().await;
    let port = server.address.port();
    let client = guarded(networks(&["127.0.0.1/32"]), Names::new(&[("good.test", &[ALLOWED])]));
    for url in [
        format!("http://good.test@10.0.0.1:{port}/"),
        format!("http://good.test:80@127.0.0.1:{port}/"),
        format!("http://10.0.0.1\\@good.test:{port}/"),
        format!("http://good.test:{port}#@10.0.0.1/"),
        format!("http://good.test%00.evil.test:{port}/"),
        format!("http://good.test\u{0}.evil.test:{port}/"),
        format!("http://good.test\t:{port}/"),
    ] {
        assert_refused(&client, &url).await;
    }
    assert_eq!(server.connections(), 0);
    assert_eq!(call(&client, &format!("http://good.test:{port}/@10.0.0.1")).await.unwrap().body, "reached");
}

#[tokio::test]
async fn a_network_on_the_list_opens_itself_under_any_name() {
    let server = service().await;
    let port = server.address.port();
    let names = Names::new(&[
        ("a.test", &["127.0.0.1"]),
        ("a.test.", &["127.0.0.1"]),
        ("mapped.test", &["::ffff:127.0.0.1"]),
        ("next.test", &["127.0.0.2"]),
    ]);
    let client = guarded(networks(&["127.0.0.1/32"]), names);
    for host in ["127.0.0.1", "a.test", "A.TEST", "a.test.", "mapped.test", "[::ffff:127.0.0.1]"] {
        let answer = call(&client, &format!("http://{host}:{port}/")).await.unwrap();
        assert_eq!(answer.body, "reached", "{host}");
    }
    for host in ["127.0.0.2", "next.test", "[::1]"] {
        assert_refused(&client, &format!("http://{host}:{port}/")).await;
    }
}

#[tokio::test]
async fn a_redirect_to_a_forbidden_address_is_an_answer_and_no_call() {
    let forbidden = service().await;
    let location = format!("location: http://127.0.0.1:{}/\r\n", forbidden.address.port());
    for status in ["301 X", "302 X", "303 X", "307 X", "308 X"] {
        let server = Server::answering(answer(status, &location, "")).await;
        let client = guarded(networks(&["127.0.0.1/32"]), Names::new(&[]));
        let answer = call(&client, &format!("http://127.0.0.1:{}/", server.address.port())).await.unwrap();
        assert_eq!(answer.status.to_string(), status[..3]);
    }
    assert_eq!(forbidden.connections(), 0);
}
