//! Any bytes: a stroke whose bytes come back and which a receiver takes or not, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_transport::cdr::{STROKE_BYTES, decode_stroke, encode};
use palpate_transport::stroke::StrokeReceiver;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(stroke) = decode_stroke(bytes) {
        let mut again = [0; STROKE_BYTES];
        assert_eq!(encode(&stroke, &mut again), Ok(bytes.len()));
        assert_eq!(again[4..], bytes[4..]);
        let mut receiver = StrokeReceiver::default();
        receiver.expect(stroke.run, stroke.number - 1);
        receiver.take(&stroke);
        assert_eq!(receiver.next(), Some(&stroke));
    }
});
