//! Threads that share a tissue's step: the crew of a driver that has a core to spare.
//!
//! Source: ours. Hands take items one by one, each its own range first, then what others have not begun,
//! so nobody waits for a thread that the machine has put aside before it took anything. A hand
//! without work looks for some microseconds and then sleeps: there is no spinning for as long as
//! another takes on a shared core. Handing work over allocates nothing.
//!
//! An item is claimed by its slot: `2 t` is open in turn `t`, `2 t + 1` taken. Only the owner opens
//! slots, and it does not go on to another turn before everything that was claimed is done; so a
//! hand that comes late finds nothing to claim, and a claim is a proof that the job it reads is
//! that of its turn.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use palpate_twin::crew::Crew;

/// Most items that are shared; more are done by the owner alone.
const ITEMS: usize = 64;
/// Looks for work before a hand sleeps: some tens of microseconds, as long as the serial part
/// between two shared ones.
const LOOKS: u32 = 2000;
/// Shortest pass that is shared \[ns\]. Data that goes from core to core and back costs about 0.1 ms a tick:
/// two threads gain nothing on passes of that length (9 261 nodes), and 1.8 times on 0.3 ms (29 791).
const LEAST_NS: f64 = 2e5;
/// The turn in which hands go home.
const HOME: u64 = u64::MAX;

/// Where hands wait: for a bounded number of looks awake, then asleep.
#[derive(Debug, Default)]
struct Bell {
    lock: Mutex<()>,
    rung: Condvar,
    sleepers: AtomicU32,
}

impl Bell {
    fn hold(&self) -> MutexGuard<'_, ()> {
        // it guards nothing that a panic could leave half done
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when `ready` says so; that must be a load in one order with the caller of
    /// [`Bell::ring`]'s store.
    fn wait(&self, ready: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            if ready() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut held = self.hold();
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !ready() {
            held = self.rung.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes all who sleep, once they can see what they wait for.
    fn ring(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(self.hold());
            self.rung.notify_all();
        }
    }
}

/// What is done with every item, without its types.
#[derive(Clone, Copy)]
struct Job {
    items: *mut (),
    work: *const (),
    call: unsafe fn(*mut (), *const (), usize),
}

/// Calls the work with one item.
///
/// # Safety
/// `items` is a slice of more than `index` items of `T` and `work` an `F`, both alive, and nobody else
/// uses that item.
unsafe fn call<T, F: Fn(&mut T)>(items: *mut (), work: *const (), index: usize) {
    // SAFETY: as the caller promises.
    let (item, work) = unsafe { (&mut *items.cast::<T>().add(index), &*work.cast::<F>()) };
    work(item);
}

unsafe fn nothing(_: *mut (), _: *const (), _: usize) {}

/// Apart from its neighbours, so that hands do not take each other's lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// What the hands see.
struct Table {
    turn: Apart<AtomicU64>,
    slots: Apart<[AtomicU64; ITEMS]>,
    done: Apart<AtomicUsize>,
    count: AtomicUsize,
    broken: AtomicBool,
    job: UnsafeCell<Job>,
    more: Bell,
    all: Bell,
    /// The owner included.
    hands: usize,
}

// SAFETY: the job is written by the owner alone, while no slot is open or being worked on, and read
// only by those who claimed a slot, which its opening made visible. What it points to may go to
// other threads: `Crew::each` asks for `T: Send` and a `work` that is `Sync`.
unsafe impl Sync for Table {}
// SAFETY: as above; pointers are followed under a claim only.
unsafe impl Send for Table {}

/// Counts an item as done, whatever happens to it.
struct Done<'a>(&'a Table);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        let table = self.0;
        if std::thread::panicking() {
            table.broken.store(true, Ordering::SeqCst);
        }
        let count = table.count.load(Ordering::Relaxed);
        if table.done.0.fetch_add(1, Ordering::SeqCst) + 1 == count {
            table.all.ring();
        }
    }
}

/// The owner stays until all that was claimed is done, whatever happens to its own items.
struct Stay<'a>(&'a Table, u64);

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        let Self(table, turn) = self;
        let count = table.count.load(Ordering::Relaxed);
        // none is left but after a panic
        let left = (0..count).filter(|&index| table.claim(index, *turn));
        table.done.0.fetch_add(left.count(), Ordering::SeqCst);
        table
            .all
            .wait(|| table.done.0.load(Ordering::SeqCst) == count);
    }
}

