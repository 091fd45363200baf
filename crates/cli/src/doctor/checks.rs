//! The checks of the doctor, one function each.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Finding, Severity};
use crate::client::{Call, Client};
use crate::machine::{self, MachineMemory, Mount, StorageKind, SyncLatency, bytes};
use crate::table::clean;

/// Faster than any disk: some layer below acknowledges syncs without writing.
const SYNC_SUSPICIOUS: Duration = Duration::from_micros(50);
/// At this latency each step of a run takes noticeably longer.
const SYNC_SLOW: Duration = Duration::from_millis(20);
const SPACE_BYTES_MIN: u64 = 2 << 30;
const MEMORY_BYTES_MIN: u64 = 512 << 20;
/// Thousands of client connections and some hundred for each service.
const FILES_MIN: u64 = 8192;
/// 2025-01-01 and 2100-01-01: a clock outside of this range was never set.
const CLOCK_SECONDS: std::ops::Range<u64> = 1_735_689_600..4_102_444_800;

/// All local checks, without a server.
pub fn machine(data: &Path) -> Vec<Finding> {
    let wall = SystemTime::now();
    let begun = Instant::now();
    let directory = existing(data);
    let mut findings =
        vec![where_data_is(data, &directory), file_system(&directory), sync(&directory), space(&directory)];
    findings.extend([memory(), files(), clock(wall, begun)]);
    findings
}

