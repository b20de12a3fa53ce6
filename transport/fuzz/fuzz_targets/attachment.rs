//! Any bytes: an attachment with an exact round trip, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_transport::msg::attachment::Attachment;

fuzz_target!(|bytes: &[u8]| {
    if let Some(attachment) = Attachment::decode(bytes) {
        assert_eq!(attachment.encode()[..], *bytes);
    }
});
