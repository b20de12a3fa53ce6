//! Cost of encoding and decoding a haptic frame, and of refusing a wrong length.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use palpate_transport::HapticFrame;
use palpate_transport::cdr::{HAPTIC_FRAME_BYTES, decode, decode_frame, encode, encode_into};
use palpate_transport::msg::{JointState, WrenchStamped};

fn codec(criterion: &mut Criterion) {
    let frame = HapticFrame {
        sequence: 9,
        position_m: [0.01, -0.02, 0.005, 0.03],
        ..HapticFrame::default()
    };
    let mut bytes = [0; HAPTIC_FRAME_BYTES];
    criterion.bench_function("encode a haptic frame", |bencher| {
        bencher.iter(|| encode(black_box(&frame), black_box(&mut bytes)));
    });
    criterion.bench_function("decode a haptic frame", |bencher| {
        bencher.iter(|| decode_frame(black_box(&bytes)));
    });
    let mut wrench = Vec::new();
    let _ = encode_into(&WrenchStamped::default(), &mut wrench);
    criterion.bench_function("decode a wrench", |bencher| {
        bencher.iter(|| decode::<WrenchStamped>(black_box(&wrench)));
    });
    let mut joints = Vec::new();
    let _ = encode_into(&JointState::default(), &mut joints);
    // The length of `name`, behind header, time and an empty frame id.
    joints[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
    criterion.bench_function("refuse a length of 2^32 - 1", |bencher| {
        bencher.iter(|| decode::<JointState>(black_box(&joints)));
    });
}

criterion_group!(benches, codec);
criterion_main!(benches);
