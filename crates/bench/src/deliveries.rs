//! A server with the delivery workflow, and the five services it calls.

use drone_delivery::{Addresses, workflows};

use super::child::Child;
use super::options::{DataDirectory, Running};
use super::services;
use super::subject::Subject;

/// The name of the workflow.
pub const WORKFLOW: &str = "drone-delivery";

/// All that deliveries need; it ends when this is dropped.
pub struct Deliveries {
    pub subject: Subject,
    pub addresses: Addresses,
    pub services: Child,
}

impl Deliveries {
    /// `settings` are those of the server, beside the usual ones.
    pub async fn start(place: &DataDirectory, settings: &str) -> anyhow::Result<Deliveries> {
        let subject = Subject::start(place, settings).await?;
        Deliveries::with(subject).await
    }

    /// With a server of its own, or with servers that run already.
    pub async fn of(
        running: &Running,
        token: Option<&str>,
        place: &DataDirectory,
    ) -> anyhow::Result<Deliveries> {
        Deliveries::with(Subject::of(running, token, place).await?).await
    }

    async fn with(subject: Subject) -> anyhow::Result<Deliveries> {
        let (services, addresses) = services::start().await?;
        let [delivery, _] = workflows::ready(&addresses);
        subject.apply(delivery).await?;
        Ok(Deliveries { subject, addresses, services })
    }
}
