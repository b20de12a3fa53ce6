//! A row of links on a test bench: one end held, the other drawn at a steady rate, forces recorded.
//!
//! Source: seed-001 section 3.4.5 (its Figs. 14 to 16; rows DF-10, DF-15 to DF-18). Every step the drawn end moves,
//! the chain follows where limits ask, and some sweeps relax it. Lengths are in rest lengths of a link, forces
//! in its stiffness. The total is the sum over links, which is what the source seems to plot; in proportion
//! it only tells the length, so loops and relaxation are seen with a quadratic response. The force of the
//! last link is what a hand would hold, and ends at that of the longest link.

use std::fmt::Write;

use crate::voxel::relax::RelaxError;
use crate::voxel::response::Response;

/// A bench.
#[derive(Debug, Clone, PartialEq)]
pub struct Bench {
    /// Links of the row, 2 to 10 000.
    pub links: usize,
    /// Force of a link by its elongation, and step by the way to the middle.
    pub response: Response,
    /// Shortest and longest link.
    pub limits: (f64, f64),
    /// Share of the way that a sweep goes, 0 to 1, both excluded.
    pub gain: f64,
    /// Sweeps after every step.
    pub sweeps: usize,
    /// Way of the drawn end in a step.
    pub step: f64,
    /// Steps out.
    pub steps: usize,
}

/// What the bench records after a step or a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Steps, or sweeps of a hold, since the begin.
    pub time: usize,
    /// Length of the row over its links.
    pub mean_length: f64,
    /// Sum of the forces of all links.
    pub total: f64,
    /// Force of the link that is drawn.
    pub end: f64,
}

/// The row on the bench.
#[derive(Debug, Clone)]
struct Row<'a> {
    bench: &'a Bench,
    at: Vec<f64>,
    before: Vec<f64>,
}

impl Bench {
    /// The reference of section 3.4.5: 50 links, drawn to 1.25 of the length at rest.
    #[must_use]
    pub const fn reference(response: Response, gain: f64, sweeps: usize) -> Self {
        Self {
            links: 50,
            response,
            limits: (0.5, 2.5),
            gain,
            sweeps,
            step: 0.05,
            steps: 250,
        }
    }

