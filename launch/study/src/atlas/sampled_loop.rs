//! The linearised chain with its samplers, in the z-domain: growth of the loop closed by one hand and one
//! tissue.
//!
//! It shares no code with the ticks, nor with the continuous [`super::two_port`]. Between two ticks a body moves
//! exactly under a held force; the channel is a 2 by 4 matrix in `q = 1/z` from the readings of both ends to the
//! forces of both ends. The loop grows if its characteristic determinant has a root outside the unit circle;
//! such roots are counted by the turns of the determinant along a circle (the argument principle, Cauchy).
//!
//! | symbol | meaning |
//! |---|---|
//! | q | one tick of delay, `e^(-jwT)` on the unit circle |
//! | x1, v1, F1 | position, velocity and port force of the handle |
//! | x2, v2, F2 | position and velocity of the robot, force of its controller |
//! | D1, D2 | delay to the robot and back, as polynomials in q |
//!
//! Source: equations teleop E2 and E13, derived anew; linear as long as no energy tank and no limit acts.

use core::ops::RangeInclusive;

use nalgebra::{Complex, Matrix2, Matrix3, Matrix4, Vector2};

use super::two_port::{MassSpringDamper, PulledBody};

/// Complex number.
pub(crate) type Complex64 = Complex<f64>;

/// Age of the newest received frame in ticks: the share of all ticks, by age.
///
/// With jitter the age of the frame in use changes from tick to tick; this is the mean response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FrameAges {
    first: u16,
    shares: Vec<f64>,
}

impl FrameAges {
    /// Ages on a link whose packets take `least_ms` and, uniformly drawn, up to `jitter_ms` more, and never overtake
    /// each other. A frame that was sent `a` ticks ago is available if it and all before it have arrived, so
    /// `P(age <= a)` is the product of their probabilities. No frame is used in the tick that sent it.
    #[must_use]
    pub(crate) fn of(least_ms: f64, jitter_ms: f64, period_ms: f64) -> Self {
        let arrived = |ticks: u16| {
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
            let younger = within * if age > first { arrived(age - 1) } else { 0.0 };
            shares.push(within - younger);
            within = younger;
        }
        shares.reverse();
        Self { first, shares }
    }

    /// One fixed age.
    #[cfg(test)]
    pub(crate) fn fixed(ticks: u16) -> Self {
        Self {
            first: ticks,
            shares: vec![1.0],
        }
    }

    /// Mean age in ticks.
    #[must_use]
    pub(crate) fn mean(&self) -> f64 {
        let later: f64 = (0_u32..)
            .zip(&self.shares)
            .map(|(k, p)| f64::from(k) * p)
            .sum();
        f64::from(self.first) + later
    }

    /// Response at `q`.
    #[must_use]
    pub(crate) fn at(&self, q: Complex64) -> Complex64 {
        let zero = Complex64::new(0.0, 0.0);
        let tail = self
            .shares
            .iter()
            .rev()
            .fold(zero, |sum, &share| sum * q + share);
        tail * q.powu(u32::from(self.first))
    }
}

/// Methods that are linear as long as the energy tank does not act.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LinearMethod {
    /// Waves of impedance b \[N s/m\] with the slave's controller behind them (E2).
    Wave {
        /// Wave impedance \[N s/m\].
        b_nspm: f64,
    },
    /// Position forward, force of the slave's controller back.
    Direct,
}

/// Sampled channel, including the slave's controller.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SampledChannel {
    /// Method.
    pub law: LinearMethod,
    /// Stiffness of the slave's controller \[N/m\].
    pub stiffness_npm: f64,
    /// Its damping \[N s/m\].
    pub damping_nspm: f64,
    /// Ages of the frames in use at the slave, and at the master.
    pub ages: [FrameAges; 2],
    /// Tick \[s\].
    pub period_s: f64,
}

/// Coefficients of x1, v1, x2, v2 in the forces F1 and F2.
pub(crate) type ForceResponse = [[Complex64; 4]; 2];

