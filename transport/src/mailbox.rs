//! Wait-free cells between threads: the latest value, and a ring of values.
//!
//! Source: ours, over the crates `triple_buffer` and `rtrb`. [`latest`] is for values of which only
//! the newest counts (a frame, a command); [`ring`] for values that should all arrive (records).
//! Every call is wait-free and allocates nothing; both have one writer and one reader. Values
//! should be plain data: dropping one that owns memory would free it on the servo thread.

/// Creates a cell that holds the newest value; the reader gets `initial` until something is written.
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
    /// Replaces the value; one that was not read in time is lost.
    pub fn write(&mut self, value: T) {
        self.input.write(value);
    }

    /// Buffer that the next [`Self::publish`] makes visible, for values too large to be copied twice. Its
    /// content is any earlier value.
    pub fn draft(&mut self) -> &mut T {
        self.input.input_buffer_mut()
    }

    /// Makes the value in [`Self::draft`] visible, as [`Self::write`] would.
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
    /// Returns the newest value, new or not.
    pub fn read(&mut self) -> &T {
        self.output.read()
    }

    /// Returns the newest value if it was written since the last call of this or of [`Self::read`].
    pub fn read_new(&mut self) -> Option<&T> {
        self.output.update().then(|| self.output.output_buffer())
    }
}

/// Creates a first-in first-out ring with room for `capacity` values.
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
    /// Appends a value; if the ring is full this newest value is dropped. Returns true if it was stored.
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
    /// Removes and returns the oldest value, if there is one.
    pub fn pop(&mut self) -> Option<T> {
        self.ring.pop().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reader_distinguishes_new_values() {
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
    fn draft_is_visible_once_published() {
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
        assert_eq!(consumer.ring.slots(), 3);
        drop(producer);
        let left: Vec<i32> = std::iter::from_fn(|| consumer.pop()).collect();
        assert_eq!(left, [0, 1, 2]);
        assert!(consumer.ring.is_empty());
    }

    #[test]
    fn ring_without_capacity_stores_nothing() {
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
            assert!(value[0] > newest, "reported as new, but is not");
            newest = value[0];
        }
        thread.join().expect("the writer ends");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn two_threads_lose_only_dropped_values(capacity in 1_usize..64, count in 0_u64..50_000) {
            let (mut producer, mut consumer) = ring(capacity);
            let thread = std::thread::spawn(move || {
                (1..=count).filter(|value| !producer.push([*value; 16])).count() as u64
            });
            let (mut popped, mut last) = (0, 0);
            loop {
                // Read before popping: values pushed before the end are then still found.
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
