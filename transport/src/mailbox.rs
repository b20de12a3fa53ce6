//! Where threads meet without waiting for each other: the latest value, and a ring of values.
//!
//! Source: ours, over the crates `triple_buffer` and `rtrb`. [`latest`] is for values of which only
//! the newest counts (a frame, a command); [`ring`] for values that should all arrive (records).
//! Every call is wait-free and allocates nothing; both are for one writer and one reader. Values
//! are meant to be plain data: dropping one that owns memory would free it on the servo thread.

/// A cell that holds the newest value; the reader sees `initial` until something is written.
#[must_use]
pub fn latest<T: Clone + Send>(initial: T) -> (LatestWriter<T>, LatestReader<T>) {
    let (input, output) = triple_buffer::triple_buffer(&initial);
    (LatestWriter { input }, LatestReader { output })
}

/// Writing end of a latest-value cell.
#[derive(Debug)]
pub struct LatestWriter<T: Send> {
    input: triple_buffer::Input<T>,
}

impl<T: Send> LatestWriter<T> {
    /// Replace the value; one that was not read in time is gone.
    pub fn write(&mut self, value: T) {
        self.input.write(value);
    }

    /// The buffer that the next [`Self::publish`] shows, for values too large to be copied twice. What it
    /// holds is any earlier value.
    pub fn draft(&mut self) -> &mut T {
        self.input.input_buffer_mut()
    }

    /// Show what [`Self::draft`] holds, as [`Self::write`] would.
    pub fn publish(&mut self) {
        self.input.publish();
    }
}

/// Reading end of a latest-value cell.
#[derive(Debug)]
pub struct LatestReader<T: Send> {
    output: triple_buffer::Output<T>,
}

impl<T: Send> LatestReader<T> {
    /// The newest value, new or not.
    pub fn read(&mut self) -> &T {
        self.output.read()
    }

    /// The newest value if it was written since the last call of this or of [`Self::read`].
    pub fn read_new(&mut self) -> Option<&T> {
        self.output.update().then(|| self.output.output_buffer())
    }
}

/// A first-in first-out ring with place for `capacity` values.
#[must_use]
pub fn ring<T: Send>(capacity: usize) -> (RingSender<T>, RingReceiver<T>) {
    let (producer, consumer) = rtrb::RingBuffer::new(capacity);
    (
        RingSender { ring: producer },
        RingReceiver { ring: consumer },
    )
}

/// Writing end of a ring.
#[derive(Debug)]
pub struct RingSender<T> {
    ring: rtrb::Producer<T>,
}

impl<T> RingSender<T> {
    /// Append a value; if the ring is full this newest value is dropped. Gives whether it was taken.
    pub fn push(&mut self, value: T) -> bool {
        self.ring.push(value).is_ok()
    }
}

/// Reading end of a ring.
#[derive(Debug)]
pub struct RingReceiver<T> {
    ring: rtrb::Consumer<T>,
}

impl<T> RingReceiver<T> {
    /// The oldest value, if there is one.
    pub fn pop(&mut self) -> Option<T> {
        self.ring.pop().ok()
    }

    /// Values that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ring.slots()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reader_knows_what_is_new() {
        let (mut writer, mut reader) = latest(7);
        assert_eq!(reader.read_new(), None);
        assert_eq!(reader.read(), &7);
        writer.write(8);
        writer.write(9);
        assert_eq!(reader.read_new(), Some(&9));
        assert_eq!(reader.read_new(), None);
        assert_eq!(reader.read(), &9);
        writer.write(10);
        assert_eq!(reader.read(), &10);
        assert_eq!(reader.read_new(), None);
    }

    #[test]
    fn a_draft_is_seen_once_it_is_published() {
        let (mut writer, mut reader) = latest(vec![0; 3]);
        writer.draft()[1] = 5;
        assert_eq!(reader.read(), &[0; 3]);
        writer.publish();
        assert_eq!(reader.read_new(), Some(&vec![0, 5, 0]));
    }

    #[test]
    fn full_ring_drops_the_newest() {
        let (mut producer, mut consumer) = ring(3);
        let taken: Vec<bool> = (0..5).map(|value| producer.push(value)).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        assert_eq!(consumer.len(), 3);
        drop(producer);
        let left: Vec<i32> = std::iter::from_fn(|| consumer.pop()).collect();
        assert_eq!(left, [0, 1, 2]);
        assert!(consumer.is_empty());
    }

    #[test]
    fn a_ring_without_place_takes_nothing() {
        let (mut producer, mut consumer) = ring(0);
        assert!(!producer.push(1));
        assert_eq!(consumer.pop(), None);
    }

    #[test]
    fn two_threads_see_no_torn_or_old_value() {
        const WRITES: u64 = 300_000;
        let (mut writer, mut reader) = latest([0_u64; 64]);
        let thread = std::thread::spawn(move || {
            for value in 1..=WRITES {
                writer.write([value; 64]);
            }
        });
        let mut newest = 0;
        while newest < WRITES {
            let Some(value) = reader.read_new() else {
                std::thread::yield_now();
                continue;
            };
            assert!(value.iter().all(|part| *part == value[0]), "torn");
            assert!(value[0] > newest, "said to be new, but is not");
            newest = value[0];
        }
        thread.join().expect("the writer ends");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn two_threads_lose_only_what_was_not_taken(capacity in 1_usize..64, count in 0_u64..50_000) {
            let (mut producer, mut consumer) = ring(capacity);
            let thread = std::thread::spawn(move || {
                (1..=count).filter(|value| !producer.push([*value; 16])).count() as u64
            });
            let (mut popped, mut last) = (0, 0);
            loop {
                // Asked before popping: what was pushed before the end is then still found.
                let ended = thread.is_finished();
                while let Some(value) = consumer.pop() {
                    prop_assert!(value.iter().all(|part| *part == value[0]), "torn");
                    prop_assert!(value[0] > last, "out of order");
                    last = value[0];
                    popped += 1;
                }
                if ended {
                    break;
                }
                std::thread::yield_now();
            }
            let dropped = thread.join().expect("the producer ends");
            prop_assert_eq!(popped + dropped, count);
        }
    }
}
