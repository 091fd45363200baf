//! The preflight check of the servers: new enough, syncing before they acknowledge, accepting the largest record.

mod monitor;
mod survey;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use serde::Deserialize;
use tokio::time::timeout;
use types::PartitionId;

use crate::jetstream::{JetStream, connect};
use crate::open::OpenError;
use crate::settings::{Proof, Settings};
use crate::wire::Storage;
use crate::{layout, names};

pub use survey::{ServerWatch, Survey};

/// Since 2.15 many messages share one sync, and mirrors can be promoted.
const VERSION_MIN: (u64, u64) = (2, 15);
/// A record of 4 MiB with the head of its frame, and 65,536 lengths of records.
const PAYLOAD_MIN: u64 = 8 << 20;
/// Servers respond at once; a busy one a little later.
const ANSWERS_FIRST_MAX: Duration = Duration::from_secs(5);
const ANSWERS_NEXT_MAX: Duration = Duration::from_secs(1);

/// Refuses servers that would lose acknowledged messages, and keeps checking them for as long as the result lives.
///
/// New streams need all their servers. Existing streams need a majority, and so does this check: a server that is down is
/// checked when it returns.
pub async fn check(settings: &Settings, jetstream: &JetStream) -> Result<ServerWatch, OpenError> {
    let connected = jetstream.nats().server_info();
    check_version(&connected.server_name, &connected.version)?;
    check_payload(&connected.server_name, connected.max_payload as u64)?;
    let Some(asker) = Asker::new(settings).await? else { return Ok(ServerWatch::default()) };
    let servers = asker.ask().await?;
    for (name, server) in &servers {
        server.check(name)?;
    }
    let answered = servers.values().filter(|server| server.keeps()).count();
    let wanted = settings.replicas;
    if answered < wanted {
        let control = names::events_stream(&settings.installation.name, PartitionId::CONTROL);
        let needed = if layout::exists(jetstream, &control).await? { wanted / 2 + 1 } else { wanted };
        if answered < needed {
            return Err(OpenError::TooFew { answered, needed, fix: asker.fix().to_owned() });
        }
        tracing::warn!(answered, wanted, "some NATS servers did not respond to the preflight check");
    }
    Ok(ServerWatch::start(asker, wanted, &servers))
}

/// How all servers are asked.
enum Asker {
    /// A connection of the system account.
    System(async_nats::Client),
    Monitoring(Vec<String>),
}

impl Asker {
    /// None if the servers are trusted without being asked.
    async fn new(settings: &Settings) -> Result<Option<Asker>, OpenError> {
        match &settings.proof {
            Proof::Missing => Err(OpenError::Unproven),
            Proof::Trusted => Ok(None),
            Proof::SystemAccount(login) => {
                let nats = connect(&settings.servers, login, &settings.tls).await?;
                Ok(Some(Asker::System(nats)))
            }
            Proof::Monitoring(urls) => Ok(Some(Asker::Monitoring(urls.clone()))),
        }
    }

    /// The reports of the servers that respond, by name.
    async fn ask(&self) -> Result<BTreeMap<String, Varz>, OpenError> {
        match self {
            Asker::System(nats) => Ok(ask_all(nats).await),
            Asker::Monitoring(urls) => monitor::ask_all(urls).await,
        }
    }

    /// What to do if too few servers respond.
    fn fix(&self) -> &'static str {
        match self {
            Asker::System(_) => "start the others, and check that system_user belongs to the system account",
            Asker::Monitoring(_) => {
                "start the others, and give the monitoring address of each server in monitor"
            }
        }
    }
}

/// The report of a server about itself.
#[derive(Debug, Deserialize)]
struct Varz {
    server_name: String,
    version: String,
    max_payload: u64,
    #[serde(default)]
    jetstream: JetStreamVarz,
}

#[derive(Debug, Default, Deserialize)]
struct JetStreamVarz {
    config: Option<JetStreamConfig>,
    #[serde(default)]
    stats: JetStreamStats,
}

