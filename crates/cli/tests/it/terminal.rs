//! The binary on a terminal: widths, colours, `--watch` and `top` as a person sees them, and the same in a pipe.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::process::{Process, check, command};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program on a terminal of its own; killed if a test fails before it ends.
struct Seen {
    child: Child,
    master: File,
    slave: File,
    text: Arc<Mutex<String>>,
}

impl Seen {
    fn start(columns: u16, rows: u16, variables: &[(&str, &str)], arguments: &[&str]) -> Seen {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("it is ours");
        let name = ptsname(&master, Vec::new()).expect("it has a name").into_string().expect("in ASCII");
        let slave = File::options().read(true).write(true).open(name).expect("its other end opens");
        let end = || Stdio::from(slave.try_clone().expect("it can be shared"));
        tcsetwinsize(&slave, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
            .expect("it takes a size");
        let mut program = command(arguments);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            program.env_remove(name);
        }
        program.env("TERM", "xterm").envs(variables.iter().copied());
        let child = program.stdin(end()).stdout(end()).stderr(end()).spawn().expect("the binary runs");
        let master = File::from(master);
        let text = Arc::new(Mutex::new(String::new()));
        let (mut reader, shared) = (master.try_clone().expect("it can be shared"), text.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            // It ends when the last one has closed the other end.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                shared
                    .lock()
                    .expect("no panic under this lock")
                    .push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Seen { child, master, slave, text }
    }

    fn text(&self) -> String {
        self.text.lock().expect("no panic under this lock").clone()
    }

    #[track_caller]
    fn wait_for(&self, what: &str, seen: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        while !seen(&self.text()) {
            assert!(begun.elapsed() < PATIENCE, "no {what} in {:?}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it still runs");
    }

    /// Waits for its end; gives its exit code and all that was seen.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("it ends").code();
        let marker = "\u{1}end\u{1}";
        (&self.slave).write_all(marker.as_bytes()).expect("the terminal is open");
        self.wait_for("end", |text| text.contains(marker));
        (code, self.text().replace(marker, ""))
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.slave).expect("it is a terminal").local_modes.contains(LocalModes::ECHO)
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        // It has ended already, unless the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is left to see when colours and other sequences are taken away.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c == '\u{1b}' {
            let _ = characters.by_ref().skip(1).find(char::is_ascii_alphabetic);
        } else {
            out.push(c);
        }
    }
    out
}

fn widest(text: &str) -> usize {
    // Each picture of `top` begins in the corner, without an end of line before it.
    let text = plain(&text.replace("\u{1b}[H", "\n"));
    text.lines().map(|line| line.trim_matches('\r').chars().count()).max().unwrap_or(0)
}

fn on_terminal(columns: u16, variables: &[(&str, &str)], line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let (code, text) = Seen::start(columns, 50, variables, &words).end();
    assert_eq!(code, Some(0), "{text}");
    text
}

#[test]
fn tables_fit_the_terminal_and_are_whole_in_a_pipe() {
    let dev = Process::dev();
    let url = &dev.url;
    let id = "a-delivery-with-quite-a-long-id-1";
    dev.deliver(id);
    check(url, &format!("run wait {id} --timeout 1m"), 0, &["completed"]);
    check(url, "queue create orders", 0, &[]);
    check(url, "job collection create ops", 0, &[]);
    check(url, "job create ops/tidy-up --disabled --uri http://127.0.0.1:1/ --every 5m", 0, &[]);
    let lists = [
        "run list",
        "workflow list",
        "service list",
        "partition list",
        "job list",
        "queue list",
        "job collection list",
        "topic list",
        "parked",
    ];
    for columns in [30, 60, 80, 200] {
        for list in lists {
            let text = on_terminal(columns, &[], &format!("{list} --url {url}"));
            let exempt = list == "parked" || text.contains("No topics");
            assert!(exempt || widest(&text) <= columns.into(), "{list} at {columns}: {}", plain(&text));
        }
    }
    let narrow = plain(&on_terminal(40, &[], &format!("run list --url {url}")));
    assert!(narrow.contains("completed") && narrow.contains('…'), "{narrow}");
    let wide = plain(&on_terminal(200, &[], &format!("run list --url {url}")));
    assert!(wide.contains(id) && wide.contains("drone-delivery"), "{wide}");
    let piped = check(url, "workflow list", 0, &["account package transport drone delivery"]);
    assert!(!piped.contains('…'), "{piped}");
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let dev = Process::dev();
    let url = &dev.url;
    dev.deliver("delivery-1");
    let line = format!("run list --url {url}");
    assert!(on_terminal(80, &[], &line).contains("\u{1b}["));
    assert!(!on_terminal(80, &[("NO_COLOR", "1")], &line).contains("\u{1b}["));
    assert!(!on_terminal(80, &[], &format!("{line} --color never")).contains("\u{1b}["));
    let piped = |variable: Option<&str>, more: &[&str]| {
        let mut program = command(&["run", "list", "--url", url]);
        program.args(more).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        program.envs(variable.map(|name| (name, "1")));
        String::from_utf8_lossy(&program.output().unwrap().stdout).contains("\u{1b}[")
    };
    assert!(!piped(None, &[]));
    assert!(piped(Some("CLICOLOR_FORCE"), &[]));
    assert!(piped(None, &["--color", "always"]));
    assert!(!piped(Some("CLICOLOR_FORCE"), &["--color=never"]));
}

