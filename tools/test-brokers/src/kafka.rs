//! A cluster of Kafka's stand-in inside librdkafka: real clients talk to it over the wire. Debian has no Kafka.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::installed;
use crate::process::{Folder, Process};

/// A running cluster of one server, which makes topics of four partitions when they are first asked for.
pub struct KafkaMock {
    _server: Process,
    _folder: Folder,
    servers: String,
}

const SCRIPT: &str = "
import sys, time
from confluent_kafka import Producer
producer = Producer({'test.mock.num.brokers': 1, 'bootstrap.servers': 'made-by-the-mock'})
brokers = producer.list_topics(timeout=60).brokers.values()
with open(sys.argv[1] + '.new', 'w') as out:
    out.write(','.join(f'{broker.host}:{broker.port}' for broker in brokers))
import os
os.rename(sys.argv[1] + '.new', sys.argv[1])
time.sleep(3600)
";

impl KafkaMock {
    pub fn start() -> anyhow::Result<KafkaMock> {
        let folder = Folder::new()?;
        let told = folder.path().join("servers");
        let mut command = Command::new(installed::python()?);
        command.args(["-c", SCRIPT]).arg(&told);
        let server = Process::start("kafka-mock", command, folder.path())?;
        let begun = Instant::now();
        let servers = loop {
            if let Ok(servers) = fs::read_to_string(&told) {
                break servers;
            }
            ensure!(begun.elapsed() < Duration::from_secs(60), "the stand-in for Kafka does not start");
            thread::sleep(Duration::from_millis(20));
        };
        Ok(KafkaMock { _server: server, _folder: folder, servers })
    }

    /// `host:port`.
    pub fn servers(&self) -> &str {
        &self.servers
    }
}