#[derive(Debug, Deserialize)]
struct JetStreamConfig {
    #[serde(default)]
    sync_always: bool,
    /// `max_file_store`.
    #[serde(default)]
    max_storage: i64,
}

#[derive(Debug, Default, Deserialize)]
struct JetStreamStats {
    /// The bytes that all accounts have stored on this server.
    #[serde(default)]
    storage: u64,
}

impl Varz {
    /// Whether it has JetStream, and so stores streams.
    fn keeps(&self) -> bool {
        self.jetstream.config.is_some()
    }

    /// The use of storage on this server.
    fn storage(&self) -> Option<Storage> {
        let config = self.jetstream.config.as_ref()?;
        let bytes_max = u64::try_from(config.max_storage).ok().filter(|max| *max > 0);
        Some(Storage { used_bytes: self.jetstream.stats.storage, bytes_max })
    }

    fn check(&self, name: &str) -> Result<(), OpenError> {
        check_version(name, &self.version)?;
        check_payload(name, self.max_payload)?;
        // A server without JetStream stores nothing, so it loses nothing.
        match &self.jetstream.config {
            Some(config) if !config.sync_always => Err(OpenError::Server {
                server: name.to_owned(),
                found: "no sync_interval: always, and loses acknowledged work in a power cut".to_owned(),
                fix: "jetstream { sync_interval: always }".to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

fn check_version(server: &str, version: &str) -> Result<(), OpenError> {
    let mut parts = version.split(['.', '-']).map(|part| part.parse::<u64>().ok());
    let found = (parts.next().flatten().unwrap_or(0), parts.next().flatten().unwrap_or(0));
    if found >= VERSION_MIN {
        return Ok(());
    }
    let needed = format!("{}.{}", VERSION_MIN.0, VERSION_MIN.1);
    Err(OpenError::Version { server: server.to_owned(), found: version.to_owned(), needed })
}

fn check_payload(server: &str, bytes: u64) -> Result<(), OpenError> {
    if bytes >= PAYLOAD_MIN {
        return Ok(());
    }
    Err(OpenError::Server {
        server: server.to_owned(),
        found: format!("max_payload of {bytes} bytes"),
        fix: "max_payload: 8MB".to_owned(),
    })
}

#[derive(Debug, Deserialize)]
struct Answered {
    data: Varz,
}

/// Asks all servers through the system account; the result is empty if the request cannot be sent.
async fn ask_all(nats: &async_nats::Client) -> BTreeMap<String, Varz> {
    let inbox = nats.new_inbox();
    let asked = async {
        let answers = nats.subscribe(inbox.clone()).await.ok()?;
        nats.publish_with_reply("$SYS.REQ.SERVER.PING.VARZ", inbox, "".into()).await.ok()?;
        Some(answers)
    };
    // Without a connection even sending the request waits.
    let Ok(Some(mut answers)) = timeout(ANSWERS_FIRST_MAX, asked).await else { return BTreeMap::new() };
    let mut servers = BTreeMap::new();
    let mut patience = ANSWERS_FIRST_MAX;
    while let Ok(Some(answer)) = timeout(patience, answers.next()).await {
        // Another account gets an empty message with a status: there are no responders.
        if let Ok(answered) = serde_json::from_slice::<Answered>(&answer.payload) {
            servers.insert(answered.data.server_name.clone(), answered.data);
            patience = ANSWERS_NEXT_MAX;
        } else if answer.status.is_some() {
            break;
        }
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for fit in ["2.15.0", "2.15.1-RC.1", "2.100.3", "3.0.0"] {
            assert!(check_version("n1", fit).is_ok(), "{fit}");
        }
        for unfit in ["2.9.10", "2.14.6", "1.99.0", "", "new"] {
            assert!(check_version("n1", unfit).is_err(), "{unfit}");
        }
    }
}
