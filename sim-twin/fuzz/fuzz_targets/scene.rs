//! Any text: a scene with the same table key twice, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_scene::load;

fuzz_target!(|text: &str| {
    if let Ok(scene) = load(text) {
        assert_eq!(scene.table_key_text(), load(text).expect("as before").table_key_text());
    }
});
