//! The linearised chain as it is really sampled, in the z-domain: does the loop that one hand and one tissue
//! close around it grow?
//!
//! Shares no code with the ticks, nor with the continuous [`super::two_port`]. Between two ticks a body moves
//! exactly under a held force; the channel is a 2 by 4 matrix in `q = 1/z` from what both ends read to what
//! both ends write. The loop grows if its characteristic determinant has a root outside the unit circle;
//! such roots are counted by the turns of the determinant along a circle (the argument principle, Cauchy).
//!
//! | symbol | is |
//! |---|---|
//! | q | one tick of delay, `e^(-jwT)` on the unit circle |
//! | x1, v1, F1 | position, velocity and port force of the handle |
//! | x2, v2, F2 | position and velocity of the robot, force of its controller |
//! | D1, D2 | delay to the robot and back, as polynomials in q |
//!
//! Source: equations teleop E2 and E13, derived anew; linear as long as no account and no limit acts.

use nalgebra::{Complex, Matrix2, Matrix3, Matrix4, Vector2};

use super::two_port::{Body, Pulled};

/// A complex number.
pub type C = Complex<f64>;

/// How long the newest frame that has come is on its way, in ticks: shares of all ticks, by age.
///
/// With jitter the age of what is used changes from tick to tick; here stands its mean response.
#[derive(Debug, Clone, PartialEq)]
pub struct Ages {
    first: u16,
    shares: Vec<f64>,
}

impl Ages {
    /// Ages on a link whose packets take `least_ms` and, evenly drawn, up to `jitter_ms` more, and never overtake each
    /// other. A frame that was sent `a` ticks ago is there if it and all before it have come, so
    /// `P(age <= a)` is the product of their chances. No frame is used in the tick that sent it.
    #[must_use]
    pub fn of(least_ms: f64, jitter_ms: f64, period_ms: f64) -> Self {
        let came = |ticks: u16| {
            let over_ms = f64::from(ticks) * period_ms - least_ms;
            if jitter_ms > 0.0 {
                (over_ms / jitter_ms).clamp(0.0, 1.0)
            } else {
                f64::from(u8::from(over_ms >= 0.0))
            }
        };
        let most = ((least_ms + jitter_ms) / period_ms).ceil().max(1.0) as u16;
        let first = ((least_ms / period_ms).floor() as u16).max(1);
        let mut within = 1.0;
        let mut shares = Vec::new();
        for age in (first..=most).rev() {
            let younger = within * if age > first { came(age - 1) } else { 0.0 };
            shares.push(within - younger);
            within = younger;
        }
        shares.reverse();
        Self { first, shares }
    }

    /// Always the same age.
    #[must_use]
    pub fn fixed(ticks: u16) -> Self {
        Self {
            first: ticks,
            shares: vec![1.0],
        }
    }

    /// Mean age in ticks.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let later: f64 = (0_u32..)
            .zip(&self.shares)
            .map(|(k, p)| f64::from(k) * p)
            .sum();
        f64::from(self.first) + later
    }

    /// Response at `q`.
    #[must_use]
    pub fn at(&self, q: C) -> C {
        let zero = C::new(0.0, 0.0);
        let tail = self
            .shares
            .iter()
            .rev()
            .fold(zero, |sum, &share| sum * q + share);
        tail * q.powu(u32::from(self.first))
    }
}

/// Methods that are linear as long as their account need not act.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Waves of impedance b \[N s/m\] with the slave's controller behind them (E2).
    Wave {
        /// Wave impedance \[N s/m\].
        b_nspm: f64,
    },
    /// Position forward, force of the slave's controller back.
    Direct,
}

/// A sampled channel with the slave's controller in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Method.
    pub law: Law,
    /// Stiffness of the slave's controller \[N/m\].
    pub stiffness_npm: f64,
    /// Its damping \[N s/m\].
    pub damping_nspm: f64,
    /// Ages of what the slave uses, and of what the master uses.
    pub ages: [Ages; 2],
    /// Tick \[s\].
    pub period_s: f64,
}

/// Forces F1 and F2 by what x1, v1, x2, v2 contribute to each.
pub type Forces = [[C; 4]; 2];

