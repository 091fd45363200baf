//! Whether the servers are fit: new enough, writing before they acknowledge, taking the largest record.

mod monitor;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use serde::Deserialize;
use tokio::time::timeout;

use crate::client::{Client, connect};
use crate::open::OpenError;
use crate::settings::{Login, Proof, Settings};

/// Since 2.15 many messages share one write to disk, and regions can be promoted.
const VERSION_MIN: (u64, u64) = (2, 15);
/// A record of 4 MiB in a frame with its head, and 65,536 lengths of records.
const PAYLOAD_MIN: u64 = 8 << 20;
/// Servers answer at once; one that is busy a little later.
const ANSWERS_FIRST_MAX: Duration = Duration::from_secs(5);
const ANSWERS_NEXT_MAX: Duration = Duration::from_secs(1);

/// Refuses servers that would lose what they acknowledge.
pub async fn check(settings: &Settings, client: &Client) -> Result<(), OpenError> {
    let connected = client.nats().server_info();
    check_version(&connected.server_name, &connected.version)?;
    check_payload(&connected.server_name, connected.max_payload as u64)?;
    let (servers, fix) = match &settings.proof {
        Proof::Missing => return Err(OpenError::Unproven),
        Proof::Trusted => return Ok(()),
        Proof::SystemAccount(login) => {
            (ask_all(settings, login).await?, "check that system_user belongs to the system account")
        }
        Proof::Monitoring(urls) => {
            (monitor::ask_all(urls).await?, "give the monitoring address of each server in monitor")
        }
    };
    for (name, server) in &servers {
        server.check(name)?;
    }
    let answered = servers.values().filter(|server| server.jetstream.config.is_some()).count();
    if answered < settings.replicas {
        return Err(OpenError::TooFew { answered, needed: settings.replicas, fix: fix.to_owned() });
    }
    Ok(())
}

/// What a server says about itself.
#[derive(Debug, Deserialize)]
struct Varz {
    server_name: String,
    version: String,
    max_payload: u64,
    #[serde(default)]
    jetstream: JetStream,
}

#[derive(Debug, Default, Deserialize)]
struct JetStream {
    config: Option<JetStreamConfig>,
}

#[derive(Debug, Deserialize)]
struct JetStreamConfig {
    #[serde(default)]
    sync_always: bool,
}

impl Varz {
    fn check(&self, name: &str) -> Result<(), OpenError> {
        check_version(name, &self.version)?;
        check_payload(name, self.max_payload)?;
        // A server without JetStream keeps nothing, so it loses nothing.
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

/// Asks every server at once through the system account.
async fn ask_all(settings: &Settings, login: &Login) -> Result<BTreeMap<String, Varz>, OpenError> {
    let nats = connect(&settings.servers, login, &settings.tls).await?;
    let failed = |why: String| OpenError::Unreachable { servers: settings.servers.to_string(), why };
    let inbox = nats.new_inbox();
    let mut answers = nats.subscribe(inbox.clone()).await.map_err(|error| failed(error.to_string()))?;
    let asked = nats.publish_with_reply("$SYS.REQ.SERVER.PING.VARZ", inbox, "".into()).await;
    asked.map_err(|error| failed(error.to_string()))?;
    let mut servers = BTreeMap::new();
    let mut patience = ANSWERS_FIRST_MAX;
    while let Ok(Some(answer)) = timeout(patience, answers.next()).await {
        // An account that is not the system's gets an empty message: nobody listens.
        if let Ok(answered) = serde_json::from_slice::<Answered>(&answer.payload) {
            servers.insert(answered.data.server_name.clone(), answered.data);
            patience = ANSWERS_NEXT_MAX;
        } else if answer.status.is_some() {
            break;
        }
    }
    Ok(servers)
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
