//! A text that is not revealed by accident.

use std::fmt;

use zeroize::Zeroizing;

/// A secret in the clear. `Debug` does not print it, it cannot be displayed, and its memory is wiped on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: String) -> Secret {
        Secret(Zeroizing::new(text))
    }

    /// The text. Keep it out of logs, errors and histories.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
