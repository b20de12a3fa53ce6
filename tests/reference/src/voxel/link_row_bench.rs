//! Tensile test of a row of links: one end held, the other moved at a steady rate, forces recorded.
//!
//! Source: seed-001 section 3.4.5 (its Figs. 14 to 16; rows DF-10, DF-15 to DF-18). In every step the driven end
//! moves, propagation keeps the limits, and some passes relax the row. Lengths are in rest lengths of a link, forces
//! in its stiffness.
//!
//! The total force is the sum over links, which the source seems to plot. With a proportional response it depends
//! only on the length, so hysteresis and relaxation are visible with a quadratic response. The force of the last link
//! is the holding force; it ends at that of the longest link.

use std::fmt::Write;

use crate::voxel::relaxation::RelaxationError;
use crate::voxel::response::ResponseLaw;

/// Settings of the test.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkRowBench {
    /// Number of links, 2 to 10 000.
    pub links: usize,
    /// Force of a link by its elongation, and step by the distance to the midpoint.
    pub response: ResponseLaw,
    /// Least and greatest length of a link.
    pub limits: (f64, f64),
    /// Share of the distance that a pass moves a node, 0 to 1, both excluded.
    pub gain: f64,
    /// Passes after every step.
    pub passes: usize,
    /// Motion of the driven end in a step.
    pub step: f64,
    /// Number of steps outwards.
    pub steps: usize,
}

/// Sample after a step or a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkRowSample {
    /// Number of steps, or of passes at a fixed length, since the start.
    pub time: usize,
    /// Length of the row over its links.
    pub mean_length: f64,
    /// Sum of the forces of all links.
    pub total: f64,
    /// Force of the driven link.
    pub end: f64,
}

/// State of the row.
#[derive(Debug, Clone)]
struct LinkRow<'a> {
    bench: &'a LinkRowBench,
    at: Vec<f64>,
    before: Vec<f64>,
}

impl LinkRowBench {
    /// Returns the reference settings of section 3.4.5: 50 links, stretched to 1.25 of the rest length.
    #[must_use]
    pub const fn reference(response: ResponseLaw, gain: f64, passes: usize) -> Self {
        Self {
            links: 50,
            response,
            limits: (0.5, 2.5),
            gain,
            passes,
            step: 0.05,
            steps: 250,
        }
    }

    /// Returns the five settings of section 3.4.5 by name: two proportional, and three quadratic as in Fig. 14.
    #[must_use]
    pub fn figure_14() -> [(&'static str, Self); 5] {
        use ResponseLaw::{Linear, Quadratic};
        [
            ("linear, gain 0.5", Self::reference(Linear, 0.5, 1)),
            ("linear, gain 0.1", Self::reference(Linear, 0.1, 1)),
            ("quadratic, gain 0.5", Self::reference(Quadratic, 0.5, 1)),
            ("quadratic, gain 0.25", Self::reference(Quadratic, 0.25, 1)),
            (
                "quadratic, gain 0.5, 20 passes",
                Self::reference(Quadratic, 0.5, 20),
            ),
        ]
    }

    /// Checks that all settings are in range.
    ///
    /// # Errors
    /// [`RelaxationError`] of the first field that is out of range.
    pub fn check(&self) -> Result<(), RelaxationError> {
        let refuse = |field, value, expected| {
            Err(RelaxationError {
                field,
                value,
                expected,
            })
        };
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52, or refused")]
        let [links, passes, steps] = [self.links, self.passes, self.steps].map(|n| n as f64);
        if !(2..=10_000).contains(&self.links) {
            return refuse("links", links, "2 to 10 000");
        }
        if self.passes > 10_000 {
            return refuse("passes", passes, "at most 10 000");
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
            return refuse("step", self.step, "a displacement within the limits");
        }
        Ok(())
    }

    /// Stretches the row and releases it at the same rate (Figs. 14 and 15); returns the state at rest, then one
    /// sample per step.
    ///
    /// # Errors
    /// [`RelaxationError`] if a setting is out of range.
    pub fn load_unload(&self) -> Result<Vec<LinkRowSample>, RelaxationError> {
        self.check()?;
        let mut row = LinkRow::new(self);
        let mut samples = Vec::with_capacity(2 * self.steps + 1);
        samples.push(row.sample(0));
        for time in 1..=2 * self.steps {
            let out = time <= self.steps;
            row.step(if out { self.step } else { -self.step });
            samples.push(row.sample(time));
        }
        Ok(samples)
    }

    /// Stretches the row and keeps its length (Fig. 16); returns the state when stretched, then after `times` passes,
    /// in growing order.
    ///
    /// # Errors
    /// [`RelaxationError`] if a setting is out of range.
    pub fn stretch_and_hold(&self, times: &[usize]) -> Result<Vec<LinkRowSample>, RelaxationError> {
        self.check()?;
        let mut row = LinkRow::new(self);
        for _ in 0..self.steps {
            row.step(self.step);
        }
        let mut samples = vec![row.sample(0)];
        let mut done = 0;
        for &time in times {
            for _ in done..time {
                row.pass();
            }
            done = done.max(time);
            samples.push(row.sample(time));
        }
        Ok(samples)
    }

    /// Returns the limit of the total force at a fixed length, where all links are equally long.
    #[must_use]
    pub fn equilibrium_force_sum(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let (links, steps) = (self.links as f64, self.steps as f64);
        links * self.response.value(self.step * steps / links)
    }
}

impl<'a> LinkRow<'a> {
    fn new(bench: &'a LinkRowBench) -> Self {
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
        for _ in 0..self.bench.passes {
            self.pass();
        }
    }

    fn pass(&mut self) {
        self.before.clone_from(&self.at);
        let ends = self.before.windows(3).map(|w| 0.5 * (w[0] + w[2]) - w[1]);
        for (at, distance) in self.at[1..].iter_mut().zip(ends) {
            *at += self.bench.gain * self.bench.response.value(distance);
        }
    }

    fn sample(&self, time: usize) -> LinkRowSample {
        let forces = self.at.windows(2);
        let mut forces = forces.map(|w| self.bench.response.value(w[1] - w[0] - 1.0));
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let links = self.bench.links as f64;
        LinkRowSample {
            time,
            mean_length: (self.at[self.bench.links] - self.at[0]) / links,
            total: forces.clone().sum(),
            end: forces.next_back().unwrap_or(0.0),
        }
    }
}

/// Returns the dissipated work of a loop over the mean length: of the total force and of the last link.
#[must_use]
pub fn hysteresis_work(samples: &[LinkRowSample]) -> (f64, f64) {
    let mut work = (0.0, 0.0);
    for pair in samples.windows(2) {
        let by = pair[1].mean_length - pair[0].mean_length;
        work.0 += 0.5 * (pair[0].total + pair[1].total) * by;
        work.1 += 0.5 * (pair[0].end + pair[1].end) * by;
    }
    work
}

/// Returns the samples as a table for plots.
#[must_use]
pub fn csv(samples: &[LinkRowSample]) -> String {
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
