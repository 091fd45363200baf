//! Sealing secrets before anything is stored, and telling what may be told of certificates.

use jobs::{CertificateFacts, JobDocument, JobPatch, Problems};
use vault::{Pfx, Vault};

pub(crate) fn seal_job(vault: &Vault, document: &mut JobDocument) -> Result<(), Problems> {
    document.fill_certificates(facts)?;
    document.visit_secrets(|_, secret| seal(vault, secret))
}

pub(crate) fn seal_patch(vault: &Vault, patch: &mut JobPatch) -> Result<(), Problems> {
    patch.fill_certificates(facts)?;
    patch.visit_secrets(|_, secret| seal(vault, secret))
}

fn seal(vault: &Vault, secret: &mut String) -> Result<(), Problems> {
    *secret = vault.seal(secret);
    Ok(())
}

fn facts(path: &str, pfx: &str, password: &str) -> Result<CertificateFacts, Problems> {
    let wrong = |text: String| Problems::one(format!("{path}.pfx"), text);
    let pfx = Pfx::open(pfx, password).map_err(|error| wrong(error.to_string()))?;
    let expiration = pfx.expires_at().parse().map_err(|_| wrong("has no date of expiry".to_owned()))?;
    Ok(CertificateFacts {
        thumbprint: pfx.thumbprint().to_owned(),
        expiration,
        subject_name: pfx.subject().to_owned(),
    })
}
