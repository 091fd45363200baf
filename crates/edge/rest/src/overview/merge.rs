//! One overview out of those of several instances.

use api_types::{LatencyView, OverviewView, PartitionCounts, RatesView, SeriesView, ServiceView};

use super::recorder::rounded;
use super::{FIRINGS_SHOWN, drain_seconds};

/// What adds up is added up. Of quantiles the longest counts: at least one instance is that slow, and what all of them
/// have together is not longer. `unheld` partitions are held by none.
pub(crate) fn overviews(mut parts: Vec<OverviewView>, unheld: u16) -> Option<OverviewView> {
    let mut all = parts.pop()?;
    for part in parts {
        add(&mut all, part);
    }
    all.firings.next.sort_by(|a, b| (a.at, &a.collection, &a.job).cmp(&(b.at, &b.collection, &b.job)));
    all.firings.next.dedup();
    all.firings.next.truncate(FIRINGS_SHOWN);
    let PartitionCounts { total, running, stopped, .. } = all.partitions;
    // One that changes its owner may have been counted twice.
    let running = running.min(total.saturating_sub(stopped + unheld));
    all.partitions = PartitionCounts { total, running, stopped, unheld };
    all.services = services(all.services);
    all.backlog.drain_seconds = drain_seconds(&all.series, &all.backlog, all.parked);
    Some(all)
}

fn add(all: &mut OverviewView, part: OverviewView) {
    all.at = all.at.max(part.at);
    all.rates = rates(&all.rates, &part.rates);
    all.latency = latency(&all.latency, &part.latency);
    all.backlog.unfinished += part.backlog.unfinished;
    all.backlog.waiting += part.backlog.waiting;
    all.backlog.live += part.backlog.live;
    all.parked += part.parked;
    all.firings.next.extend(part.firings.next);
    all.firings.late += part.firings.late;
    all.firings.lateness_p99_ms = longest(all.firings.lateness_p99_ms, part.firings.lateness_p99_ms);
    all.services.extend(part.services);
    all.partitions.running += part.partitions.running;
    all.partitions.stopped += part.partitions.stopped;
    all.region = all.region.take().or(part.region);
    series(&mut all.series, part.series);
}

fn rates(a: &RatesView, b: &RatesView) -> RatesView {
    RatesView {
        accepted: rounded(a.accepted + b.accepted),
        refused: rounded(a.refused + b.refused),
        ended: rounded(a.ended + b.ended),
        attempts: rounded(a.attempts + b.attempts),
    }
}

fn latency(a: &LatencyView, b: &LatencyView) -> LatencyView {
    LatencyView {
        accept_p50_ms: longest(a.accept_p50_ms, b.accept_p50_ms),
        accept_p99_ms: longest(a.accept_p99_ms, b.accept_p99_ms),
        run_p50_ms: longest(a.run_p50_ms, b.run_p50_ms),
        run_p99_ms: longest(a.run_p99_ms, b.run_p99_ms),
    }
}

fn longest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

/// Stretch by stretch, from the newest back: an instance that began later has fewer.
fn series(all: &mut SeriesView, part: SeriesView) {
    together(&mut all.accepted, part.accepted, |a, b| rounded(a + b));
    together(&mut all.ended, part.ended, |a, b| rounded(a + b));
    together(&mut all.run_p99_ms, part.run_p99_ms, longest);
    together(&mut all.unfinished, part.unfinished, |a, b| a + b);
}

fn together<T: Copy>(all: &mut Vec<T>, mut part: Vec<T>, add: impl Fn(T, T) -> T) {
    if part.len() > all.len() {
        std::mem::swap(all, &mut part);
    }
    for (value, other) in all.iter_mut().rev().zip(part.into_iter().rev()) {
        *value = add(*value, other);
    }
}

