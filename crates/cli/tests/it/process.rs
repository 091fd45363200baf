//! The binary as a process: servers that end with their test, and clients of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

/// A process of ours that serves; killed if a test fails before it is stopped.
pub struct Process {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(arguments: &[&str]) -> Process {
        let mut child = command(arguments).stdout(Stdio::piped()).spawn().expect("the binary runs");
        let out = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Process { child, out }
    }

    /// All lines up to the one that begins with `last`.
    pub fn read_to(&mut self, last: &str) -> String {
        let mut text = String::new();
        loop {
            let from = text.len();
            let count = self.out.read_line(&mut text).expect("stdout can be read");
            assert!(count > 0, "ended before it said {last:?}: {text}");
            if text[from..].starts_with(last) {
                return text;
            }
        }
    }

    /// Asks it to end; gives its exit code and what it said since.
    pub fn stop(mut self) -> (Option<i32>, String) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).expect("it still runs");
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("stdout can be read");
        (self.child.wait().expect("it ends").code(), rest)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already, unless the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary with none of our variables.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sortie"));
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("SORTIE_")) {
        command.env_remove(name);
    }
    command.args(arguments);
    command
}

/// Runs the client against a server; gives its exit code and both of its streams as one text.
pub fn client(url: &str, line: &str, stdin: &str) -> (i32, String) {
    let mut words: Vec<&str> = line.split(' ').collect();
    words.extend(["--url", url]);
    let mut child = command(&words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // A command that reads no request may have ended before it is written.
    let _ = child.stdin.take().expect("stdin is piped").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("the binary ends");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code().expect("it was not killed"), text.into_owned())
}

/// Runs the client; its exit code is this one, and it says all of that.
#[track_caller]
pub fn check(url: &str, line: &str, code: i32, said: &[&str]) -> String {
    let (actual, text) = client(url, line, "");
    assert_eq!(actual, code, "sortie {line}: {text}");
    for said in said {
        assert!(text.contains(said), "sortie {line}: no {said:?} in {text}");
    }
    text
}

/// The first word after a label.
pub fn word_after<'a>(text: &'a str, label: &str) -> &'a str {
    let rest = text.split_once(label).map(|(_, rest)| rest).expect("the label is there");
    rest.split_whitespace().next().expect("a word follows it")
}

impl Process {
    /// `sortie dev` on free ports.
    pub fn dev() -> Dev {
        let mut process = Process::start(&["dev", "--port", "0", "--drone-port-base", "0"]);
        let welcome = process.read_to("Press Ctrl-C to stop.");
        let url = word_after(&welcome, "  API ").trim_end_matches("/v1").to_owned();
        Dev { _process: process, welcome, url }
    }

    /// The next line; empty at the end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("stdout can be read");
        line
    }

    /// The next line, if it comes within this time.
    pub fn line_within(&mut self, time: Duration) -> Option<String> {
        if self.out.buffer().is_empty() {
            let time = Timespec::try_from(time).expect("it is short");
            let mut wanted = [PollFd::new(self.out.get_ref(), PollFlags::IN)];
            if poll(&mut wanted, Some(&time)).expect("a pipe can be waited for") == 0 {
                return None;
            }
        }
        Some(self.line())
    }

    /// Waits for its end; gives its exit code.
    pub fn ended(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }

    /// Sends it a signal and waits for its end; gives its exit code.
    pub fn end_by(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).expect("it still runs");
        self.child.wait().expect("it ends").code()
    }
}

/// A server with the example services.
pub struct Dev {
    _process: Process,
    pub welcome: String,
    pub url: String,
}

impl Dev {
    /// The request of the welcome under another id.
    pub fn request(&self, id: &str) -> String {
        let body = self.welcome.split('\'').nth(3).expect("curl has a body");
        body.replace("delivery-1", id)
    }

    /// Starts a delivery.
    pub fn deliver(&self, id: &str) {
        let (code, text) = client(&self.url, "run start drone-delivery -", &self.request(id));
        assert_eq!(code, 0, "{text}");
    }

    /// Sets the switches of an example service.
    pub fn switch(&self, service: &str, switches: &str) {
        let label = format!("{service} ");
        let url = self
            .welcome
            .lines()
            .filter(|line| line.contains(&label))
            .find_map(|line| line.split("http://").nth(1));
        let address = url.expect("the welcome names the service").trim();
        let answer = http(address, "PUT", "/switches", "application/json", switches);
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }
}

/// Sends a request and gives the whole answer.
pub fn http(address: &str, method: &str, path: &str, content_type: &str, body: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).expect("somebody listens there");
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: {content_type}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("the request is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer comes");
    answer
}
