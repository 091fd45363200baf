//! A sealed secret opens again, only under its key, and reveals nothing.

use super::*;

fn vault(byte: u8) -> Vault {
    Vault::new([byte; 32])
}

#[test]
fn what_is_sealed_opens_again() {
    for plain in ["", "p", "correct horse", "schl\u{fc}ssel \u{1f511}", &"x".repeat(100_000)] {
        let sealed = vault(1).seal(plain);
        assert!(is_sealed(&sealed));
        assert_eq!(vault(1).open(&sealed).unwrap().expose(), plain);
    }
}

#[test]
fn the_same_secret_never_looks_the_same() {
    let (one, other) = (vault(1).seal("same"), vault(1).seal("same"));
    assert_ne!(one, other);
    let form = format!("sealed:v1:{}:", vault(1).key_id());
    assert!(one.starts_with(&form), "{one}");
    assert!(!one.contains("same"));
}

#[test]
fn another_key_is_distinguished_from_damage() {
    let sealed = vault(1).seal("secret");
    let id = vault(1).key_id().to_owned();
    assert_eq!(vault(2).open(&sealed).unwrap_err(), UnsealError::UnknownKey { id });

    // Every single changed character is detected.
    for at in 0..sealed.len() {
        let mut damaged = sealed.clone().into_bytes();
        damaged[at] = if damaged[at] == b'x' { b'y' } else { b'x' };
        let damaged = String::from_utf8(damaged).unwrap();
        assert!(vault(1).open(&damaged).is_err(), "{at}");
    }
    let head = sealed.len() - 10;
    assert_eq!(vault(1).open(&sealed[..head]).unwrap_err(), UnsealError::Damaged);
}

#[test]
fn what_was_never_sealed_is_refused() {
    for (text, error) in [
        ("", UnsealError::NotSealed),
        ("password", UnsealError::NotSealed),
        ("sealed:v2:00000000:AAAA", UnsealError::UnknownForm),
        ("sealed:v1:", UnsealError::Damaged),
        ("sealed:v1:aaaaaaaa:", UnsealError::Damaged),
        ("sealed:v1:\u{1b}[2Jaa:AAAAAAAAAAAAAAAAAAAA", UnsealError::UnknownKey { id: "2Jaa".to_owned() }),
    ] {
        assert_eq!(vault(1).open(text).unwrap_err(), error, "{text}");
    }
}

#[test]
fn old_keys_open_and_do_not_seal() {
    let old = vault(1).seal("secret");
    let rotated = vault(2).with_old_keys([SealingKey::new([9; 32]), SealingKey::new([1; 32])]);
    assert_eq!(rotated.open(&old).unwrap().expose(), "secret");
    assert!(rotated.is_outdated(&old));
    let new = rotated.seal("secret");
    assert!(!rotated.is_outdated(&new));
    assert_eq!(vault(2).open(&new).unwrap().expose(), "secret");
    assert!(vault(1).open(&new).is_err());
}

// guards: 24
#[test]
fn nothing_is_printed() {
    let secret = vault(1).open(&vault(1).seal("hush")).unwrap();
    assert_eq!(format!("{secret:?} {secret:#?}"), "Secret Secret");
    let printed = format!("{:?}", vault(0x77).with_old_keys([SealingKey::new([0x78; 32])]));
    assert!(!printed.contains("119") && !printed.contains("120") && !printed.contains("7777"), "{printed}");
}