/// Services by their addresses, each once: calls add up, the longest quantile counts, and of breakers the one that lets
/// the least through.
pub(crate) fn services(mut all: Vec<ServiceView>) -> Vec<ServiceView> {
    all.sort_by(|a, b| a.service.cmp(&b.service));
    let mut merged: Vec<ServiceView> = Vec::new();
    for service in all {
        match merged.last_mut().filter(|last| last.service == service.service) {
            None => merged.push(service),
            Some(last) => {
                last.limit += service.limit;
                last.in_flight += service.in_flight;
                last.waiting += service.waiting;
                last.p50_ms = longest(last.p50_ms, service.p50_ms);
                last.p99_ms = longest(last.p99_ms, service.p99_ms);
                if severity(&service.breaker) > severity(&last.breaker) {
                    last.breaker = service.breaker;
                }
            }
        }
    }
    merged
}

fn severity(breaker: &str) -> usize {
    let order = ["closed", "held_closed", "half_open", "open", "held_open"];
    order.iter().position(|word| *word == breaker).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use api_types::{BacklogView, FiringView, FiringsView, Time};
    use types::Timestamp;

    use super::*;

    fn service(name: &str, in_flight: usize, breaker: &str, p99_ms: Option<f64>) -> ServiceView {
        let p50_ms = None;
        ServiceView {
            service: name.to_owned(),
            names: Vec::new(),
            limit: 10,
            in_flight,
            waiting: 1,
            breaker: breaker.to_owned(),
            p50_ms,
            p99_ms,
            by_hand: None,
        }
    }

    fn part(accepted: f64, unfinished: &[u64], firings: &[i64]) -> OverviewView {
        let at = |ms: &i64| FiringView {
            collection: "c".to_owned(),
            job: format!("j{ms}"),
            at: Time(Timestamp(*ms)),
        };
        OverviewView {
            at: Time(Timestamp(5)),
            rates: RatesView { accepted, ..RatesView::default() },
            latency: LatencyView { run_p99_ms: Some(accepted), ..LatencyView::default() },
            backlog: BacklogView { unfinished: 60, waiting: 50, live: 10, drain_seconds: None },
            parked: 1,
            firings: FiringsView { next: firings.iter().map(at).collect(), late: 1, lateness_p99_ms: None },
            services: vec![service("a", 2, "closed", Some(accepted))],
            partitions: PartitionCounts { total: 8, running: 3, stopped: 0, unheld: 5 },
            region: None,
            series: SeriesView {
                every_seconds: 10,
                accepted: vec![accepted; unfinished.len()],
                ended: vec![0.0; unfinished.len()],
                run_p99_ms: vec![None; unfinished.len()],
                unfinished: unfinished.to_vec(),
            },
        }
    }

    #[test]
    fn what_adds_up_is_added_up_and_the_longest_quantile_counts() {
        let young = part(1.5, &[60, 60], &[30, 10]);
        let old = part(2.0, &[90, 80, 70], &[20]);
        let all = overviews(vec![young, old], 2).unwrap();
        assert_eq!((all.rates.accepted, all.latency.run_p99_ms), (3.5, Some(2.0)));
        assert_eq!((all.backlog.unfinished, all.parked, all.firings.late), (120, 2, 2));
        assert_eq!(all.series.accepted, [2.0, 3.5, 3.5]);
        assert_eq!(all.series.unfinished, [90, 140, 130]);
        let times: Vec<_> = all.firings.next.iter().map(|firing| firing.at.0.0).collect();
        assert_eq!(times, [10, 20, 30]);
        assert_eq!(all.partitions, PartitionCounts { total: 8, running: 6, stopped: 0, unheld: 2 });
        assert_eq!(
            all.services,
            [ServiceView { limit: 20, waiting: 2, ..service("a", 4, "closed", Some(2.0)) }]
        );
    }

    #[test]
    fn the_breaker_that_lets_the_least_through_is_shown() {
        let parts = vec![
            service("b", 1, "open", None),
            service("a", 1, "closed", None),
            service("b", 1, "half_open", None),
        ];
        let breakers: Vec<_> = services(parts).into_iter().map(|one| (one.service, one.breaker)).collect();
        assert_eq!(breakers, [("a".to_owned(), "closed".to_owned()), ("b".to_owned(), "open".to_owned())]);
    }
}
