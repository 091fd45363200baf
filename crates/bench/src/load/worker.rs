//! One thread of the load generator: its connections, and what is due on them.
//!
//! It waits on all of its connections at once and does nothing else: no task per connection, no timer per
//! request. The generator shares the machine with what it measures, so what it costs is taken from the figures.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::answer::{self, ParsedResponse, RawResponse};
use super::due::Dues;
use super::tally::{Measured, Times};
use super::template::Template;
use super::{Answers, Target};

/// In a closed loop a refused connection waits this long, so that refusals do not become the load.
const REFUSED_PAUSE: Duration = Duration::from_millis(20);
/// Requests that are due within this time go out together: a wake-up for each would be the larger load.
const WAKE_UPS_APART: Duration = Duration::from_micros(100);
const READ_BYTES: usize = 256 << 10;
const EVENTS_MAX: usize = 512;
/// Marks the event of the timer; connections have their number.
const TIMER: u64 = u64::MAX;

/// How requests become due.
pub enum Due {
    /// When a connection is free.
    WhenFree,
    /// At these times, and free connections take them.
    At(std::iter::StepBy<std::iter::Skip<Dues>>),
}

/// What one thread has to do.
pub struct Work {
    pub target: Target,
    pub template: Template,
    pub connections: Vec<TcpStream>,
    pub due: Due,
    /// The number of the first POST, and from one to the next.
    pub first: u64,
    pub step: u64,
    pub begin: Instant,
    pub end: Duration,
    pub late_answers: Duration,
}

/// Does the work; the counts go into `measured`.
pub fn work(work: Work, measured: Measured) -> anyhow::Result<Measured> {
    std::thread::sleep(work.begin.saturating_duration_since(Instant::now()));
    let mut worker = Worker::new(work, measured).context("preparing to wait for answers")?;
    worker.run()?;
    Ok(worker.measured)
}

struct Worker {
    work: Work,
    measured: Measured,
    epoll: OwnedFd,
    timer: OwnedFd,
    /// When the timer wakes us.
    armed: Option<Duration>,
    connections: Vec<Connection>,
    /// The one that has been idle longest goes first: a server closes connections that are idle for too long.
    free: VecDeque<usize>,
    /// Refused connections of a closed loop, by the time at which they continue.
    resting: VecDeque<(Duration, usize)>,
    /// The next due time that is not assigned yet.
    next_due: Option<Duration>,
    next_number: u64,
    buffer: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    /// When the request in flight was due and sent.
    busy: Option<(Duration, Duration)>,
    /// What the socket did not take yet.
    unwritten: Vec<u8>,
    /// An answer that has not come as a whole.
    partial: Vec<u8>,
}

