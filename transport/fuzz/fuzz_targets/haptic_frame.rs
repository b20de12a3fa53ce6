//! Any bytes: a frame of finite numbers with an exact round trip, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_transport::cdr::{HAPTIC_FRAME_BYTES, decode, decode_frame, encode};
use palpate_transport::trace::TickRecord;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(frame) = decode_frame(bytes) {
        let _ = frame.is_plausible();
        let mut again = [0; HAPTIC_FRAME_BYTES];
        assert_eq!(encode(&frame, &mut again), Ok(bytes.len()));
        assert_eq!(again[4..], bytes[4..]);
    }
    let _ = decode::<TickRecord>(bytes);
});
