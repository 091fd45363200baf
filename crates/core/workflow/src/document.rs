//! The reader of definitions, for other documents in YAML: every value knows its line, every problem its field.

use crate::limits::SOURCE_BYTES_MAX;
use crate::yaml;

pub use crate::parse::fields::{Field, Fields};
pub use crate::yaml::{Node, YamlKind};
pub use types::problem::{At, Report};

/// The one document of `source`, or `None` with at least one problem reported.
pub fn read(source: &str, report: &mut Report) -> Option<Node> {
    if source.len() > SOURCE_BYTES_MAX {
        report.add("", format!("larger than {SOURCE_BYTES_MAX} bytes"));
        return None;
    }
    yaml::read(source, report)
}

/// The whole document as a field without a name.
pub fn root(node: &Node) -> Field<'_> {
    Field { path: String::new(), node }
}