impl Worker {
    fn new(mut work: Work, measured: Measured) -> std::io::Result<Worker> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        let mut connections = Vec::new();
        for stream in std::mem::take(&mut work.connections) {
            watch(&epoll, &stream, connections.len())?;
            connections.push(Connection::new(stream));
        }
        let next_due = match &mut work.due {
            Due::WhenFree => None,
            Due::At(dues) => dues.next(),
        };
        Ok(Worker {
            measured,
            epoll,
            timer,
            armed: None,
            free: (0..connections.len()).collect(),
            connections,
            resting: VecDeque::new(),
            next_due,
            next_number: work.first,
            buffer: vec![0; READ_BYTES],
            work,
        })
    }

    fn run(&mut self) -> anyhow::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            let now = self.now();
            self.wake_rested(now);
            self.send_due(now)?;
            if now >= self.work.end {
                self.leave_out_unsent();
                let busy = self.connections.len() - self.free.len() - self.resting.len();
                if busy == 0 || now >= self.work.end + self.work.late_answers {
                    self.give_up_unanswered(now);
                    return Ok(());
                }
            }
            self.arm(now)?;
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error).context("waiting for answers"),
            }
            for event in &events {
                let number = event.data.u64();
                if number != TIMER {
                    self.ready(number as usize)?;
                }
            }
        }
    }

    fn now(&self) -> Duration {
        self.work.begin.elapsed()
    }

    fn wake_rested(&mut self, now: Duration) {
        while let Some((_, number)) = self.resting.pop_front_if(|(until, _)| *until <= now) {
            self.free.push_back(number);
        }
    }

    /// Sends what is due, as long as connections are free.
    fn send_due(&mut self, now: Duration) -> anyhow::Result<()> {
        if now >= self.work.end {
            return Ok(());
        }
        while let Some(number) = self.free.pop_front() {
            let due = match &mut self.work.due {
                Due::WhenFree => now,
                Due::At(dues) => match self.next_due {
                    Some(due) if due <= now => {
                        self.next_due = dues.next();
                        due
                    }
                    _ => {
                        self.free.push_front(number);
                        return Ok(());
                    }
                },
            };
            let bytes = self.work.template.numbered(self.next_number);
            self.next_number += self.work.step;
            let connection = &mut self.connections[number];
            connection.busy = Some((due, now));
            if let Err(error) = connection.send(bytes) {
                self.lose(number, || format!("sending failed: {error}"))?;
            }
        }
        Ok(())
    }

    /// Goes on with a connection on which something has happened.
    fn ready(&mut self, number: usize) -> anyhow::Result<()> {
        let connection = &mut self.connections[number];
        if let Err(error) = connection.flush() {
            return self.lose(number, || format!("sending failed: {error}"));
        }
        loop {
            let count = match self.connections[number].stream.read(&mut self.buffer) {
                Ok(0) => {
                    return self.lose(number, || "the connection was closed without an answer".to_owned());
                }
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.lose(number, || format!("receiving failed: {error}")),
            };
            self.received(number, count)?;
            // Less than there was room for: there is no more, and what comes later is an event of its own.
            if count < self.buffer.len() {
                return Ok(());
            }
        }
    }

    fn received(&mut self, number: usize, count: usize) -> anyhow::Result<()> {
        let connection = &mut self.connections[number];
        let bytes = if connection.partial.is_empty() {
            &self.buffer[..count]
        } else {
            connection.partial.extend_from_slice(&self.buffer[..count]);
            &connection.partial[..]
        };
        let reading = answer::read(bytes);
        match reading {
            ParsedResponse::Part => {
                if connection.partial.is_empty() {
                    connection.partial.extend_from_slice(&self.buffer[..count]);
                }
                Ok(())
            }
            ParsedResponse::Broken(why) => self.lose(number, || why.to_owned()),
            ParsedResponse::Whole(answer) if answer.body.end < bytes.len() || connection.busy.is_none() => {
                self.lose(number, || "received unexpected bytes".to_owned())
            }
            ParsedResponse::Whole(answer) => {
                let requests = u64::from(self.work.template.requests());
                let body = &bytes[answer.body.clone()];
                let accepted = accepted(&answer, body, requests, self.work.target.answers);
                self.answered(number, &answer, requests, accepted)
            }
        }
    }

    fn answered(
        &mut self,
        number: usize,
        answer: &RawResponse,
        requests: u64,
        accepted: u64,
    ) -> anyhow::Result<()> {
        let now = self.now();
        let connection = &mut self.connections[number];
        connection.partial.clear();
        if let Some((due, sent)) = connection.busy.take() {
            self.measured.answered(answer, requests, accepted, Times { due, sent, now });
        }
        if answer.close {
            self.reopen(number)?;
        }
        if accepted < requests && matches!(self.work.due, Due::WhenFree) {
            self.resting.push_back((now + REFUSED_PAUSE, number));
        } else {
            self.free.push_back(number);
        }
        self.send_due(now)
    }

    /// Counts what was in flight on a broken connection, and opens it again.
    fn lose(&mut self, number: usize, why: impl FnOnce() -> String) -> anyhow::Result<()> {
        let now = self.now();
        if let Some((due, sent)) = self.connections[number].busy.take() {
            let requests = u64::from(self.work.template.requests());
            self.measured.broken(requests, Times { due, sent, now }, why);
            self.resting.push_back((now + REFUSED_PAUSE, number));
        }
        // Afterwards nothing is sent any more, and the target may be gone.
        if now < self.work.end { self.reopen(number) } else { Ok(()) }
    }

    fn reopen(&mut self, number: usize) -> anyhow::Result<()> {
        let stream = super::connect(self.work.target.address)?;
        watch(&self.epoll, &stream, number).context("waiting on a connection")?;
        self.connections[number] = Connection::new(stream);
        Ok(())
    }

    /// At the end: what is still due has found no connection.
    fn leave_out_unsent(&mut self) {
        let requests = u64::from(self.work.template.requests());
        while let (Some(due), Due::At(dues)) = (self.next_due, &mut self.work.due) {
            self.next_due = dues.next();
            self.measured.left_out(requests, due);
        }
    }

    fn give_up_unanswered(&mut self, now: Duration) {
        let requests = u64::from(self.work.template.requests());
        for connection in &mut self.connections {
            if let Some((due, sent)) = connection.busy.take() {
                let why = || "no answer came, long after the end".to_owned();
                self.measured.broken(requests, Times { due, sent, now }, why);
            }
        }
    }

    /// Sets the timer to what comes first: a request, a rested connection, or the end.
    fn arm(&mut self, now: Duration) -> anyhow::Result<()> {
        let end = if now < self.work.end { self.work.end } else { self.work.end + self.work.late_answers };
        let mut wake = end;
        if let Some(due) = self.next_due.filter(|_| !self.free.is_empty()) {
            wake = wake.min(due.max(now + WAKE_UPS_APART));
        }
        if let Some((until, _)) = self.resting.front() {
            wake = wake.min(*until);
        }
        if self.armed == Some(wake) && wake > now {
            return Ok(());
        }
        self.armed = Some(wake);
        let wait = wake.saturating_sub(now).max(Duration::from_nanos(1));
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let value = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: wait };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value).context("setting a timer")?;
        Ok(())
    }
}

impl Connection {
    fn new(stream: TcpStream) -> Connection {
        Connection { stream, busy: None, unwritten: Vec::new(), partial: Vec::new() }
    }

    /// Sends as much as the socket takes, and keeps the rest.
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let count = write(&mut self.stream, bytes)?;
        self.unwritten.extend_from_slice(&bytes[count..]);
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if !self.unwritten.is_empty() {
            let count = write(&mut self.stream, &self.unwritten)?;
            self.unwritten.drain(..count);
        }
        Ok(())
    }
}

/// Writes until all is written or the socket is full.
fn write(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match stream.write(&bytes[written..]) {
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

fn watch(epoll: &OwnedFd, stream: &TcpStream, number: usize) -> rustix::io::Result<()> {
    let data = EventData::new_u64(number as u64);
    epoll::add(epoll, stream, data, EventFlags::IN | EventFlags::OUT | EventFlags::ET)
}

/// How many requests an answer accepts.
fn accepted(answer: &RawResponse, body: &[u8], requests: u64, answers: Answers) -> u64 {
    match answers {
        _ if !(200..300).contains(&answer.status) => 0,
        Answers::Whole => requests,
        Answers::ByLine => {
            let text = std::str::from_utf8(body).unwrap_or_default();
            (text.matches("\"status\":2").count() as u64).min(requests)
        }
    }
}
