//! All text: white space at line ends, hosts of package registries, and words of the workshop.

use super::mask::mask;
use super::{File, Finding};

/// Packages are named, never fetched from a host that only some machines can reach.
const REGISTRY_HOSTS: [&str; 6] =
    ["crates.io", "registry.npmjs.org", "pypi.org", "files.pythonhosted.org", "docker.io", "ghcr.io"];

/// Where Cargo.lock says that packages come from, on every machine.
const LOCK_SOURCE: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

pub(crate) fn check(file: &File) -> Vec<Finding> {
    if file.path.ends_with("Cargo.lock") {
        return check_lock(file);
    }
    let rust = file.path.ends_with(".rs");
    let prose = if rust { mask(&file.text).comments } else { file.text.clone() };
    let mut findings = Vec::new();
    for (index, (line, prose)) in file.text.lines().zip(prose.lines()).enumerate() {
        let mut refuse = |message: String| findings.push(Finding::refused(file, index + 1, message));
        if line.ends_with([' ', '\t', '\r']) {
            refuse("white space at the end of the line".to_owned());
        }
        if let Some(host) = REGISTRY_HOSTS.iter().find(|host| !rust && line.contains(*host)) {
            refuse(format!("{host} is a registry's host: name packages, not where they come from"));
        }
        if prose.to_lowercase().contains("issue #") {
            refuse("a number of a ticket says nothing to a reader: say what it was about".to_owned());
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        findings.push(Finding::refused(file, file.text.lines().count(), "the last line has no end"));
    }
    findings
}

fn check_lock(file: &File) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    let strange = lines.filter(|(_, line)| line.starts_with("source = ") && *line != LOCK_SOURCE);
    let refuse = |(index, line): (usize, &str)| {
        Finding::refused(file, index + 1, format!("a package from elsewhere: {line}"))
    };
    strange.map(refuse).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&file(path, text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn white_space_at_line_ends_is_refused() {
        assert_eq!(lines("a.md", "a \nb\n\tc\nd\t\ne"), [1, 4, 5]);
    }

    #[test]
    fn registry_hosts_are_refused_outside_of_code() {
        assert_eq!(lines("a.toml", "[source]\nurl = \"https://index.crates.io\"\n"), [2]);
        assert_eq!(lines("a.rs", "const HOST: &str = \"crates.io\";\n"), [0; 0]);
    }

    #[test]
    fn a_locked_package_comes_from_where_everybody_gets_it() {
        assert_eq!(lines("Cargo.lock", &format!("{LOCK_SOURCE}\nsource = \"git+https://a.b/c\"\n")), [2]);
    }

    #[test]
    fn ticket_numbers_are_refused_in_prose() {
        assert_eq!(lines("a.md", "See Issue #3.\n"), [1]);
        assert_eq!(lines("a.rs", "// see issue #3\nlet text = \"issue #3\";\n"), [1]);
    }
}
