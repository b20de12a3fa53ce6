//! Integer time, clocks, and the ticker of a servo loop.
//!
//! Source: ours; absolute deadlines and the spin tail as measured in transport section 4.
//! `DeadlineSchedule` is the pure half of the ticker: the next deadline, and the deadlines missed by a
//! late wake-up. A missed deadline is counted and skipped, never made up for, so ticks never come in bursts.

use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use serde::{Deserialize, Serialize};

/// Time on some clock's own axis \[ns\].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(pub i64);

/// Signed duration \[ns\].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(pub i64);

/// Period of the ticks of both sides \[ns\].
pub const PERIOD: Span = Span(1_000_000);

/// Most periods that one tick accounts for; if more were missed, motion restarts.
pub const PERIODS_PER_TICK_MAX: u64 = 20;

impl Span {
    /// Converts seconds, rounded to the nanosecond; not-a-number gives zero, infinities saturate.
    #[must_use]
    pub fn from_s(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as i64)
    }

    /// Converts milliseconds, as [`Span::from_s`].
    #[must_use]
    pub fn from_ms(milliseconds: f64) -> Self {
        Self((milliseconds * 1e6).round() as i64)
    }

    /// Returns the span in seconds.
    #[must_use]
    pub const fn s(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Returns the span in milliseconds.
    #[must_use]
    pub const fn ms(self) -> f64 {
        self.0 as f64 * 1e-6
    }
}

impl std::ops::Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl std::ops::Sub for Time {
    type Output = Span;
    fn sub(self, other: Time) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl std::ops::Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl std::ops::Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl std::ops::Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

/// Source of the current time.
pub trait Clock {
    /// Returns the current time; it never decreases from call to call.
    fn now(&self) -> Time;
}

/// Monotonic clock of the machine: the same axis for all processes of one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    fn now(&self) -> Time {
        read(ClockId::CLOCK_MONOTONIC)
    }
}

/// CPU time used by the calling thread; the difference of two readings is the cost between them.
#[must_use]
pub fn thread_cpu_now() -> Time {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// Time of day as nanoseconds since 1970, UTC: for file names, never for control.
#[must_use]
pub fn wall_now() -> Time {
    read(ClockId::CLOCK_REALTIME)
}

/// Reads a clock of the kernel. The clocks used here exist on every supported platform, so the
/// call cannot fail; if it did, the time would stay at zero.
fn read(clock: ClockId) -> Time {
    clock_gettime(clock).map_or(Time(0), |time| {
        Time(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
    })
}

/// One wake-up of a ticker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tick {
    /// Number of the deadline on the grid, from 0; missed deadlines are skipped.
    pub n: u64,
    /// Time of the wake-up.
    pub now: Time,
    /// Lateness after the awaited deadline; more than a period if deadlines were missed.
    pub late: Span,
    /// Deadlines that passed without a tick since the previous tick.
    pub missed: u64,
}

/// Shortest period of a schedule.
const PERIOD_MIN: Span = Span(10_000);

/// Deadlines on a fixed grid. Pure: the caller waits and passes the time of its wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeadlineSchedule {
    period: Span,
    deadline: Time,
    n: u64,
    skipped: u64,
}

impl DeadlineSchedule {
    /// Creates deadlines at `first` and every `period` after it; a period below 10 us becomes 10 us.
    #[must_use]
    pub(crate) fn new(first: Time, period: Span) -> Self {
        Self {
            period: period.max(PERIOD_MIN),
            deadline: first,
            n: 0,
            skipped: 0,
        }
    }

    /// Next deadline.
    #[must_use]
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }

    /// Records a wake-up at `now` and selects the next deadline that is at least half a period away,
    /// so that a late tick is never followed at once by another.
    pub(crate) fn wake(&mut self, now: Time) -> Tick {
        let late = (now - self.deadline).max(Span(0));
        let passed = late.0 / self.period.0;
        let tick = Tick {
            n: self.n.saturating_add(passed as u64),
            now,
            late,
            missed: self.skipped.saturating_add(passed as u64),
        };
        // A wake-up in the second half of a period leaves too little time to the next deadline.
        self.skipped = u64::from(late.0 % self.period.0 > self.period.0 / 2);
        self.n = tick.n.saturating_add(1 + self.skipped);
        let periods = passed + 1 + self.skipped as i64;
        self.deadline = self.deadline + Span(self.period.0.saturating_mul(periods));
        tick
    }
}

/// Ticker that wakes its thread at absolute deadlines of the monotonic clock. Allocates nothing.
#[derive(Debug, Clone)]
pub struct Ticker {
    schedule: DeadlineSchedule,
    spin: Span,
}

impl Ticker {
    /// Creates a ticker with its first deadline at `first` on [`MonotonicClock`]; `period` as in
    /// `DeadlineSchedule::new`. It sleeps until `spin` (0 to `period`) before each deadline and spins for
    /// the rest: 50 us cost 3 % of a core at 1 kHz and hide the latency of the kernel's timer.
    #[must_use]
    pub fn new(first: Time, period: Span, spin: Span) -> Self {
        let schedule = DeadlineSchedule::new(first, period);
        let spin = spin.clamp(Span(0), schedule.period);
        Self { schedule, spin }
    }

