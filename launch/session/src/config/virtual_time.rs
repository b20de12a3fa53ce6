//! Parts of the configuration that only virtual time has: clocks that differ, and peers that forge frames.

use palpate_transport::params;
use palpate_transport::trace::Side;

params! {
    /// The slave's clock against the master's, in virtual time.
    #[derive(Copy)]
    pub struct ClockConfig: "clock." {
        /// Offset \[ms\].
        pub offset_ms: f64 = 0.0 => (-1e9..=1e9, "at most 1e9 either way"),
        /// Rate error \[ppm\].
        pub skew_ppm: f64 = 0.0 => (-1e3..=1e3),
        /// Step of the clock, such as by a time server \[ms\].
        pub step_ms: f64 = 0.0 => (-1e6..=1e6, "at most 1e6 either way"),
        /// Time of that step after the start \[s\].
        pub step_at_s: f64 = 1.0 => (0.0..=86_400.0),
        /// ROS time at the start of a session in virtual time, since 1970 \[s\].
        pub epoch_s: f64 = 946_684_800.0 => (0.0..=2e9),
    }
}

impl ClockConfig {
    /// ROS time at the start of a session in virtual time, since 1970 \[ns\].
    #[must_use]
    pub fn epoch_ns(&self) -> i64 {
        (self.epoch_s * 1e9).round() as i64
    }
}

params! {
    /// Peers that forge frames, in virtual time: they know the runs of both sides, and no key.
    #[derive(Copy)]
    pub struct LiarConfig: "liar." {
        /// Fraction of the ticks in which a frame of the master is forged.
        pub master_share: f64 = 0.0 => (0.0..=1.0),
        /// Fraction of the ticks in which a frame of the slave is forged.
        pub slave_share: f64 = 0.0 => (0.0..=1.0),
    }
}

impl LiarConfig {
    /// True if any frame is forged.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.shares().iter().any(|(_, share)| *share > 0.0)
    }

    /// Fraction of the ticks in which a frame of each side is forged.
    pub(crate) fn shares(&self) -> [(Side, f64); 2] {
        [
            (Side::Master, self.master_share),
            (Side::Slave, self.slave_share),
        ]
    }
}
