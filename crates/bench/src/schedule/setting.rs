//! How jobs were measured, and what else was: memory, loading, a restart.

use serde::Serialize;
use terminal::machine;

use super::super::figures::{Setting, count, thousands};

#[derive(Debug, Serialize)]
pub struct ScheduleSetting {
    pub jobs: u32,
    pub rate: u32,
    pub seconds: u32,
    /// Jobs that were due in these seconds.
    pub due: u32,
    pub lost: u64,
    pub repeated: u64,
    /// Calls that came before their time.
    pub early: u64,
    pub max_ms: f64,
    /// What the server says itself, as bounds of a histogram.
    pub server_p50_ms: Option<f64>,
    pub server_p99_ms: Option<f64>,
    pub server_max_ms: Option<f64>,
    pub load_seconds: f64,
    pub memory_empty_bytes: u64,
    pub memory_loaded_bytes: u64,
    pub memory_after_bytes: u64,
    pub memory_per_job_bytes: u64,
    /// From a kill to the first answer.
    pub restart_seconds: f64,
    pub memory_restarted_bytes: u64,
}

impl Setting for ScheduleSetting {
    const BENCH: &'static str = "schedule";

    fn describe(&self) -> String {
        let ScheduleSetting { seconds, lost, repeated, early, .. } = self;
        let (jobs, rate) = (count(self.jobs), count(self.rate));
        format!(
            "Schedule: {jobs} jobs, {rate} due each second for {seconds} s; {lost} lost, {repeated} twice, {early} early"
        )
    }

    fn further(&self) -> Vec<(&'static str, String)> {
        let ms = |bound: Option<f64>| bound.map_or("no bound".to_owned(), |bound| format!("{bound:.0} ms"));
        let [p50, p99, max] = [self.server_p50_ms, self.server_p99_ms, self.server_max_ms].map(ms);
        let [empty, loaded, after, restarted] = [
            self.memory_empty_bytes,
            self.memory_loaded_bytes,
            self.memory_after_bytes,
            self.memory_restarted_bytes,
        ]
        .map(machine::bytes);
        let ScheduleSetting { max_ms, load_seconds, restart_seconds, memory_per_job_bytes, .. } = self;
        let pace = thousands(f64::from(self.jobs) / load_seconds);
        vec![
            (
                "latest",
                format!(
                    "{max_ms:.2} ms at the target; the server began 50 % within {p50}, 99 % within {p99}, all within {max}"
                ),
            ),
            ("load", format!("{load_seconds:.1} s, {pace} jobs/s")),
            (
                "memory",
                format!(
                    "{empty} empty, {loaded} loaded ({memory_per_job_bytes} bytes a job), {after} after firing"
                ),
            ),
            ("restart", format!("{restart_seconds:.2} s after a kill, {restarted}")),
        ]
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::super::figures::tests::rendered;
    use super::*;

    #[test]
    fn jobs_on_time_have_further_figures() {
        let setting = ScheduleSetting {
            jobs: 1_000_000,
            rate: 10_000,
            seconds: 20,
            due: 200_000,
            lost: 0,
            repeated: 1,
            early: 0,
            max_ms: 61.25,
            server_p50_ms: Some(2.0),
            server_p99_ms: Some(32.0),
            server_max_ms: None,
            load_seconds: 50.0,
            memory_empty_bytes: 36 << 20,
            memory_loaded_bytes: 500 << 20,
            memory_after_bytes: 600 << 20,
            memory_per_job_bytes: 486,
            restart_seconds: 1.5,
            memory_restarted_bytes: 200 << 20,
        };
        expect![[r#"
            Schedule: 1,000,000 jobs, 10,000 due each second for 20 s; 0 lost, 1 twice, 0 early

                                THROUGHPUT      P50       P99     P99.9
              sortie     52,000 requests/s  1.00 ms  12.35 ms  20.00 ms
              bare loop  65,000 requests/s  1.00 ms  12.35 ms  20.00 ms

              latest   61.25 ms at the target; the server began 50 % within 2 ms, 99 % within 32 ms, all within no bound
              load     50.0 s, 20,000 jobs/s
              memory   36.0 MiB empty, 500.0 MiB loaded (486 bytes a job), 600.0 MiB after firing
              restart  1.50 s after a kill, 200.0 MiB
              ratio    0.80 of the bare loop
              sync     fdatasync on ext4, p50 310 µs, p99 900 µs
              machine  2 x Some CPU, 8.0 GiB, Linux 6.1
              build    sortie 1.2.3, commit 0123456789ab
        "#]].assert_eq(&rendered(setting));
    }
}
