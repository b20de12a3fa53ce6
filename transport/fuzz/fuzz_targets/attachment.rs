//! Any bytes: an attachment whose bytes come back, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_transport::msg::attachment::Attachment;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(attachment) = Attachment::decode(bytes) {
        assert_eq!(attachment.encode()[..], *bytes);
    }
});
