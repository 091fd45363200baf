//! Tidy as a whole, on small repositories.

use super::*;

pub(crate) fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[test]
fn a_tidy_repository_passes() {
    let files = [
        file("README.md", "# A\n\n[code](src/lib.rs)\n"),
        file("src/lib.rs", "//! What it is for.\n\nfn main() {}\n"),
        file("crates/core/types/Cargo.toml", "[package]\nname = \"types\"\n"),
    ];
    assert_eq!(examine(&files), []);
}

#[test]
fn every_check_is_part_of_the_whole() {
    let files = [
        file("README.md", "[code](nowhere)\n"),
        file("src/lib.rs", "fn main() {} \n"),
        file("src/utils.rs", "//! Utils.\n"),
        file(
            "crates/core/types/Cargo.toml",
            "[package]\nname = \"types\"\n[dependencies]\nengine.workspace = true\n",
        ),
        file("crates/runtime/engine/Cargo.toml", "[package]\nname = \"engine\"\n"),
    ];
    let found: Vec<String> = examine(&files).iter().map(ToString::to_string).collect();
    expect_test::expect![[r#"
        refused: README.md:1: nowhere: there is no such file
        refused: src/lib.rs:1: white space at the end of the line
        refused: src/lib.rs:1: the first line says what the file is for: //! …
        refused: src/utils.rs: "utils" says nothing: name what is inside
        refused: crates/core/types/Cargo.toml: types may not use engine: it is in a higher layer"#]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn the_walk_passes_over_what_is_built() {
    let root = tempfile::tempdir().unwrap();
    for path in ["target/a.rs", ".git/b.md", "src/c.rs", ".ci/run", "d.bin"] {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "\n").unwrap();
    }
    let paths: Vec<String> = files(root.path()).unwrap().into_iter().map(|file| file.path).collect();
    assert_eq!(paths, [".ci/run", "src/c.rs"]);
}

#[test]
fn something_refused_fails_the_run() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a.rs"), "fn main() {}\n").unwrap();
    assert_eq!(run(root.path()).unwrap_err().to_string(), "tidy refuses 1 of the above");
    std::fs::write(root.path().join("a.rs"), "//! A.\n").unwrap();
    run(root.path()).unwrap();
}