#[test]
fn watching_redraws_in_place_and_ends_well() {
    let dev = Process::dev();
    let seen = Seen::start(60, 20, &[], &["run", "list", "--watch", "0.2", "--url", &dev.url]);
    seen.wait_for("first picture", |text| text.contains("No runs."));
    dev.deliver("delivery-1");
    seen.wait_for("second picture", |text| text.contains("delivery-1"));
    seen.signal(Signal::INT);
    let (code, text) = seen.end();
    assert_eq!(code, Some(0), "{text}");
    // The heading and one line were there: the second picture begins two lines up.
    assert!(text.contains("\u{1b}[2A"), "{text:?}");
    assert!(!text.contains("\u{1b}[2J"), "{text:?}");
    assert!(widest(&text) <= 60, "{text}");
}

#[test]
fn watching_in_a_pipe_prints_what_changes() {
    let dev = Process::dev();
    let mut watching = Process::start(&["run", "list", "--json", "--watch=0.1", "--url", &dev.url]);
    assert_eq!(watching.line(), "{\"items\":[]}\n");
    dev.deliver("delivery-1");
    // Had it printed again what did not change, there would be a line without it.
    let line = watching.line();
    assert!(line.contains("\"id\":\"delivery-1\""), "{line}");
    assert_eq!(watching.end_by(Signal::INT), Some(0));
    let text = check(&dev.url, "run show delivry-1 --watch", 1, &["did you mean 'delivery-1'?"]);
    assert!(!text.contains("every"), "{text}");
}

/// Answers like a server that has this overview and nothing else, until the test ends.
fn recorded() -> String {
    let overview = include_str!("../../src/top/page/overview.json").replace('\n', "");
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("somebody connects");
            let mut request = [0; 4096];
            let count = stream.read(&mut request).unwrap_or(0);
            let asked = String::from_utf8_lossy(&request[..count]).into_owned();
            let body = if asked.starts_with("GET /v1/overview ") { &overview } else { "{\"items\":[]}" };
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            // A client that has gone needs no answer.
            let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
        }
    });
    url
}

#[test]
fn top_is_live_on_a_terminal_and_gives_it_back() {
    let url = recorded();
    let seen = Seen::start(70, 30, &[], &["top", "--every", "0.2", "--url", &url]);
    seen.wait_for("page", |text| text.contains("1240/s") && text.contains("5120 unfinished"));
    seen.wait_for("quiet keyboard", |_| !seen.echoes());
    (&seen.master).write_all(b"p").unwrap();
    seen.wait_for("pause", |text| text.contains("paused; p resumes"));
    (&seen.master).write_all(b"\t").unwrap();
    let front = |text: &str| {
        let last = text.rsplit("\u{1b}[H").next().unwrap_or_default();
        let places = ["Parked", "Services"].map(|title| last.find(title));
        matches!(places, [Some(first), Some(second)] if first < second)
    };
    seen.wait_for("other panel", front);
    (&seen.master).write_all(b"q").unwrap();
    seen.wait_for("first screen", |text| text.ends_with("\u{1b}[?25h\u{1b}[?1049l"));
    assert!(seen.echoes());
    let (code, text) = seen.end();
    assert!(code == Some(0) && widest(&text) <= 70, "{text}");
}

#[test]
fn top_gives_the_terminal_back_at_a_signal_and_follows_its_size() {
    let url = recorded();
    for signal in [Signal::INT, Signal::TERM] {
        let seen = Seen::start(120, 30, &[], &["top", "--every", "3600", "--url", &url]);
        seen.wait_for("page", |text| text.contains("Services"));
        let size = Winsize { ws_row: 12, ws_col: 40, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&seen.slave, size).unwrap();
        seen.signal(Signal::WINCH);
        let pictures = |text: &str| text.matches("\u{1b}[H").count();
        seen.wait_for("new page", |text| pictures(text) > 1);
        seen.signal(signal);
        seen.wait_for("first screen", |text| text.ends_with("\u{1b}[?1049l"));
        assert!(seen.echoes());
        let (code, text) = seen.end();
        let last = text.rsplit("\u{1b}[H").next().unwrap_or_default();
        assert!(code == Some(0) && widest(last) <= 40 && last.matches("\r\n").count() == 11, "{last:?}");
    }
}

#[test]
fn top_is_printed_once_where_there_is_no_terminal() {
    let url = recorded();
    let text =
        check(&url, "top", 0, &["1240/s", "drained in 3m 05s", "ops/report", "half open", "east is active"]);
    assert!(!text.contains('\u{1b}'), "{text:?}");
    check(&url, "top --json", 0, &["\"drain_seconds\":185"]);
}
