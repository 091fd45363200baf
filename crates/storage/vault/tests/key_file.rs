//! The key file: created once, whole, readable by its owner only.

#![allow(clippy::unwrap_used, reason = "a failed setup is a failed test")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;

use vault::{KeyFileError, Vault};

#[test]
fn a_missing_file_is_made_for_its_owner_alone_and_used_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let sealed = Vault::open_or_create(&path).unwrap().seal("secret");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(Vault::open_or_create(&path).unwrap().open(&sealed).unwrap().expose(), "secret");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(Vault::from_text(&text).unwrap().open(&sealed).unwrap().expose(), "secret");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft stays behind");
}

#[test]
fn a_file_that_others_can_read_is_refused_with_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    Vault::open_or_create(&path).unwrap();
    for mode in [0o644, 0o640, 0o604, 0o620, 0o601] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let error = Vault::open_or_create(&path).unwrap_err();
        assert!(error.to_string().contains(&format!("chmod 600 {}", path.display())), "{error}");
        assert!(matches!(error, KeyFileError::Exposed { mode: told, .. } if told == mode), "{error}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    Vault::open_or_create(&path).unwrap();
}

#[test]
fn a_file_that_is_not_a_key_file_is_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    for text in [&b""[..], b"not a key", b"\xff\xfe", &[b'a'; 5000]] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(Vault::open_or_create(&path).unwrap_err(), KeyFileError::Invalid { .. }));
        assert_eq!(fs::read(&path).unwrap(), text);
    }
    assert!(matches!(Vault::open_or_create(folder.path()).unwrap_err(), KeyFileError::NotAFile { .. }));
    let nowhere = folder.path().join("missing/key");
    let error = Vault::open_or_create(&nowhere).unwrap_err();
    assert!(error.to_string().starts_with("creating key file"), "{error}");
}

#[test]
fn all_who_start_together_have_the_same_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let start = Barrier::new(8);
    let sealed: Vec<String> = std::thread::scope(|scope| {
        let open = || {
            start.wait();
            Vault::open_or_create(&path).unwrap().seal("secret")
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let vault = Vault::open_or_create(&path).unwrap();
    for sealed in sealed {
        assert_eq!(vault.open(&sealed).unwrap().expose(), "secret");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
