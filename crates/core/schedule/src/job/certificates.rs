//! What is shown of client certificates, filled in while their files and passwords are still plain.

use serde_json::Value;

use super::{JobDocument, JobPatch, patch, settle};
use crate::authentication::{Authentication, CertificateFacts};
use crate::problem::below;

impl JobDocument {
    /// Asks `look` for the facts of every client certificate: it gets the path, the file in base64 and the
    /// password, both as they stand in the document. To be called before secrets are sealed.
    pub fn fill_certificates<E>(
        &mut self,
        mut look: impl FnMut(&str, &str, &str) -> Result<CertificateFacts, E>,
    ) -> Result<(), E> {
        for (path, authentication) in self.action.authentications_mut("properties.action") {
            if let Authentication::ClientCertificate { pfx, password, facts } = authentication {
                *facts = Some(look(&path, pfx.expose(), password.expose())?);
            }
        }
        Ok(())
    }
}

impl JobPatch {
    /// The same for every client certificate that the patch brings.
    pub fn fill_certificates<E>(
        &mut self,
        mut look: impl FnMut(&str, &str, &str) -> Result<CertificateFacts, E>,
    ) -> Result<(), E> {
        let mut result = Ok(());
        settle::each_call(&mut self.properties, |path, call| {
            let Some(members) = patch::authentication_mut(call) else { return };
            let (Some(Value::String(pfx)), Some(Value::String(password))) =
                (members.get("pfx"), members.get("password"))
            else {
                return;
            };
            if result.is_err() {
                return;
            }
            match look(&below(path, "request.authentication"), pfx, password) {
                Ok(facts) => {
                    let Ok(Value::Object(facts)) = serde_json::to_value(facts) else {
                        unreachable!("facts are an object")
                    };
                    members.extend(facts);
                }
                Err(error) => result = Err(error),
            }
        });
        result
    }
}
