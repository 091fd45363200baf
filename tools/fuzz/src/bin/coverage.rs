//! The coverage-guided driver: libFuzzer around the target that `SORTIE_FUZZ_TARGET` names.
#![no_main]

use std::sync::OnceLock;

use fuzz::Target;

static TARGET: OnceLock<&'static Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("SORTIE_FUZZ_TARGET").expect("SORTIE_FUZZ_TARGET names the target");
        fuzz::find(&name).unwrap_or_else(|| panic!("there is no target '{name}'"))
    });
    (target.run)(bytes);
});
