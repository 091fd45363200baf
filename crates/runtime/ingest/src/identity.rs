//! Who a request is: its id, its key, and the fingerprint of its body.

use sha2::{Digest, Sha256};
use types::{BodyHash, Key, RunId};
use workflow::{Definition, Taken};

use crate::error::SubmitError;

/// The id, the key and where the id came from.
pub(crate) struct Identity {
    pub id: RunId,
    pub key: Key,
    /// Generated here: no other request can have the id, so it needs no look-up.
    pub fresh: bool,
    /// Named by the body: whoever writes such bodies may give it to two of them.
    pub from_body: bool,
}

impl Identity {
    /// One with a generated id.
    pub(crate) fn fresh() -> Identity {
        let id = host::new_run_id();
        Identity { key: Key::from(id.clone()), id, fresh: true, from_body: false }
    }

    /// Whether another id would do as well, and with it another partition.
    pub(crate) fn is_free(&self) -> bool {
        self.fresh && self.key.as_str() == self.id.as_str()
    }
}

/// Takes the id from the path, the body or the header, in this order, or generates one.
pub(crate) fn identify(
    taken: Taken,
    path_id: Option<&RunId>,
    header_id: Option<&RunId>,
) -> Result<Identity, SubmitError> {
    let Taken { id: body_id, key } = taken;
    if let (Some(path), Some(body)) = (path_id, &body_id)
        && path != body
    {
        return Err(SubmitError::Unfit(format!(
            "the path names run {path}, the body names {body}; make them equal"
        )));
    }
    if let (Some(path), Some(header)) = (path_id, header_id)
        && path != header
    {
        let text = format!(
            "the path names run {path}, Idempotency-Key names {header}; make them equal or leave one out"
        );
        return Err(SubmitError::Unfit(text));
    }
    let from_body = body_id.is_some();
    let given = path_id.cloned().or(body_id).or_else(|| header_id.cloned());
    let fresh = given.is_none();
    let id = given.unwrap_or_else(host::new_run_id);
    let key = key.unwrap_or_else(|| Key::from(id.clone()));
    Ok(Identity { id, key, fresh, from_body })
}

/// The same workflow and the same bytes make the same fingerprint.
pub(crate) fn fingerprint(definition: &Definition, body: &[u8]) -> BodyHash {
    let mut hasher = Sha256::new();
    hasher.update(definition.name().as_str());
    hasher.update([0]);
    hasher.update(body);
    let mut hash = [0; 16];
    hash.copy_from_slice(&hasher.finalize()[..16]);
    BodyHash(hash)
}
