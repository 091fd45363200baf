//! The generated parts of docs/reference are what the code says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn pages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let files =
        std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "md")).collect()
}

fn reference(part: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sortie")).args(["reference", part]).output();
    let output = output.expect("the binary runs");
    assert!(output.status.success(), "sortie reference {part}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The parts of a page between their marks.
fn generated(text: &str) -> Vec<(&str, &str)> {
    let parts = text.split("<!-- generated: ").skip(1).map(|rest| {
        let (part, rest) = rest.split_once(" -->\n").expect("the mark ends");
        (part, rest.split_once("<!-- end -->").expect("the part ends with <!-- end -->").0)
    });
    parts.collect()
}

// guards: 59
#[test]
fn no_page_is_stale() {
    let mut seen = BTreeSet::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("the page can be read");
        for (part, found) in generated(&text) {
            seen.insert(part.to_owned());
            let stale = found != format!("\n{}\n", reference(part));
            let page = page.file_name().expect("a file").display();
            assert!(!stale, "docs/reference/{page} is stale in {part}; run: cargo xtask reference --write");
        }
    }
    let wanted = [
        "broker-fields",
        "brokers",
        "cli",
        "config",
        "errors",
        "limits",
        "metrics",
        "metrics-cluster",
        "metrics-regions",
    ];
    assert_eq!(seen, wanted.map(str::to_owned).into(), "each part stands in a page");
}
