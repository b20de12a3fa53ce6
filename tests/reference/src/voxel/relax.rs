//! Relaxation as the source prints it: every element goes a step towards where its neighbours want it.
//!
//! Source: seed-001 section 3.4 (its Eqs. 1 and 2; rows DF-06 to DF-09, FU-02 of the limits). For study and
//! golden numbers; what sessions step is `sweep`, the weighted form of Eq. 2 whose energy is
//! accounted for. All of it goes axis by axis of the world, as the limits do.
//!
//! Symbols: `u` from rest, `d` the way to the mean of what the neighbours want, `g` the gain: `u += g phi(d)`.

use crate::voxel::response::Response;
use crate::voxel::to_f64;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;

/// Where a neighbour wants an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wish {
    /// Where it is itself (Eq. 1): objects shrink to a point.
    Neighbour,
    /// Beside it, at the distance of rest (Eq. 2).
    #[default]
    Beside,
    /// Beside it, stiffer links counting for more (section 3.4.2): stiff inclusions can be felt.
    Weighted,
}

/// Which elements are moved at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// All, from the state before the sweep.
    Jacobi,
    /// One after the other, row by row, as the source says; over-relaxed with a gain beyond 1.
    #[default]
    Sequential,
}

/// Choices of a relaxation.
#[derive(Debug, Clone, PartialEq)]
pub struct RelaxParams {
    /// Where neighbours want an element.
    pub wish: Wish,
    /// Who moves at once.
    pub order: Order,
    /// Share of the way that a sweep goes: more than 0, below 1 for Jacobi and below 2 in sequence. Of a response
    /// that is not linear it is the share at a `d` of one spacing.
    pub gain: f64,
    /// Step by the way, in spacings.
    pub response: Response,
    /// Relative displacement that does not pull, in spacings (row DF-08).
    pub band: f64,
    /// Shortest step that is taken, in spacings (row DF-08, second form).
    pub least_step: f64,
    /// Share of what is beyond the band that becomes the new rest in every sweep, 0 to 1: lasting flow, ours.
    pub flow: f64,
    /// Whether steps end at the limits of links; in sequence only.
    pub limits: bool,
}

impl Default for RelaxParams {
    fn default() -> Self {
        Self {
            wish: Wish::Beside,
            order: Order::Sequential,
            gain: 1.0,
            response: Response::Linear,
            band: 0.0,
            least_step: 0.0,
            flow: 0.0,
            limits: true,
        }
    }
}

/// Why there is no such relaxation.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("relaxation field `{field}` is {value}; expected {expected}")]
pub struct RelaxError {
    /// Which field.
    pub field: &'static str,
    /// Value found.
    pub value: f64,
    /// What would be right.
    pub expected: &'static str,
}

impl RelaxParams {
    /// Whether sweeps of it end anywhere.
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
        let (most, expected) = match self.order {
            Order::Jacobi => (1.0, "more than 0 and less than 1 for Jacobi"),
            Order::Sequential => (2.0, "more than 0 and less than 2"),
        };
        if !(self.gain > 0.0 && self.gain < most) {
            return refuse("gain", self.gain, expected);
        }
        for (field, value) in [("band", self.band), ("least_step", self.least_step)] {
            if !(value >= 0.0 && value.is_finite()) {
                return refuse(field, value, "a finite number, at least 0");
            }
        }
        if !(0.0..=1.0).contains(&self.flow) {
            return refuse("flow", self.flow, "0 to 1");
        }
        if self.limits && self.order == Order::Jacobi {
            // both ends of a link would go to its limit at once
            return refuse("limits", 1.0, "no limits with Jacobi");
        }
        Ok(())
    }
}

/// A relaxation with its room for work and what has flowed.
#[derive(Debug, Clone)]
pub struct Relax<R> {
    params: RelaxParams,
    /// Slots row by row.
    order: Vec<u32>,
    /// Jacobi: displacements before the sweep.
    before_m: [Vec<R>; 3],
    /// What has become rest of the links to the right, top and front, by axis of the world \[m\]; empty without
    /// flow.
    flowed_m: [[Vec<R>; 3]; 3],
    held: Vec<bool>,
}

impl<R: Real> Relax<R> {
    /// A relaxation of a volume.
    ///
    /// # Errors
    /// [`RelaxError`] if a choice is out of range.
    pub fn new(params: RelaxParams, elements: &Elements<R>) -> Result<Self, RelaxError> {
        params.check()?;
        let mut order: Vec<u32> = (0..elements.slots()).collect();
        order.sort_by_key(|&element| {
            let [x, y, z] = elements.site(element);
            (z, y, x)
        });
        let slots = order.len();
        let flows = if params.flow > 0.0 { slots } else { 0 };
        Ok(Self {
            params,
            order,
            before_m: std::array::from_fn(|_| Vec::with_capacity(slots)),
            flowed_m: std::array::from_fn(|_| std::array::from_fn(|_| vec![R::zero(); flows])),
            held: vec![false; slots],
        })
    }

