//! Any bytes as each message of variable size: an error, or a message that encodes to bytes that decode
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_transport::cdr::{decode, encode_into};
use palpate_transport::msg::{
    JointState, Message, OperatingStateReport, PoseStamped, StringStamped, TwistStamped,
    WrenchStamped,
};

fn check<T: Message>(bytes: &[u8]) {
    if let Ok(message) = decode::<T>(bytes) {
        let mut again = Vec::new();
        // A message that grows past the limit (empty texts gain a terminator) is refused.
        if encode_into(&message, &mut again).is_ok() {
            assert!(decode::<T>(&again).is_ok());
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    check::<StringStamped>(bytes);
    check::<OperatingStateReport>(bytes);
    check::<JointState>(bytes);
    check::<WrenchStamped>(bytes);
    check::<PoseStamped>(bytes);
    check::<TwistStamped>(bytes);
});
