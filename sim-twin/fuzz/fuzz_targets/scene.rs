//! Any text: a scene that says the same twice, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_scene::load;

fuzz_target!(|text: &str| {
    if let Ok(scene) = load(text) {
        assert_eq!(scene.table_source(), load(text).expect("as before").table_source());
    }
});