    /// One sweep over all elements but the pinned ones and those of `held`; gives the farthest step \[m\].
    pub fn sweep(&mut self, elements: &mut Elements<R>, held: &[u32]) -> R {
        for &element in held {
            self.held[element as usize] = true;
        }
        if self.params.order == Order::Jacobi {
            for (before, now) in self.before_m.iter_mut().zip(&elements.moved_m) {
                before.clone_from(now);
            }
        }
        let mut farthest_m = R::zero();
        for index in 0..self.order.len() {
            let element = self.order[index];
            let free = elements.alive(element)
                && !elements.pinned(element)
                && !self.held[element as usize];
            if free {
                farthest_m = farthest_m.max(self.relax(elements, element));
            }
        }
        for &element in held {
            self.held[element as usize] = false;
        }
        if self.params.flow > 0.0 {
            self.flow(elements);
        }
        farthest_m
    }

    /// Moves one element; gives its farthest step \[m\].
    fn relax(&self, elements: &mut Elements<R>, element: u32) -> R {
        let slot = element as usize;
        let mut farthest_m = R::zero();
        let room = self.params.limits.then(|| room(elements, element));
        for along in 0..3 {
            let spacing_m = elements.frame().spacing_m[along];
            let from = match self.params.order {
                Order::Jacobi => &self.before_m[along],
                Order::Sequential => &elements.moved_m[along],
            };
            let Some(way_m) = self.wish_m(elements, from, element, along) else {
                return farthest_m;
            };
            let step = self.params.gain * self.params.response.of(to_f64(way_m) / spacing_m);
            if step.abs() <= self.params.least_step {
                continue;
            }
            let own = from[slot];
            let mut to_m = own + R::of(step * spacing_m);
            if let Some(room) = room {
                let (least, most) = room[along];
                to_m = to_m.clamp(least, most);
            }
            elements.moved_m[along][slot] = to_m;
            farthest_m = farthest_m.max((to_m - own).abs());
        }
        farthest_m
    }

    /// Way along an axis to the mean of what the neighbours want \[m\]; none without neighbours.
    fn wish_m(&self, elements: &Elements<R>, from: &[R], element: u32, along: usize) -> Option<R> {
        let slot = element as usize;
        let own = from[slot];
        let band_m = R::of(self.params.band * elements.frame().spacing_m[along]);
        let (mut sum, mut weights) = (R::zero(), R::zero());
        for to in Direction::ALL {
            let Some(other) = elements.neighbour(element, to) else {
                continue;
            };
            let mut apart = from[other as usize] - own - self.flowed(element, other, to, along);
            if self.params.wish == Wish::Neighbour && to.axis() == along {
                let rest_m = R::of(elements.frame().spacing_m[along]);
                apart += if to.is_up() { rest_m } else { -rest_m };
            }
            let weight = if self.params.wish == Wish::Weighted {
                let (own, other) = (elements.matter(element), elements.matter(other));
                elements.bonds().of(own, other, to.axis()).stiffness_npm
            } else {
                R::one()
            };
            sum += weight * beyond(apart, band_m);
            weights += weight;
        }
        (weights > R::zero()).then(|| sum / weights)
    }

    /// What has become rest of a link, seen from an element \[m\].
    fn flowed(&self, element: u32, other: u32, to: Direction, along: usize) -> R {
        if self.params.flow <= 0.0 {
            return R::zero();
        }
        let flowed_m = &self.flowed_m[to.axis()][along];
        if to.is_up() {
            flowed_m[element as usize]
        } else {
            -flowed_m[other as usize]
        }
    }

    /// Lets links that are stretched beyond the band take some of it for their rest.
    fn flow(&mut self, elements: &Elements<R>) {
        let share = R::of(self.params.flow);
        for to in Direction::UP {
            for along in 0..3 {
                let band_m = R::of(self.params.band * elements.frame().spacing_m[along]);
                let moved_m = &elements.moved_m[along];
                let flowed_m = &mut self.flowed_m[to.axis()][along];
                for ((element, &own), flowed) in (0..).zip(moved_m).zip(flowed_m) {
                    if let Some(other) = elements.neighbour(element, to) {
                        let apart = moved_m[other as usize] - own - *flowed;
                        *flowed += share * beyond(apart, band_m);
                    }
                }
            }
        }
    }
}

/// What of a displacement is beyond a band around 0.
fn beyond<R: Real>(apart: R, band: R) -> R {
    apart - apart.clamp(-band, band)
}

/// Where an element may be, by axis, while its neighbours stay \[m\]; never without the place where it is.
pub(crate) fn room<R: Real>(elements: &Elements<R>, element: u32) -> [(R, R); 3] {
    let mut room = [(-R::of(f64::MAX), R::of(f64::MAX)); 3];
    for to in Direction::ALL {
        let Some(other) = elements.neighbour(element, to) else {
            continue;
        };
        let pair = [elements.matter(element), elements.matter(other)];
        for (along, (least, most)) in room.iter_mut().enumerate() {
            let (nearest, farthest) = elements.bonds().range_m(pair, to, along);
            let at = elements.moved_m[along][other as usize];
            *least = least.max(at - farthest);
            *most = most.min(at - nearest);
        }
    }
    for ((least, most), moved_m) in room.iter_mut().zip(&elements.moved_m) {
        // by rounding a link may be past its limit by a last bit
        let own = moved_m[element as usize];
        (*least, *most) = (least.min(own), most.max(own));
    }
    room
}
