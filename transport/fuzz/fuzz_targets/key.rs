//! Any text: a key or token that prints back as it was, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_transport::msg::key::{Token, TopicKey};

fuzz_target!(|text: &str| {
    if let Ok(key) = text.parse::<TopicKey>() {
        assert_eq!(key.to_string(), text);
    }
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!(token.to_string(), text);
    }
});