impl Channel {
    /// The channel's response at `q`.
    #[must_use]
    pub fn at(&self, q: C) -> Forces {
        let (one, zero) = (C::new(1.0, 0.0), C::new(0.0, 0.0));
        let (k, d) = (self.stiffness_npm, self.damping_nspm);
        let [there, back] = [self.ages[0].at(q), self.ages[1].at(q)];
        let steps = (one - q) / self.period_s;
        match self.law {
            Law::Direct => {
                let of_x1 = there * (k + d * steps);
                [
                    [back * of_x1, zero, back * -k, back * -d],
                    [of_x1, zero, C::new(-k, 0.0), C::new(-d, 0.0)],
                ]
            }
            Law::Wave { b_nspm: b } => {
                // the controller seen from its port: F2 = own v_sd - (k x2 + d v2), and b v_sd + F2 = U, the wave
                // that came times sqrt(2 b); what returns is W = b v_sd - F2
                let own = one * k / steps + d;
                let bent = one / (one + (own.scale(-1.0) + b) / (own + b) * there * back);
                let reflected = (own.scale(-1.0) + b) / (own + b);
                let met = (one * 2.0 * b) / (own + b);
                let column = |v1: C, pulled: C| {
                    // W = reflected U + met pulled, U = D1 (2 b v1 - D2 W)
                    let w = (reflected * there * v1 * 2.0 * b + met * pulled) * bent;
                    let u = there * (v1 * 2.0 * b - back * w);
                    let v_sd = (u + pulled) / (own + b);
                    [v1 * b - back * w, own * v_sd - pulled]
                };
                let columns = [
                    column(zero, zero),
                    column(one, zero),
                    column(zero, one * k),
                    column(zero, one * d),
                ];
                [columns.map(|c| c[0]), columns.map(|c| c[1])]
            }
        }
    }
}

/// A body under a held force, from tick to tick: `s' = A s + B F` with s = (x, v).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Held {
    state: Matrix2<f64>,
    input: Vector2<f64>,
}

impl Held {
    /// Exact, by the exponential of the motion and its input together (Van Loan 1978): a Taylor series of a
    /// thousandth of the tick, squared ten times.
    fn of(body: &Body, period_s: f64) -> Self {
        const SQUARINGS: u32 = 10;
        let (m, b, k) = (body.mass_kg, body.damping_nspm, body.stiffness_npm);
        let step = period_s / f64::from(1_u32 << SQUARINGS);
        let rate = Matrix3::new(0.0, 1.0, 0.0, -k / m, -b / m, 1.0 / m, 0.0, 0.0, 0.0) * step;
        let (mut term, mut sum) = (Matrix3::identity(), Matrix3::identity());
        for order in 1..=8 {
            term = term * rate / f64::from(order);
            sum += term;
        }
        for _ in 0..SQUARINGS {
            sum *= sum;
        }
        Self {
            state: sum.fixed_view::<2, 2>(0, 0).into_owned(),
            input: sum.fixed_view::<2, 1>(0, 2).into_owned(),
        }
    }
}

/// A channel between a handle that is held and a robot that touches.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    channel: Channel,
    handle: Held,
    robot: Held,
}

/// Growth below which a loop counts as stable \[1/s\]: waves in contact have a root at rest, because a line keeps
/// whatever force it holds.
const GROWTH_HZ: f64 = 0.02;

impl Loop {
    /// The loop of a channel, with the handle and its hand, and the robot and what it touches.
    #[must_use]
    pub fn new(channel: Channel, handle: &Body, robot: &Body) -> Self {
        Self {
            handle: Held::of(handle, channel.period_s),
            robot: Held::of(robot, channel.period_s),
            channel,
        }
    }

    /// The characteristic determinant: handle and robot under the channel's forces, everything at `q`.
    fn determinant(&self, q: C) -> C {
        let forces = self.channel.at(q);
        let mut all = Matrix4::<C>::identity();
        // the port force is against the handle and with the robot
        for (side, held, sign) in [(0, &self.handle, 1.0), (1, &self.robot, -1.0)] {
            for row in 0..2 {
                let at = 2 * side + row;
                for column in 0..2 {
                    all[(at, 2 * side + column)] -= q * held.state[(row, column)];
                }
                for (column, force) in forces[side].iter().enumerate() {
                    all[(at, column)] += q * force.scale(sign * held.input[row]);
                }
            }
        }
        all.determinant()
    }

