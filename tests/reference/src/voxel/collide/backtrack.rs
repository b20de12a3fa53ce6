//! Back-tracking: the largest part of a step without a collision.
//!
//! Source: seed-001 section 3.2.3 (row CD-06). The source shrinks and grows a step by constants that it does not
//! print. Ours moves by single cells while it can and bisects the last one, so the number of tests is bounded. Every
//! test follows the whole straight path of every node, so no wall is skipped.

use crate::voxel::collide::occupancy::{MapMoveError, MapMoveRule, OccupancyMap};
use palpate_twin::Vec3;

/// Longest motion of one test, in cells: less than one, so that rounding cannot make it two.
const CELLS: f64 = 0.99;
/// Greatest number of one-cell tests in one step.
const STRIDES_MAX: u32 = 1 << 20;
/// Greatest number of bisections of the last one.
const HALVINGS_MAX: u32 = 52;

/// Result of an approach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BacktrackResult {
    /// Share of the commanded step, 0 to 1.
    pub share: f64,
    /// Number of tested moves.
    pub tests: u32,
    /// Collision that stopped it, if any.
    pub stopped: Option<MapMoveError>,
}

/// Returns the greatest number of tests of a step, for a tolerance \[m\].
#[must_use]
pub fn tests_max(step_m: &Vec3, pitch_m: f64, tolerance_m: f64) -> u32 {
    strides(step_m, pitch_m).saturating_add(halvings(pitch_m, tolerance_m))
}

fn strides(step_m: &Vec3, pitch_m: f64) -> u32 {
    whole(step_m.amax() / (CELLS * pitch_m), STRIDES_MAX).max(1)
}

fn halvings(pitch_m: f64, tolerance_m: f64) -> u32 {
    let mut left_m = pitch_m;
    let mut count = 0;
    while left_m > tolerance_m && count < HALVINGS_MAX {
        left_m *= 0.5;
        count += 1;
    }
    count
}

/// Rounds a value up to an integer of at most `most`.
fn whole(value: f64, most: u32) -> u32 {
    let value = value.ceil().clamp(0.0, f64::from(most));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number in range"
    )]
    let value = value as u32;
    value
}

/// Moves a body along a step \[m\] until it is done or would hit another body, and then bisects until it is within
/// `tolerance_m` of the last free place.
///
/// A step that is not finite, or longer than 2^20 cells, is not taken.
///
/// # Errors
/// [`MapMoveError::Unknown`] for a body that is not in the map.
pub fn approach(
    map: &mut OccupancyMap,
    body: u32,
    step_m: &Vec3,
    tolerance_m: f64,
) -> Result<BacktrackResult, MapMoveError> {
    let pitch_m = map.grid().pitch_m();
    let mut travel = BacktrackResult {
        share: 0.0,
        tests: 0,
        stopped: None,
    };
    let cells = step_m.amax() / (CELLS * pitch_m);
    if !(step_m.iter().all(|x| x.is_finite()) && cells <= f64::from(STRIDES_MAX)) {
        return Ok(travel);
    }
    let count = strides(step_m, pitch_m);
    let stride = 1.0 / f64::from(count);
    for nth in 1..=count {
        match try_step(map, body, step_m, stride, &mut travel.tests) {
            Ok(()) => travel.share = f64::from(nth) * stride,
            Err(why @ MapMoveError::Unknown(_)) => return Err(why),
            Err(why) => {
                travel.stopped = Some(why);
                break;
            }
        }
    }
    if travel.stopped.is_none() {
        return Ok(travel);
    }
    let mut part = stride;
    for _ in 0..halvings(pitch_m, tolerance_m) {
        part *= 0.5;
        match try_step(map, body, step_m, part, &mut travel.tests) {
            Ok(()) => travel.share += part,
            Err(why) => travel.stopped = Some(why),
        }
    }
    Ok(travel)
}

fn try_step(
    map: &mut OccupancyMap,
    body: u32,
    step_m: &Vec3,
    share: f64,
    tests: &mut u32,
) -> Result<(), MapMoveError> {
    *tests += 1;
    let by_m = step_m * share;
    map.try_move(body, MapMoveRule::Sweep, |_, at_m| at_m + by_m, |_| ())
}