impl SampledChannel {
    /// Response of the channel at `q`.
    #[must_use]
    pub(crate) fn at(&self, q: Complex64) -> ForceResponse {
        let (one, zero) = (Complex64::new(1.0, 0.0), Complex64::new(0.0, 0.0));
        let (k, d) = (self.stiffness_npm, self.damping_nspm);
        let [there, back] = [self.ages[0].at(q), self.ages[1].at(q)];
        let steps = (one - q) / self.period_s;
        match self.law {
            LinearMethod::Direct => {
                let of_x1 = there * (k + d * steps);
                [
                    [back * of_x1, zero, back * -k, back * -d],
                    [
                        of_x1,
                        zero,
                        Complex64::new(-k, 0.0),
                        Complex64::new(-d, 0.0),
                    ],
                ]
            }
            LinearMethod::Wave { b_nspm: b } => {
                // the controller seen from its port: F2 = own v_sd - (k x2 + d v2), and b v_sd + F2 = U, the arriving
                // wave times sqrt(2 b); the returning one is W = b v_sd - F2
                let own = one * k / steps + d;
                let feedback = one / (one + (own.scale(-1.0) + b) / (own + b) * there * back);
                let reflected = (own.scale(-1.0) + b) / (own + b);
                let transmitted = (one * 2.0 * b) / (own + b);
                let column = |v1: Complex64, pulled: Complex64| {
                    // W = reflected U + transmitted pulled, U = D1 (2 b v1 - D2 W)
                    let w = (reflected * there * v1 * 2.0 * b + transmitted * pulled) * feedback;
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

/// Body under a held force, from tick to tick: `s' = A s + B F` with s = (x, v).
#[derive(Debug, Clone, Copy, PartialEq)]
struct SampledBody {
    state: Matrix2<f64>,
    input: Vector2<f64>,
}

impl SampledBody {
    /// Exact, by the exponential of the motion and its input together (Van Loan 1978): a Taylor series over a
    /// thousandth of the tick, squared ten times.
    fn of(body: &MassSpringDamper, period_s: f64) -> Self {
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

/// Channel between a handle in a hand and a robot in contact.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SampledLoop {
    channel: SampledChannel,
    handle: SampledBody,
    robot: SampledBody,
}

/// Growth rate below which a loop counts as stable \[1/s\]: waves in contact have a root at rest, because a line
/// holds any constant force.
const GROWTH_HZ: f64 = 0.02;

impl SampledLoop {
    /// Loop of a channel, with the handle and its hand, and the robot and its tissue.
    #[must_use]
    pub(crate) fn new(
        channel: SampledChannel,
        handle: &MassSpringDamper,
        robot: &MassSpringDamper,
    ) -> Self {
        Self {
            handle: SampledBody::of(handle, channel.period_s),
            robot: SampledBody::of(robot, channel.period_s),
            channel,
        }
    }

    /// Characteristic determinant: handle and robot under the channel's forces, at `q`.
    fn determinant(&self, q: Complex64) -> Complex64 {
        let forces = self.channel.at(q);
        let mut all = Matrix4::<Complex64>::identity();
        // the port force acts against the handle and with the robot
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

    /// True if the loop grows.
    #[must_use]
    pub(crate) fn grows(&self) -> bool {
        let delay: f64 = self.channel.ages.iter().map(FrameAges::mean).sum();
        let radius = 1.0 + GROWTH_HZ * self.channel.period_s;
        grows(&|q| self.determinant(q), delay, radius)
    }
}

/// True if a body grows on a spring whose force is sampled, `late` periods late, and held.
pub(crate) fn spring_grows(
    body: &MassSpringDamper,
    stiffness_npm: f64,
    late: usize,
    period_s: f64,
) -> bool {
    let held = SampledBody::of(body, period_s);
    let determinant = |q: Complex64| {
        let pull = q.powu(late as u32 + 1) * stiffness_npm;
        let own = |row: usize, column: usize| {
            Complex64::new(f64::from(u8::from(row == column)), 0.0) - q * held.state[(row, column)]
        };
        (own(0, 0) + pull * held.input[0]) * own(1, 1)
            - own(0, 1) * (own(1, 0) + pull * held.input[1])
    };
    grows(&determinant, late as f64, 1.0)
}

/// True if a determinant that is analytic for `|q| < 1`, with `delay` ticks in it, has a root outside a
/// circle of `radius`.
fn grows(determinant: &dyn Fn(Complex64) -> Complex64, delay: f64, radius: f64) -> bool {
    let steps = 1024 + 16 * delay as u32;
    let on = |angle: f64| {
        let (sin, cos) = libm::sincos(angle);
        determinant(Complex64::new(cos, -sin).unscale(radius))
    };
    // conjugate halves turn by equal angles
    let angle = |step: u32| core::f64::consts::PI * f64::from(step) / f64::from(steps);
    let mut before = on(0.0);
    let mut total_turn = 0.0;
    for step in 0..steps {
        let after = on(angle(step + 1));
        let ends = [(angle(step), before), (angle(step + 1), after)];
        total_turn += turn(&on, ends, REFINEMENTS);
        before = after;
    }
    // a root outside subtracts one whole turn of the whole circle
    total_turn < -0.5 * core::f64::consts::PI
}

/// Most halvings of a step along the circle.
const REFINEMENTS: u32 = 24;

/// Angle by which `f` turns between two arguments, halved until each part turns by less than a radian.
fn turn(f: &dyn Fn(f64) -> Complex64, ends: [(f64, Complex64); 2], left: u32) -> f64 {
    let [from, to] = ends;
    let angle = (to.1 / from.1).arg();
    if left == 0 || angle.abs() < 1.0 {
        return angle;
    }
    let middle = 0.5 * (from.0 + to.0);
    let half = (middle, f(middle));
    turn(f, [from, half], left - 1) + turn(f, [half, to], left - 1)
}

/// Longest one-way delay at which a loop does not grow \[ms\], to a quarter of a tick, by testing round trips from
/// two ticks on, one after another, because a longer one may be stable again. None if the first grows, infinite
/// if none grows up to `most` ticks.
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
            // between the last stable and the first growing round trip
            let limit = 0.5 * (f64::from(rtt_ticks) - 0.5) * period_ms;
            return Ok((rtt_ticks > 2).then_some(limit));
        }
    }
    Ok(Some(f64::INFINITY))
}

/// Largest value in a range before `grows` turns from false to true, by halving the logarithm; none if it
/// grows at the least, infinite if it does not at the most.
///
/// # Errors
/// Those of `grows`.
pub(crate) fn largest<E>(
    range: RangeInclusive<f64>,
    grows: impl Fn(f64) -> Result<bool, E>,
) -> Result<Option<f64>, E> {
    const HALVINGS: u32 = 13;
    let (mut low, mut high) = range.into_inner();
    if grows(low)? {
        return Ok(None);
    }
    if !grows(high)? {
        return Ok(Some(f64::INFINITY));
    }
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

/// Channel with the controller of a slave.
#[must_use]
pub(crate) fn channel(
    law: LinearMethod,
    slave: &PulledBody,
    ages: [FrameAges; 2],
    period_s: f64,
) -> SampledChannel {
    SampledChannel {
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

    /// Packets that never overtake: the frame in use is never older than the longest delay, nor younger than the
    /// least.
    #[test]
    fn mean_frame_age_matches_simulated_link() {
        assert_eq!(FrameAges::of(5.0, 0.0, 1.0), FrameAges::fixed(5));
        assert_eq!(FrameAges::of(0.0, 0.0, 1.0), FrameAges::fixed(1));
        assert_eq!(FrameAges::of(4.2, 0.0, 1.0).mean(), 5.0);
        let ages = FrameAges::of(10.0, 20.0, 1.0);
        assert!((ages.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let (mut seed, mut due, mut total) = (1_u64, 0.0_f64, 0.0);
        let ticks = 20_000_u32;
        let mut arrived = Vec::new();
        for tick in 0..ticks {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let chance = (seed >> 40) as f64 / f64::from(1_u32 << 24);
            due = due.max(f64::from(tick) + 10.0 + 20.0 * chance);
            arrived.push(due);
        }
        let mut newest = 0;
        for tick in 100..ticks {
            while arrived[newest + 1] <= f64::from(tick) {
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
    fn sampled_body_matches_closed_form() {
        let free = MassSpringDamper {
            mass_kg: 2.0,
            damping_nspm: 0.0,
            stiffness_npm: 0.0,
        };
        let held = SampledBody::of(&free, 0.1);
        assert!((held.state - Matrix2::new(1.0, 0.1, 0.0, 1.0)).norm() < 1e-12);
        assert!((held.input - Vector2::new(0.0025, 0.05)).norm() < 1e-12);
        let oscillator = SampledBody::of(
            &MassSpringDamper {
                stiffness_npm: 200.0,
                ..free
            },
            0.1,
        );
        let (sin, cos) = libm::sincos(1.0);
        let expected = Matrix2::new(cos, 0.1 * sin, -10.0 * sin, cos);
        assert!(
            (oscillator.state - expected).norm() < 1e-9,
            "{}",
            oscillator.state
        );
    }

    /// A double pole at rest, moved out and in by a damper of either sign; Colgate's wall on both sides of its limit.
    #[test]
    fn roots_outside_the_circle_are_counted() {
        for (damping_nspm, expected) in [(1.0, false), (-1.0, true)] {
            let body = MassSpringDamper {
                mass_kg: 1.0,
                damping_nspm,
                stiffness_npm: 100.0,
            };
            assert_eq!(spring_grows(&body, 1.0, 0, 1e-3), expected);
        }
        let heavy = MassSpringDamper {
            mass_kg: 10.0,
            damping_nspm: 1.0,
            stiffness_npm: 0.0,
        };
        let limit = 1.0 / (0.5e-3 + 0.02);
        assert!(!spring_grows(&heavy, 0.97 * limit, 20, 1e-3));
        assert!(spring_grows(&heavy, 1.05 * limit, 20, 1e-3));
    }

    /// Waves between a firm hand and a robot at a wall are stable at any delay; direct coupling is not.
    #[test]
    fn waves_are_stable_at_any_delay_and_direct_coupling_is_not() {
        let hand = MassSpringDamper {
            mass_kg: 0.25,
            damping_nspm: 4.5,
            stiffness_npm: 300.0,
        };
        let slave = PulledBody {
            stiffness_npm: 2000.0,
            damping_nspm: 50.0,
            body: MassSpringDamper {
                mass_kg: 0.5,
                damping_nspm: 5.0,
                stiffness_npm: 1000.0,
            },
        };
        for ticks in [1, 7, 50, 400] {
            let ages = || [FrameAges::fixed(ticks), FrameAges::fixed(ticks)];
            let wave = channel(LinearMethod::Wave { b_nspm: 10.0 }, &slave, ages(), 1e-3);
            assert!(
                !SampledLoop::new(wave, &hand, &slave.body).grows(),
                "{ticks}"
            );
            let direct = channel(LinearMethod::Direct, &slave, ages(), 1e-3);
            assert_eq!(
                SampledLoop::new(direct, &hand, &slave.body).grows(),
                ticks > 1,
                "{ticks}"
            );
        }
    }
}