    /// Whether the loop grows.
    #[must_use]
    pub fn grows(&self) -> bool {
        let delay: f64 = self.channel.ages.iter().map(Ages::mean).sum();
        let radius = 1.0 + GROWTH_HZ * self.channel.period_s;
        grows(&|q| self.determinant(q), delay, radius)
    }
}

/// Whether a body grows on a spring whose force is sampled, `late` periods late, and held.
#[must_use]
pub(crate) fn spring_grows(body: &Body, stiffness_npm: f64, late: usize, period_s: f64) -> bool {
    let held = Held::of(body, period_s);
    let determinant = |q: C| {
        let pull = q.powu(late as u32 + 1) * stiffness_npm;
        let own = |row: usize, column: usize| {
            C::new(f64::from(u8::from(row == column)), 0.0) - q * held.state[(row, column)]
        };
        (own(0, 0) + pull * held.input[0]) * own(1, 1)
            - own(0, 1) * (own(1, 0) + pull * held.input[1])
    };
    grows(&determinant, late as f64, 1.0)
}

/// Whether any root of a determinant that is analytic for `|q| < 1`, with `delay` ticks in it, is outside a
/// circle of `radius`.
fn grows(determinant: &dyn Fn(C) -> C, delay: f64, radius: f64) -> bool {
    let steps = 1024 + 16 * delay as u32;
    let on = |angle: f64| {
        let (sin, cos) = libm::sincos(angle);
        determinant(C::new(cos, -sin).unscale(radius))
    };
    // conjugate halves turn alike
    let angle = |step: u32| core::f64::consts::PI * f64::from(step) / f64::from(steps);
    let mut before = on(0.0);
    let mut turned = 0.0;
    for step in 0..steps {
        let after = on(angle(step + 1));
        let ends = [(angle(step), before), (angle(step + 1), after)];
        turned += turn(&on, ends, REFINEMENTS);
        before = after;
    }
    // a root outside takes one whole turn away from the whole circle
    turned < -0.5 * core::f64::consts::PI
}

/// How often a step along the circle may be halved.
const REFINEMENTS: u32 = 24;

/// Angle by which `f` turns between two arguments, halved until each part turns by less than a radian.
fn turn(f: &dyn Fn(f64) -> C, [from, to]: [(f64, C); 2], left: u32) -> f64 {
    let angle = (to.1 / from.1).arg();
    if left == 0 || angle.abs() < 1.0 {
        return angle;
    }
    let middle = 0.5 * (from.0 + to.0);
    let half = (middle, f(middle));
    turn(f, [from, half], left - 1) + turn(f, [half, to], left - 1)
}

/// Longest one-way delay at which a loop does not grow \[ms\], to a quarter of a tick, by trying round trips from
/// two ticks on, one after another, because a longer one may rest again. None if it grows at once, infinite
/// if it rests at `most` ticks.
///
/// # Errors
/// Those of `grows`.
pub(crate) fn oneway_ms_max<E>(
    grows: impl Fn(u16) -> Result<bool, E>,
    most: u16,
    period_ms: f64,
) -> Result<Option<f64>, E> {
    for rtt_ticks in 2..=most {
        if grows(rtt_ticks)? {
            // between the last that rests and the first that grows
            let limit = 0.5 * (f64::from(rtt_ticks) - 0.5) * period_ms;
            return Ok((rtt_ticks > 2).then_some(limit));
        }
    }
    Ok(Some(f64::INFINITY))
}

