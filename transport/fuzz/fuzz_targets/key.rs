//! Any text: the token of a node with an exact round trip, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_transport::msg::key::Ros2Token;

fuzz_target!(|text: &str| {
    if let Some(token) = Ros2Token::parse_node(text) {
        assert_eq!(token.to_string(), text);
    }
});