/// The data directory, or the nearest one above it that exists.
fn existing(data: &Path) -> PathBuf {
    let absolute = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    absolute.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

fn where_data_is(data: &Path, directory: &Path) -> Finding {
    let path = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    if path == directory {
        return found("data", Severity::Ok, path.display().to_string());
    }
    let text = format!("{} does not exist yet; checked {}", path.display(), directory.display());
    found("data", Severity::Note, text)
}

fn file_system(directory: &Path) -> Finding {
    let mount = match Mount::of(directory) {
        Ok(mount) => mount,
        Err(error) => return found("file system", Severity::Warning, format!("{error:#}")),
    };
    let Mount { point, file_system, device, options } = &mount;
    let text = format!("{file_system} on {device}, mounted at {} ({options})", point.display());
    let (level, why) = match mount.storage() {
        StorageKind::Disk if options.split(',').any(|option| option == "ro") => {
            (Severity::Warning, ": read-only, no request can be accepted")
        }
        StorageKind::Disk => (Severity::Ok, ""),
        StorageKind::Memory => (Severity::Warning, ": in memory, not on disk; a reboot loses everything"),
        StorageKind::Layers => {
            (Severity::Warning, ": a container layer; data is lost with the container, mount a volume")
        }
        StorageKind::Network => (
            Severity::Warning,
            ": not a local disk; sync guarantees depend on the remote side, and locks may not work",
        ),
    };
    found("file system", level, format!("{text}{why}"))
}

fn sync(directory: &Path) -> Finding {
    let latency = match SyncLatency::measure(directory) {
        Ok(latency) => latency,
        Err(error) => return found("sync", Severity::Warning, format!("{error:#}")),
    };
    let (level, why) = judge_sync(latency.p50);
    let micros = |time: Duration| format!("{} µs", time.as_micros());
    found("sync", level, format!("fdatasync p50 {}, p99 {}{why}", micros(latency.p50), micros(latency.p99)))
}

fn judge_sync(p50: Duration) -> (Severity, &'static str) {
    if p50 < SYNC_SUSPICIOUS {
        (Severity::Warning, ": implausibly fast; a cache may lose acknowledged writes")
    } else if p50 > SYNC_SLOW {
        (Severity::Warning, ": slow; every step of a run waits for it")
    } else {
        (Severity::Ok, "")
    }
}

fn space(directory: &Path) -> Finding {
    let space = match rustix::fs::statvfs(directory) {
        Ok(space) => space,
        Err(error) => return found("space", Severity::Warning, format!("cannot be read: {error}")),
    };
    let (free, total) = (space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize);
    let text = format!("{} free of {}", bytes(free), bytes(total));
    if free < SPACE_BYTES_MIN {
        return found("space", Severity::Warning, format!("{text}: less than {}", bytes(SPACE_BYTES_MIN)));
    }
    found("space", Severity::Ok, text)
}

fn memory() -> Finding {
    let Some(MachineMemory { total, available }) = MachineMemory::read() else {
        return found("memory", Severity::Note, "cannot be read on this system".to_owned());
    };
    let text = format!("{} free of {}", bytes(available), bytes(total));
    if available < MEMORY_BYTES_MIN {
        return found("memory", Severity::Warning, format!("{text}: less than {}", bytes(MEMORY_BYTES_MIN)));
    }
    found("memory", Severity::Ok, text)
}

fn files() -> Finding {
    let most = machine::files_max();
    if most < FILES_MIN {
        let text = format!("limit of {most} open files: less than {FILES_MIN}; raise it with ulimit -Hn");
        return found("files", Severity::Warning, text);
    }
    found("files", Severity::Ok, format!("limit of {most} open files"))
}

fn clock(wall: SystemTime, begun: Instant) -> Finding {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    if !CLOCK_SECONDS.contains(&seconds) {
        return found("clock", Severity::Warning, "shows an impossible year; set it".to_owned());
    }
    let passed = SystemTime::now().duration_since(wall).unwrap_or_default();
    let drift = passed.abs_diff(begun.elapsed());
    if drift > Duration::from_millis(500) {
        let text = format!("jumped by {} ms during the check; timers follow it", drift.as_millis());
        return found("clock", Severity::Warning, text);
    }
    found("clock", Severity::Ok, "set, and steady during the check".to_owned())
}

/// Whether a server responds and is ready.
pub async fn server(client: &mut Client) -> Finding {
    let url = client.url().to_owned();
    let answer = match client.try_send(Call::get("/readyz")).await {
        Ok(answer) => answer,
        Err(_) => return found("server", Severity::Note, format!("no response from {url}")),
    };
    let (level, text) = judge_server(serde_json::from_slice(&answer.body).unwrap_or_default());
    found("server", level, format!("{url} {}", clean(&text)))
}

/// The result of `/readyz`, which is ready even if the server cannot accept everything.
fn judge_server(said: Readiness) -> (Severity, String) {
    if !said.ready {
        let why = said.detail.unwrap_or_else(|| "no reason given".to_owned());
        return (Severity::Warning, format!("is not ready: {why}"));
    }
    if let [first, ..] = &said.stopped[..] {
        let (count, Stopped { partition, reason }) = (said.stopped.len(), first);
        return (Severity::Warning, format!("has {count} stopped partitions; {partition}: {reason}"));
    }
    if !said.disk_accepts {
        return (Severity::Warning, "rejects requests: the disk is nearly full".to_owned());
    }
    (Severity::Ok, "is ready".to_owned())
}

#[derive(Debug, Default, serde::Deserialize)]
struct Readiness {
    ready: bool,
    #[serde(default)]
    detail: Option<String>,
    #[serde(default)]
    disk_accepts: bool,
    #[serde(default)]
    stopped: Vec<Stopped>,
}

#[derive(Debug, serde::Deserialize)]
struct Stopped {
    partition: u32,
    reason: String,
}

fn found(what: &'static str, level: Severity, text: String) -> Finding {
    Finding { what, level, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_that_is_too_fast_or_slow_is_a_warning() {
        let level = |micros| judge_sync(Duration::from_micros(micros)).0;
        assert_eq!(
            [level(12), level(400), level(30_000)],
            [Severity::Warning, Severity::Ok, Severity::Warning]
        );
    }

    #[test]
    fn a_server_that_is_ready_may_still_lack_something() {
        let judge = |said: &str| judge_server(serde_json::from_str(said).unwrap());
        let (level, _) = judge(r#"{"ready":true,"disk_accepts":true,"stopped":[]}"#);
        assert_eq!(level, Severity::Ok);
        for (said, text) in [
            (r#"{"ready":true,"disk_accepts":false,"stopped":[]}"#, "nearly full"),
            (r#"{"ready":true,"disk_accepts":true,"stopped":[{"partition":7,"reason":"torn"}]}"#, "7: torn"),
            (
                r#"{"ready":false,"reason":"ending","detail":"it ends","disk_accepts":true,"stopped":[]}"#,
                "it ends",
            ),
        ] {
            let (level, found) = judge(said);
            assert!(level == Severity::Warning && found.contains(text), "{found}");
        }
    }

    #[test]
    fn a_directory_that_is_not_there_yet_is_judged_by_the_one_above() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(existing(&directory.path().join("a/b")), directory.path());
    }
}