    /// Blocks until the next deadline, or returns at once if it has passed.
    pub fn wait(&mut self) -> Tick {
        let deadline = self.schedule.deadline();
        sleep_until(deadline - self.spin);
        let mut now = MonotonicClock.now();
        while now < deadline {
            std::hint::spin_loop();
            now = MonotonicClock.now();
        }
        self.schedule.wake(now)
    }
}

/// Sleeps for a span, for threads without a period; a signal does not cut it short.
pub fn sleep_for(span: Span) {
    sleep_until(MonotonicClock.now() + span);
}

/// Sleeps until a time of the monotonic clock; a signal does not cut the sleep short.
fn sleep_until(time: Time) {
    let (seconds, nanoseconds) = (
        time.0.div_euclid(1_000_000_000),
        time.0.rem_euclid(1_000_000_000),
    );
    let request = TimeSpec::new(seconds, nanoseconds);
    let flags = ClockNanosleepFlags::TIMER_ABSTIME;
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, flags, &request) == Err(Errno::EINTR) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule() -> DeadlineSchedule {
        DeadlineSchedule::new(Time(0), PERIOD)
    }

    #[test]
    fn seconds_and_back() {
        assert_eq!(Span::from_s(0.25), Span(250_000_000));
        assert_eq!(Span::from_ms(-1.5), Span(-1_500_000));
        assert_eq!(Span::from_s(f64::NAN), Span(0));
        assert_eq!(Span::from_s(f64::INFINITY), Span(i64::MAX));
        assert_eq!(Time(i64::MAX) + Span(1), Time(i64::MAX));
        assert_eq!(Time(i64::MIN) - Span(1), Time(i64::MIN));
        assert_eq!(Span(3) - Span(5), Span(-2));
    }

    #[test]
    fn kernel_clocks_never_go_back() {
        let clocks: [fn() -> Time; 2] = [|| MonotonicClock.now(), thread_cpu_now];
        for clock in clocks {
            let mut last = clock();
            assert!(last > Time(0));
            for _ in 0..10_000 {
                let now = clock();
                assert!(now >= last);
                last = now;
            }
        }
    }

    #[test]
    fn punctual_loop_misses_nothing() {
        let mut schedule = schedule();
        for n in 0..100 {
            let now = schedule.deadline() + Span(20_000);
            let tick = schedule.wake(now);
            assert_eq!((tick.n, tick.missed, tick.late), (n, 0, Span(20_000)));
        }
        assert_eq!(schedule.deadline(), Time(100 * PERIOD.0));
    }

    #[test]
    fn late_loop_skips_and_counts_deadlines() {
        let mut schedule = schedule();
        schedule.wake(Time(0));
        // Deadline 1 was awaited; 2 and 3 passed without a tick; 4 is only 0.1 ms away.
        let late = schedule.wake(Time(3_900_000));
        assert_eq!((late.n, late.missed, late.late), (3, 2, Span(2_900_000)));
        assert_eq!(schedule.deadline(), Time(5 * PERIOD.0));
        let next = schedule.wake(Time(5 * PERIOD.0));
        assert_eq!((next.n, next.missed, next.late), (5, 1, Span(0)));
    }

    #[test]
    fn invalid_periods_and_spin_times_are_bounded() {
        for period_ns in [0, -1, 9_999, i64::MIN] {
            let mut schedule = DeadlineSchedule::new(Time(0), Span(period_ns));
            schedule.wake(Time(0));
            assert_eq!(schedule.deadline(), Time(PERIOD_MIN.0));
        }
        assert_eq!(Ticker::new(Time(0), PERIOD, Span(-1)).spin, Span(0));
        assert_eq!(Ticker::new(Time(0), PERIOD, Span(i64::MAX)).spin, PERIOD);
    }

    #[test]
    fn ticker_never_wakes_early_and_accounts_for_every_deadline() {
        for spin in [Span(0), Span(50_000)] {
            let first = MonotonicClock.now() + PERIOD;
            let mut ticker = Ticker::new(first, PERIOD, spin);
            let mut expected = 0;
            for _ in 0..30 {
                let tick = ticker.wait();
                expected += tick.missed;
                assert_eq!(tick.n, expected);
                assert!(tick.now >= first + Span(tick.n as i64 * PERIOD.0));
                expected += 1;
            }
        }
    }

    proptest! {
        #[test]
        fn ticks_keep_half_a_period_and_lose_no_deadline(
            delays in prop::collection::vec(0_i64..6_000_000, 1..200)
        ) {
            let mut schedule = schedule();
            let (mut last, mut expected) = (None, 0);
            for delay in delays {
                let now = schedule.deadline() + Span(delay);
                let tick = schedule.wake(now);
                expected += tick.missed;
                prop_assert_eq!(tick.n, expected);
                expected += 1;
                prop_assert_eq!(tick.late, Span(delay));
                prop_assert!(last.is_none_or(|last| now - last >= Span(PERIOD.0 / 2)));
                prop_assert!(schedule.deadline() - now >= Span(PERIOD.0 / 2));
                last = Some(now);
            }
        }

        #[test]
        fn any_time_gives_a_tick(
            (period_ns, first) in any::<(i64, i64)>(),
            moments in prop::array::uniform8(any::<i64>()),
        ) {
            let mut schedule = DeadlineSchedule::new(Time(first), Span(period_ns));
            for now in moments {
                let tick = schedule.wake(Time(now));
                prop_assert!(tick.late >= Span(0));
            }
        }
    }
}