impl Table {
    fn claim(&self, index: usize, turn: u64) -> bool {
        let slot = &self.slots.0[index];
        slot.compare_exchange(2 * turn, 2 * turn + 1, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Does what `hand` gets hold of: upwards in its own range, then downwards from there all round.
    fn take(&self, turn: u64, hand: usize) {
        // that of a later turn too: what is claimed is of this one
        let count = self.count.load(Ordering::Relaxed);
        let (from, to) = (count * hand / self.hands, count * (hand + 1) / self.hands);
        let others = (0..count - (to - from)).map(|k| (from + count - 1 - k) % count);
        for index in (from..to).chain(others) {
            if !self.claim(index, turn) {
                continue;
            }
            let _done = Done(self);
            // SAFETY: the slot was open in this turn, so the job was written before that and stays
            // until this item counts as done; `index` is below the number of items of this turn,
            // for only so many slots were opened, and nobody else can claim it.
            unsafe {
                let job = *self.job.get();
                (job.call)(job.items, job.work, index);
            }
        }
    }

    fn work(&self, hand: usize) {
        let mut seen = 0;
        loop {
            let turn = || self.turn.0.load(Ordering::SeqCst);
            self.more.wait(|| turn() != seen);
            seen = turn();
            if seen == HOME {
                return;
            }
            self.take(seen, hand);
        }
    }
}

/// The calling thread and others that wait for work.
pub struct Threads {
    table: Arc<Table>,
    others: Vec<JoinHandle<()>>,
    turn: u64,
    always: bool,
}

impl Threads {
    /// A crew of `hands` threads, of which the caller of [`Crew::each`] is one; at least 1.
    ///
    /// # Errors
    /// As the system says it, if it gives no thread.
    pub fn new(hands: usize) -> std::io::Result<Self> {
        let hands = hands.max(1);
        let table = Arc::new(Table {
            turn: Apart::default(),
            slots: Apart([const { AtomicU64::new(0) }; ITEMS]),
            done: Apart::default(),
            count: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            job: UnsafeCell::new(Job {
                items: std::ptr::null_mut(),
                work: std::ptr::null(),
                call: nothing,
            }),
            more: Bell::default(),
            all: Bell::default(),
            hands,
        });
        let mut crew = Self {
            table,
            others: Vec::with_capacity(hands - 1),
            turn: 0,
            always: false,
        };
        for hand in 0..hands - 1 {
            let table = Arc::clone(&crew.table);
            let builder = std::thread::Builder::new().name(format!("share-{hand}"));
            crew.others.push(builder.spawn(move || table.work(hand))?);
        }
        Ok(crew)
    }

    /// The same, who share what is too short to gain by it too: to see that and what it costs.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.always = true;
        self
    }

    /// Threads, the caller's included.
    #[must_use]
    pub fn hands(&self) -> usize {
        self.table.hands
    }
}

impl Crew for Threads {
    fn pays(&self, pass_ns: f64) -> bool {
        self.table.hands > 1 && (self.always || pass_ns >= LEAST_NS)
    }

    /// # Panics
    /// If `work` does, on whichever thread, once all items are done or given up.
    fn each<T: Send>(&mut self, items: &mut [T], work: impl Fn(&mut T) + Sync) {
        if self.others.is_empty() || !(2..=ITEMS).contains(&items.len()) {
            items.iter_mut().for_each(work);
            return;
        }
        self.turn += 1;
        let (table, turn, count) = (&*self.table, self.turn, items.len());
        let job = Job {
            call: job_of(&work, items),
            work: (&raw const work).cast(),
            // last, so that nothing else is borrowed from the items after it
            items: items.as_mut_ptr().cast(),
        };
        // SAFETY: all items of the turn before are done and no slot is open, so nobody reads it.
        unsafe { *table.job.get() = job };
        table.count.store(count, Ordering::Relaxed);
        table.done.0.store(0, Ordering::Relaxed);
        for slot in &table.slots.0[..count] {
            slot.store(2 * turn, Ordering::Release);
        }
        {
            // what the job points to outlives this
            let _stay = Stay(table, turn);
            table.turn.0.store(turn, Ordering::SeqCst);
            table.more.ring();
            // the last range: what is touched and felt is on top, and stays with this thread
            table.take(turn, table.hands - 1);
        }
        assert!(
            !table.broken.load(Ordering::SeqCst),
            "shared work panicked on another thread"
        );
    }
}

/// The call for these types, which have no names.
fn job_of<T, F: Fn(&mut T)>(_: &F, _: &[T]) -> unsafe fn(*mut (), *const (), usize) {
    call::<T, F>
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.table.turn.0.store(HOME, Ordering::SeqCst);
        self.table.more.ring();
        for other in self.others.drain(..) {
            // one that panicked has said so already
            let _ = other.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once_in_every_turn() {
        for hands in 1..=4 {
            let mut crew = Threads::new(hands).expect("threads");
            assert_eq!(crew.hands(), hands);
            for turn in 0..3000_usize {
                // more than there is room for too
                let mut items = vec![0_usize; turn % (ITEMS + 3)];
                let added = turn + 1;
                crew.each(&mut items, |item| *item += added);
                assert!(items.iter().all(|&item| item == added), "{hands} {turn}");
            }
        }
    }

    #[test]
    fn sleepers_wake() {
        let mut crew = Threads::new(3).expect("threads");
        for _ in 0..20 {
            while crew.table.more.sleepers.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
            let mut items = [0_u32; 8];
            crew.each(&mut items, |item| *item += 1);
            assert_eq!(items, [1; 8]);
        }
    }

    #[test]
    fn a_panic_comes_out_when_all_are_done() {
        for wrong in [0, 7] {
            let mut crew = Threads::new(2).expect("threads");
            let mut items: Vec<usize> = (0..8).collect();
            let fall = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                crew.each(&mut items, |item| assert!(*item != wrong, "as it should"));
            }));
            assert!(fall.is_err());
            // whoever is left goes on
            drop(crew);
        }
    }
}
