//! TLS with the NATS servers: trusted authorities, the client certificate, and what to change when a handshake fails.

use std::error::Error as StdError;
use std::io;

use async_nats::{ConnectError, ConnectErrorKind};
use host::tls::{CertificateFiles, FileError};
use rustls::{AlertDescription, CertificateError, ClientConfig, Error};

use crate::open::OpenError;
use crate::settings::{Servers, Tls};

/// The TLS configuration of connections. An unusable file is an error at once, not at the first connection.
pub(crate) fn config(tls: &Tls) -> Result<ClientConfig, OpenError> {
    let files = CertificateFiles { ca_file: tls.ca_file.clone(), identity: tls.certificate.clone() };
    files.config().map_err(|FileError { path, reason }| OpenError::File {
        path: path.display().to_string(),
        why: reason,
    })
}

/// What to change if a connection failed because of TLS; none if another attempt may succeed without a change.
pub(crate) fn disagreement(servers: &Servers, tls: &Tls, error: &ConnectError) -> Option<OpenError> {
    let (why, fix) = match cause(error) {
        Some(cause) => (cause.to_string(), fix(cause, tls)?),
        None if error.kind() == ConnectErrorKind::Tls => (error.to_string(), AUTHORITY.to_owned()),
        None => return None,
    };
    Some(OpenError::Tls { servers: servers.to_string(), why, fix })
}

/// The TLS error in the chain of causes.
fn cause(error: &ConnectError) -> Option<&Error> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // The inner error of an I/O error is not its source.
        next = match error.downcast_ref::<io::Error>() {
            Some(error) => error.get_ref().map(|inner| inner as &(dyn StdError + 'static)),
            None => error.source(),
        };
    }
    None
}

const AUTHORITY: &str = "set tls_ca_file to the certificate of the servers' authority";

fn fix(error: &Error, tls: &Tls) -> Option<String> {
    let fix = match error {
        // It succeeds as soon as the clock is set right.
        Error::InvalidCertificate(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
            return None;
        }
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "renew the certificate of the server, or set the clock of this machine".to_owned()
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "connect to a name that is in the certificate, or issue a certificate for this name".to_owned(),
        Error::InvalidCertificate(_) | Error::General(_) => AUTHORITY.to_owned(),
        Error::InvalidMessage(_) => {
            "this is not TLS: put `tls { … }` into the configuration of the server; tls:// and the settings tls_… ask \
             for it"
                .to_owned()
        }
        Error::PeerIncompatible(_) => "let the server speak TLS 1.2 or newer".to_owned(),
        Error::AlertReceived(alert) if is_of_certificate(*alert) => match &tls.certificate {
            Some((file, _)) => {
                format!("the server rejects the certificate in {}: use one that it trusts", file.display())
            }
            None => "the server requires a client certificate: set tls_certificate_file and tls_key_file".to_owned(),
        },
        _ => return None,
    };
    Some(fix)
}

/// Whether a server sends this alert about the client certificate, or about its absence.
fn is_of_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::CertificateRequired
    )
}
