//! How a region is set up.

use std::path::PathBuf;
use std::time::Duration;

use journal_nats::jetstream::JetStream;

/// How a region is set up, as one of its instances sees it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of the region, like `westeurope`.
    pub name: String,
    /// The JetStream domain of this region.
    pub domain: String,
    /// The name of the paired region.
    pub pair: String,
    /// The JetStream domain of the paired region.
    pub pair_domain: String,
    /// The region that becomes active if neither of the two has ever had a role.
    pub home: String,
    pub installation: String,
    /// Replicas of the mirrors and of the buckets in this region.
    pub replicas: usize,
    /// The id of this instance, unique in the region.
    pub instance: String,
    /// The data directory: divergent tails are written to `divergent/` in it, and to NATS.
    pub data: PathBuf,
    /// NATS at a third place, whose lease decides which region is active when the two cannot reach each other.
    pub witness: Option<JetStream>,
    /// How long a lease lives without a renewal.
    pub lease: Duration,
    /// How long a response of either region may take.
    pub answer: Duration,
    /// How long a planned promotion waits for the instances of the pair to release their partitions, and then for the
    /// mirrors to catch up.
    pub patience: Duration,
    /// How long an instance keeps the claim on the region's work without renewing it.
    pub work: Duration,
    /// With semi-synchronous replication: how long an append waits for the pair.
    pub reach: Duration,
}

impl Settings {
    /// Settings with the default times; each domain is named like its region.
    pub fn new(name: &str, pair: &str, home: &str, installation: &str) -> Settings {
        Settings {
            name: name.to_owned(),
            domain: name.to_owned(),
            pair: pair.to_owned(),
            pair_domain: pair.to_owned(),
            home: home.to_owned(),
            installation: installation.to_owned(),
            replicas: 3,
            instance: name.to_owned(),
            data: PathBuf::from("."),
            witness: None,
            lease: Duration::from_secs(30),
            answer: Duration::from_secs(3),
            patience: Duration::from_secs(25),
            work: Duration::from_secs(30),
            reach: Duration::from_secs(5),
        }
    }

    /// The same pair as an instance of the other region would have it.
    pub(crate) fn of_pair(&self) -> Settings {
        Settings {
            name: self.pair.clone(),
            domain: self.pair_domain.clone(),
            pair: self.name.clone(),
            pair_domain: self.domain.clone(),
            ..self.clone()
        }
    }
}