    /// The five settings of section 3.4.5, two in proportion and three quadratic as in Fig. 14, by name.
    #[must_use]
    pub fn figure_14() -> [(&'static str, Self); 5] {
        use Response::{Linear, Quadratic};
        [
            ("linear, gain 0.5", Self::reference(Linear, 0.5, 1)),
            ("linear, gain 0.1", Self::reference(Linear, 0.1, 1)),
            ("quadratic, gain 0.5", Self::reference(Quadratic, 0.5, 1)),
            ("quadratic, gain 0.25", Self::reference(Quadratic, 0.25, 1)),
            (
                "quadratic, gain 0.5, 20 sweeps",
                Self::reference(Quadratic, 0.5, 20),
            ),
        ]
    }

    /// Whether it can be run.
    ///
    /// # Errors
    /// [`RelaxError`] of the first field that is out of range.
    pub fn check(&self) -> Result<(), RelaxError> {
        let refuse = |field, value, expected| {
            Err(RelaxError {
                field,
                value,
                expected,
            })
        };
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52, or refused")]
        let [links, sweeps, steps] = [self.links, self.sweeps, self.steps].map(|n| n as f64);
        if !(2..=10_000).contains(&self.links) {
            return refuse("links", links, "2 to 10 000");
        }
        if self.sweeps > 10_000 {
            return refuse("sweeps", sweeps, "at most 10 000");
        }
        if !(1..=1_000_000).contains(&self.steps) {
            return refuse("steps", steps, "1 to 1 000 000");
        }
        if !(self.gain > 0.0 && self.gain < 1.0) {
            return refuse("gain", self.gain, "more than 0 and less than 1");
        }
        let (shortest, longest) = self.limits;
        if !(0.0..=1.0).contains(&shortest) {
            return refuse("shortest", shortest, "0 to 1");
        }
        if !(longest >= 1.0 && longest.is_finite()) {
            return refuse("longest", longest, "a finite number, at least 1");
        }
        let mean = 1.0 + self.step * steps / links;
        if !(self.step != 0.0 && (shortest..=longest).contains(&mean)) {
            return refuse("step", self.step, "a way that ends within the limits");
        }
        Ok(())
    }

    /// Draws the row out and lets it back at the same rate (Figs. 14 and 15): the state at rest, then one sample a
    /// step.
    ///
    /// # Errors
    /// [`RelaxError`] if it cannot be run.
    pub fn load_unload(&self) -> Result<Vec<Sample>, RelaxError> {
        self.check()?;
        let mut row = Row::new(self);
        let mut samples = Vec::with_capacity(2 * self.steps + 1);
        samples.push(row.sample(0));
        for time in 1..=2 * self.steps {
            let out = time <= self.steps;
            row.step(if out { self.step } else { -self.step });
            samples.push(row.sample(time));
        }
        Ok(samples)
    }

    /// Draws the row out and holds it (Fig. 16): the state when drawn, then after as many sweeps as `times`
    /// says, which grow.
    ///
    /// # Errors
    /// [`RelaxError`] if it cannot be run.
    pub fn hold(&self, times: &[usize]) -> Result<Vec<Sample>, RelaxError> {
        self.check()?;
        let mut row = Row::new(self);
        for _ in 0..self.steps {
            row.step(self.step);
        }
        let mut samples = vec![row.sample(0)];
        let mut done = 0;
        for &time in times {
            for _ in done..time {
                row.sweep();
            }
            done = done.max(time);
            samples.push(row.sample(time));
        }
        Ok(samples)
    }

    /// The total that a hold tends to: all links equally long.
    #[must_use]
    pub fn settled(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let (links, steps) = (self.links as f64, self.steps as f64);
        links * self.response.of(self.step * steps / links)
    }
}

impl<'a> Row<'a> {
    fn new(bench: &'a Bench) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let at: Vec<f64> = (0..=bench.links).map(|i| i as f64).collect();
        Self {
            bench,
            before: at.clone(),
            at,
        }
    }

    fn step(&mut self, by: f64) {
        let (shortest, longest) = self.bench.limits;
        let last = self.bench.links;
        self.at[last] += by;
        for i in (1..last).rev() {
            let after = self.at[i + 1];
            let to = self.at[i].clamp(after - longest, after - shortest);
            if to == self.at[i] {
                break;
            }
            self.at[i] = to;
        }
        for _ in 0..self.bench.sweeps {
            self.sweep();
        }
    }

    fn sweep(&mut self) {
        self.before.clone_from(&self.at);
        let ends = self.before.windows(3).map(|w| 0.5 * (w[0] + w[2]) - w[1]);
        for (at, way) in self.at[1..].iter_mut().zip(ends) {
            *at += self.bench.gain * self.bench.response.of(way);
        }
    }

    fn sample(&self, time: usize) -> Sample {
        let forces = self.at.windows(2);
        let mut forces = forces.map(|w| self.bench.response.of(w[1] - w[0] - 1.0));
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let links = self.bench.links as f64;
        Sample {
            time,
            mean_length: (self.at[self.bench.links] - self.at[0]) / links,
            total: forces.clone().sum(),
            end: forces.next_back().unwrap_or(0.0),
        }
    }
}

/// Work of a loop that was not given back, over the mean length: of the total force and of the last link.
#[must_use]
pub fn loop_work(samples: &[Sample]) -> (f64, f64) {
    let mut work = (0.0, 0.0);
    for pair in samples.windows(2) {
        let by = pair[1].mean_length - pair[0].mean_length;
        work.0 += 0.5 * (pair[0].total + pair[1].total) * by;
        work.1 += 0.5 * (pair[0].end + pair[1].end) * by;
    }
    work
}

/// Samples as a table that a report can plot.
#[must_use]
pub fn csv(samples: &[Sample]) -> String {
    let mut text = String::from("time,mean_length,total_force,end_force\n");
    for s in samples {
        // writing to a string does not fail
        let _ = writeln!(
            text,
            "{},{:.6},{:.9},{:.9}",
            s.time, s.mean_length, s.total, s.end
        );
    }
    text
}
