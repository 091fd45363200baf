//! Gauges of the regions, updated while the regions exist.

use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use regions::{Meter, RegionReading, Regions};

const EVERY: Duration = Duration::from_secs(2);
/// The lag is measured every so many rounds: each mirror must be asked, and there are two for each partition.
const LAG_EVERY: u32 = 5;

#[derive(Clone, Default)]
pub(crate) struct Gauges {
    active: Gauge,
    level: Gauge,
    epoch: Gauge,
    pair_reachable: Gauge,
    mirror_lag: Gauge,
    leased: Gauge,
}

impl Gauges {
    /// Registers the gauges and updates them from here on.
    pub fn start(regions: &Regions, registry: &mut Registry) {
        let meter = regions.meter();
        let Some(first) = meter.read() else { return };
        let gauges = Gauges::register(registry, first.leased.is_some());
        gauges.show(first);
        host::spawn("region gauges", gauges.keep(meter));
    }

    pub fn register(registry: &mut Registry, with_witness: bool) -> Gauges {
        let gauges = Gauges::default();
        let all = [
            (
                "sortie_region_active",
                "1 while this region is active; alert when it is not 1 in exactly one of the two",
                &gauges.active,
            ),
            (
                "sortie_region_level",
                "1 when this region is active, or its mirrors have caught up once. Alert when a standby stays at 0",
                &gauges.level,
            ),
            ("sortie_region_epoch", "The epoch of the region, which every switch raises", &gauges.epoch),
            (
                "sortie_region_pair_reachable",
                "1 while the other region responds through the leaf nodes",
                &gauges.pair_reachable,
            ),
            (
                "sortie_mirror_lag_messages",
                "Messages that the mirrors in this region lag in total, as they report it, every 10 s; 0 in the active region",
                &gauges.mirror_lag,
            ),
        ];
        for (name, help, gauge) in all {
            registry.register(name, help, gauge.clone());
        }
        if with_witness {
            let help = "1 while this region holds a lease of the witness or the consent of the pair; only with region.witness";
            registry.register("sortie_region_leased", help, gauges.leased.clone());
        }
        gauges
    }

    async fn keep(self, meter: Meter) {
        let mut turn = 0;
        while let Some(reading) = meter.read() {
            self.show(reading);
            if turn % LAG_EVERY == 0 {
                match meter.mirror_lag().await {
                    Ok(lag) => {
                        self.mirror_lag.set(i64::try_from(lag).unwrap_or(i64::MAX));
                    }
                    // The gauge keeps its last value: whether NATS responds is another metric.
                    Err(error) => tracing::debug!(%error, "could not read the lag of the mirrors"),
                }
            }
            turn = (turn + 1) % LAG_EVERY;
            tokio::time::sleep(EVERY).await;
        }
    }

    fn show(&self, reading: RegionReading) {
        let RegionReading { active, level, epoch, pair_reachable, leased } = reading;
        self.active.set(active.into());
        self.level.set(level.into());
        self.epoch.set(i64::try_from(epoch).unwrap_or(i64::MAX));
        self.pair_reachable.set(pair_reachable.into());
        self.leased.set(leased.unwrap_or_default().into());
    }
}