/// Largest value between two at which `grows` turns from false to true, by halving the logarithm; none if it
/// grows at the least, infinite if it does not at the most.
///
/// # Errors
/// Those of `grows`.
pub fn largest<E>(
    least: f64,
    most: f64,
    grows: impl Fn(f64) -> Result<bool, E>,
) -> Result<Option<f64>, E> {
    const HALVINGS: u32 = 13;
    if grows(least)? {
        return Ok(None);
    }
    if !grows(most)? {
        return Ok(Some(f64::INFINITY));
    }
    let (mut low, mut high) = (least, most);
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if grows(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(Some((low * high).sqrt()))
}

/// A slave's controller before a body, as a channel and the body that it pulls.
#[must_use]
pub fn channel(law: Law, slave: &Pulled, ages: [Ages; 2], period_s: f64) -> Channel {
    Channel {
        law,
        stiffness_npm: slave.stiffness_npm,
        damping_nspm: slave.damping_nspm,
        ages,
        period_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets that never overtake: what is used is never older than the longest, nor younger than the least.
    #[test]
    fn ages_are_shares_with_the_mean_of_a_simulated_link() {
        assert_eq!(Ages::of(5.0, 0.0, 1.0), Ages::fixed(5));
        assert_eq!(Ages::of(0.0, 0.0, 1.0), Ages::fixed(1));
        assert_eq!(Ages::of(4.2, 0.0, 1.0).mean(), 5.0);
        let ages = Ages::of(10.0, 20.0, 1.0);
        assert!((ages.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let (mut seed, mut due, mut total) = (1_u64, 0.0_f64, 0.0);
        let ticks = 20_000_u32;
        let mut came = Vec::new();
        for tick in 0..ticks {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let chance = (seed >> 40) as f64 / f64::from(1_u32 << 24);
            due = due.max(f64::from(tick) + 10.0 + 20.0 * chance);
            came.push(due);
        }
        let mut newest = 0;
        for tick in 100..ticks {
            while came[newest + 1] <= f64::from(tick) {
                newest += 1;
            }
            total += f64::from(tick) - newest as f64;
        }
        let simulated = total / f64::from(ticks - 100);
        assert!(
            (ages.mean() / simulated - 1.0).abs() < 0.01,
            "{} {simulated}",
            ages.mean()
        );
    }

    /// A body under a held force, against the closed form of a free mass and of a spring.
    #[test]
    fn a_held_body_moves_as_it_must() {
        let free = Body {
            mass_kg: 2.0,
            damping_nspm: 0.0,
            stiffness_npm: 0.0,
        };
        let held = Held::of(&free, 0.1);
        assert!((held.state - Matrix2::new(1.0, 0.1, 0.0, 1.0)).norm() < 1e-12);
        assert!((held.input - Vector2::new(0.0025, 0.05)).norm() < 1e-12);
        let swing = Held::of(
            &Body {
                stiffness_npm: 200.0,
                ..free
            },
            0.1,
        );
        let (sin, cos) = libm::sincos(1.0);
        let expected = Matrix2::new(cos, 0.1 * sin, -10.0 * sin, cos);
        assert!((swing.state - expected).norm() < 1e-9, "{}", swing.state);
    }

    /// A double pole at rest, moved out and in by a damper of either sign; Colgate's wall on both sides of its limit.
    #[test]
    fn roots_outside_are_counted() {
        for (damping_nspm, expected) in [(1.0, false), (-1.0, true)] {
            let body = Body {
                mass_kg: 1.0,
                damping_nspm,
                stiffness_npm: 100.0,
            };
            assert_eq!(spring_grows(&body, 1.0, 0, 1e-3), expected);
        }
        let heavy = Body {
            mass_kg: 10.0,
            damping_nspm: 1.0,
            stiffness_npm: 0.0,
        };
        let limit = 1.0 / (0.5e-3 + 0.02);
        assert!(!spring_grows(&heavy, 0.97 * limit, 20, 1e-3));
        assert!(spring_grows(&heavy, 1.05 * limit, 20, 1e-3));
    }

    /// Waves between a firm hand and a robot at a wall rest at any delay; without a method they do not.
    #[test]
    fn waves_rest_and_direct_coupling_does_not() {
        let hand = Body {
            mass_kg: 0.25,
            damping_nspm: 4.5,
            stiffness_npm: 300.0,
        };
        let slave = Pulled {
            stiffness_npm: 2000.0,
            damping_nspm: 50.0,
            body: Body {
                mass_kg: 0.5,
                damping_nspm: 5.0,
                stiffness_npm: 1000.0,
            },
        };
        for ticks in [1, 7, 50, 400] {
            let ages = || [Ages::fixed(ticks), Ages::fixed(ticks)];
            let wave = channel(Law::Wave { b_nspm: 10.0 }, &slave, ages(), 1e-3);
            assert!(!Loop::new(wave, &hand, &slave.body).grows(), "{ticks}");
            let direct = channel(Law::Direct, &slave, ages(), 1e-3);
            assert_eq!(
                Loop::new(direct, &hand, &slave.body).grows(),
                ticks > 1,
                "{ticks}"
            );
        }
    }
}
