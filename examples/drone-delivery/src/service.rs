//! The five services by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of the five services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    Account,
    Package,
    Transport,
    Drone,
    Delivery,
}

impl Service {
    pub const ALL: [Service; 5] =
        [Service::Account, Service::Package, Service::Transport, Service::Drone, Service::Delivery];

    pub fn as_str(self) -> &'static str {
        match self {
            Service::Account => "account",
            Service::Package => "package",
            Service::Transport => "transport",
            Service::Drone => "drone",
            Service::Delivery => "delivery",
        }
    }

    /// The port that the workflow files name.
    pub fn default_port(self) -> u16 {
        7101 + self as u16
    }

    /// Whether a path segment, in any case, names what this service keeps.
    pub(crate) fn keeps(self, segment: &str) -> bool {
        let names: &[&str] = match self {
            Service::Account => &["accounts", "account"],
            Service::Package => &["packages"],
            Service::Transport => &["thirdpartydeliveries"],
            Service::Drone => &["dronedeliveries"],
            Service::Delivery => &["deliveries"],
        };
        names.iter().any(|name| name.eq_ignore_ascii_case(segment))
    }

    /// Whether things of this service can be changed in part.
    pub(crate) fn takes_patches(self) -> bool {
        matches!(self, Service::Package | Service::Delivery)
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Service {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Service> {
        let found = Service::ALL.into_iter().find(|service| service.as_str() == text);
        found.ok_or_else(|| {
            anyhow::anyhow!("{text:?} is not a service; use account, package, transport, drone or delivery")
        })
    }
}
