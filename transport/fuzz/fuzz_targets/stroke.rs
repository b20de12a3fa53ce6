//! Any bytes: an edit batch with an exact round trip that a receiver accepts, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_transport::cdr::{EDIT_BATCH_BYTES, decode_edit_batch, encode};
use palpate_transport::edit_batch::EditBatchReceiver;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(batch) = decode_edit_batch(bytes) {
        let mut again = [0; EDIT_BATCH_BYTES];
        assert_eq!(encode(&batch, &mut again), Ok(bytes.len()));
        assert_eq!(again[4..], bytes[4..]);
        let mut receiver = EditBatchReceiver::default();
        receiver.set_expected(batch.run, batch.number - 1);
        receiver.accept(&batch);
        assert_eq!(receiver.next(), Some(&batch));
    }
});
