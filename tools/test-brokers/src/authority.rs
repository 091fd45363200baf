//! An authority whose certificates the programs show each other, and its files in PEM.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use crate::process::Folder;

/// A private certificate authority. Its files are deleted with it.
pub struct Authority {
    folder: Folder,
    file: PathBuf,
    der: Vec<u8>,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub file: PathBuf,
    pub key_file: PathBuf,
}

impl Authority {
    pub fn new() -> anyhow::Result<Authority> {
        let folder = Folder::new()?;
        let key = KeyPair::generate().context("making a key")?;
        // Authorities of one name would be taken for one another.
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("authority {} of tests", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut params = params(Vec::new(), &name)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let der = params.self_signed(&key).context("making an authority")?.der().to_vec();
        let file = folder.write("authority.pem", &pem("CERTIFICATE", &der))?;
        Ok(Authority { folder, file, der, issuer: Issuer::new(params, key) })
    }

    /// What those are given who are to trust it.
    pub fn file(&self) -> PathBuf {
        self.file.clone()
    }

    /// The same, not as text.
    pub fn der(&self) -> Vec<u8> {
        self.der.clone()
    }

    /// A certificate for a host, by name or address; the newest of a name replaces its files.
    pub fn issue(&self, host: &str) -> anyhow::Result<Certificate> {
        self.sign(host, params(vec![host.to_owned()], host)?)
    }

    /// One that was good until 2020.
    pub fn issue_expired(&self, host: &str) -> anyhow::Result<Certificate> {
        let mut params = params(vec![host.to_owned()], host)?;
        params.not_after = date_time_ymd(2020, 1, 1);
        self.sign(&format!("expired-{host}"), params)
    }

    fn sign(&self, name: &str, params: CertificateParams) -> anyhow::Result<Certificate> {
        let key = KeyPair::generate().context("making a key")?;
        let certificate = params.signed_by(&key, &self.issuer).context("signing a certificate")?;
        let file = self.folder.write(&format!("{name}.pem"), &pem("CERTIFICATE", certificate.der()))?;
        let key = pem("PRIVATE KEY", &key.serialize_der());
        Ok(Certificate { file, key_file: self.folder.write(&format!("{name}.key"), &key)? })
    }

    /// The settings of a nats-server that shows this certificate to its clients.
    pub fn nats_tls(&self, shown: &Certificate) -> String {
        format!("tls {{ cert_file: {:?}, key_file: {:?} }}\n", shown.file, shown.key_file)
    }

    /// The same, and clients must show one of this authority.
    pub fn nats_mutual_tls(&self, shown: &Certificate) -> String {
        format!(
            "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}\n",
            shown.file, shown.key_file, self.file
        )
    }
}

/// With a name of its own: a certificate that has its authority's name passes for one that signed itself.
fn params(hosts: Vec<String>, name: &str) -> anyhow::Result<CertificateParams> {
    let mut params = CertificateParams::new(hosts).context("naming a certificate")?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

fn pem(kind: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}
