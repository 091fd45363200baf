//! Problems of documents, and the paths of members.

pub use types::problem::{Problem, Problems};
pub(crate) use types::problem::{Report, did_you_mean, quote};

/// The path of a member below `path`.
pub(crate) fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
