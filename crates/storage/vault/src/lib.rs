//! Secrets at rest: sealed under a key of the operator, and opened for the moment of a call.

mod key;
mod key_file;
mod name;
mod pfx;
mod sas;
mod seal;
mod secret;

pub use key::{InvalidKey, SealingKey};
pub use key_file::KeyFileError;
pub use pfx::{Pfx, PfxError};
pub use sas::{SasError, SasToken, sign_sas};
pub use seal::{UnsealError, Vault, is_sealed};
pub use secret::Secret;
