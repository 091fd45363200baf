//! The outbound guard where nothing can hide: in a network of its own, with every forbidden address within reach, the
//! kernel's own counters say that nothing was sent.

use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::get;
use crate::support::job::answer;
use crate::support::names::Names;
use outbound::{Client, Egress, Fault, ServiceResponse, Settings, Url};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

/// Set in the process that runs in the network of its own.
const INSIDE: &str = "SORTIE_TEST_INSIDE_NAMESPACE";
const TEST: &str = "namespace::nothing_is_sent_to_forbidden_addresses";

/// Given to the loopback device of the new network, so that a packet to any of them would arrive.
const FORBIDDEN: [&str; 7] =
    ["10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "192.0.2.1", "198.18.0.1"];
const FORBIDDEN_V6: [&str; 2] = ["fd00:ec2::254", "2001:db8::1"];
const ALLOWED: &str = "10.7.0.1";

#[test]
fn nothing_is_sent_to_forbidden_addresses() {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(inside());
    }
    let possible = Command::new("unshare").args(["-n", "ip", "link", "set", "lo", "up"]).output();
    match possible {
        Ok(Output { status, .. }) if status.success() => {}
        Ok(Output { stderr, .. }) => {
            println!("skipped: no network of its own here: {}", String::from_utf8_lossy(&stderr).trim());
            return;
        }
        Err(error) => {
            println!("skipped: unshare cannot be run here: {error}");
            return;
        }
    }
    let again = Command::new("unshare")
        .arg("-n")
        .arg(std::env::current_exe().unwrap())
        .args([TEST, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&again.stdout), String::from_utf8_lossy(&again.stderr));
    println!("{stdout}{stderr}");
    assert!(again.status.success() && stdout.contains("1 passed"), "the test failed inside");
}

fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&done.stderr));
}

async fn inside() {
    ip("link set lo up");
    for address in FORBIDDEN.iter().chain([&ALLOWED]) {
        ip(&format!("addr add {address}/32 dev lo"));
    }
    // Machines without IPv6 lack a way to reach these; the guard must refuse them there just as well.
    let has_v6 = std::path::Path::new("/proc/self/net/if_inet6").exists();
    for address in FORBIDDEN_V6.iter().filter(|_| has_v6) {
        ip(&format!("-6 addr add {address}/128 dev lo nodad"));
    }
    let (port, accepted) = listen(has_v6).await;

    // The counters move when something is sent, and the listener hears it: otherwise silence would prove nothing.
    let before = sent();
    drop(tokio::net::TcpStream::connect(("10.0.0.1", port)).await.unwrap());
    assert!(sent().packets > before.packets && sent().connects > before.connects);
    settle().await;

    let names = Names::new(&[
        ("private.test", &["10.0.0.1"]),
        ("metadata.test", &["169.254.169.254"]),
        ("mapped.test", &["::ffff:192.168.1.1"]),
        ("both.test", &["10.7.0.1 10.0.0.1"]),
        ("zero.test", &["0.0.0.0"]),
        ("localhost", &["127.0.0.1 ::1"]),
        ("rebind.test", &["10.7.0.1", "169.254.169.254"]),
        ("allowed.test", &["10.7.0.1"]),
    ]);
    let networks = vec!["10.7.0.1/32".parse().unwrap()];
    let egress = Egress { networks, names: vec!["metadata.test".to_owned()], ..Egress::default() };
    let client = Client::new(Settings { egress, resolver: names, ..Settings::default() });

    let (quiet, heard) = (sent(), accepted.load(Ordering::SeqCst));
    let named = ["private.test", "metadata.test", "mapped.test", "both.test", "zero.test", "localhost"];
    let local = ["127.0.0.1", "127.1.2.3", "0.0.0.0"].into_iter();
    let v6 = FORBIDDEN_V6.into_iter().chain(["::1", "::", "::ffff:10.0.0.1", "fe80::1"]);
    let hosts = FORBIDDEN.into_iter().chain(local).chain(named).map(str::to_owned);
    let hosts: Vec<String> = hosts.chain(v6.map(|address| format!("[{address}]"))).collect();
    for host in &hosts {
        for scheme in ["http", "https"] {
            let result = call(&client, &format!("{scheme}://{host}:{port}/")).await;
            assert!(matches!(result, Err(Fault::Refused { .. })), "{scheme}://{host}: {result:?}");
        }
    }
    assert_eq!(sent(), quiet, "nothing was sent");
    assert_eq!(accepted.load(Ordering::SeqCst), heard, "nothing was heard");

    let answer = call(&client, &format!("http://allowed.test:{port}/")).await.unwrap();
    assert_eq!(answer.body, "reached");
    // The second question for a name, as https asks it, gets another answer than the first.
    let answer = call(&client, &format!("http://rebind.test:{port}/")).await.unwrap();
    assert_eq!(answer.body, "reached");
    let rebound = call(&client, &format!("https://rebind.test:{port}/")).await;
    assert!(matches!(rebound, Err(Fault::Refused { .. })), "{rebound:?}");
    assert_eq!(sent().connects, quiet.connects + 2);
    println!("{} forbidden hosts, 0 packets; the allowed one was reached", hosts.len());
}

async fn call(client: &Client, url: &str) -> Result<ServiceResponse, Fault> {
    client.send(get(Url::parse(url)?)).await
}

/// Listens on every address of the network, and counts who comes.
async fn listen(has_v6: bool) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(if has_v6 { "[::]:0" } else { "0.0.0.0:0" }).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = Arc::new(AtomicUsize::new(0));
    let counted = accepted.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                if crate::support::read_request(&mut stream).await.is_some() {
                    stream.write_all(answer("200 OK", "", "reached").as_bytes()).await.unwrap();
                }
            });
        }
    });
    (port, accepted)
}

/// What this network has sent so far, by the kernel's count.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sent {
    /// On the loopback device, the only one there is.
    packets: u64,
    connects: u64,
}

fn sent() -> Sent {
    let devices = std::fs::read_to_string("/proc/self/net/dev").unwrap();
    let devices: Vec<&str> = devices.lines().skip(2).collect();
    assert!(devices.len() == 1 || devices.iter().all(is_silent), "{devices:?}");
    let lo = devices.iter().find_map(|line| line.trim().strip_prefix("lo:")).unwrap();
    let packets = lo.split_whitespace().nth(9).unwrap().parse().unwrap();
    let snmp = std::fs::read_to_string("/proc/self/net/snmp").unwrap();
    let mut tcp = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (tcp.next().unwrap(), tcp.next().unwrap());
    let at = names.split(' ').position(|name| name == "ActiveOpens").unwrap();
    Sent { packets, connects: values.split(' ').nth(at).unwrap().parse().unwrap() }
}

/// Some kernels give every network idle tunnel devices; they must have sent nothing.
fn is_silent(line: &&str) -> bool {
    line.trim().starts_with("lo:") || line.split_whitespace().nth(10).is_some_and(|packets| packets == "0")
}

/// Waits until the last connection has been taken down and its packets are counted.
async fn settle() {
    loop {
        let states = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let states_v6 = std::fs::read_to_string("/proc/self/net/tcp6").unwrap_or_default();
        // 0A is a listener, 06 a closed connection that only waits for its time to pass.
        let busy = states.lines().chain(states_v6.lines()).filter_map(|line| line.split_whitespace().nth(3));
        if busy.filter(|state| !matches!(*state, "st" | "0A" | "06")).count() == 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
}
