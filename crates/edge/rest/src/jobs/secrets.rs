//! Sealing secrets before anything is stored, and describing certificates without their secrets.

use std::sync::Arc;

use schedule::{CertificateFacts, JobDocument, JobPatch, Problems};
use vault::{Pfx, Vault};

pub(crate) async fn seal_job(vault: &Arc<Vault>, document: JobDocument) -> Result<JobDocument, Problems> {
    let sealed = seal_jobs(vault, vec![(String::new(), document)]).await?;
    Ok(sealed.into_iter().next().expect("one in, one out").1)
}

/// Seals the secrets of jobs with their names.
pub(crate) async fn seal_jobs(
    vault: &Arc<Vault>,
    mut documents: Vec<(String, JobDocument)>,
) -> Result<Vec<(String, JobDocument)>, Problems> {
    let vault = vault.clone();
    aside(move || {
        for (_, document) in &mut documents {
            document.fill_certificates(facts)?;
            document.visit_secrets(|_, secret| seal(&vault, secret))?;
        }
        Ok(documents)
    })
    .await
}

pub(crate) async fn seal_patch(vault: &Arc<Vault>, mut patch: JobPatch) -> Result<JobPatch, Problems> {
    let vault = vault.clone();
    aside(move || {
        patch.fill_certificates(facts)?;
        patch.visit_secrets(|_, secret| seal(&vault, secret))?;
        Ok(patch)
    })
    .await
}

/// Opening a certificate file takes a while by intent: it must not hold up anything else.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("sealing does not panic")
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
