//! Any bytes as one frame after another: the received state of a side and the output of its codec stay finite.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_port::inbox::{Inbox, RunIds};
use palpate_transport::cdr::{HAPTIC_FRAME_BYTES, decode_frame, encode};
use palpate_transport::codec::{CodecKind, CodecPair, CodecParams};
use palpate_transport::coupling::CouplingParams;
use palpate_transport::frame::HapticFrame;
use palpate_transport::trace::Side;
use palpate_transport::{Span, Time};

fuzz_target!(|bytes: &[u8]| {
    let params = CodecParams {
        kind: CodecKind::Deadband,
        ..CodecParams::default()
    };
    let (side, coupling) = (Side::Master, CouplingParams::default());
    let mut codec = CodecPair::new(&params, side, &coupling, Span(1_000_000));
    let mut inbox = Inbox::new(RunIds::default());
    let mut packet = [0; HAPTIC_FRAME_BYTES];
    let _ = encode(&HapticFrame::default(), &mut packet);
    let mut now = Time(0);
    for part in bytes.chunks(HAPTIC_FRAME_BYTES - 4) {
        packet[4..4 + part.len()].copy_from_slice(part);
        let Ok(frame) = decode_frame(&packet) else {
            continue;
        };
        now = now + Span(1_000_000);
        let extrapolated = codec
            .decoder
            .decode(Some((frame, now)), now + Span(5_000_000));
        if let Some((extrapolated, _)) = extrapolated {
            assert!(!frame.is_plausible() || extrapolated.is_plausible());
        }
        inbox.accept(extrapolated, &coupling);
        let _ = (inbox.is_stale(now, 0.1, 0.1), inbox.sync().offset_at(now));
        // own frame of this side, at its own time
        let own = HapticFrame {
            sent_ns: now.0,
            ..frame
        };
        let _ = codec.encoder.encode(&own, inbox.newest());
    }
});
