//! Short list of surface elements that a sphere may touch soon.
//!
//! Source: ours, after W1; the neighbour list of molecular dynamics. A list made with some slack stays
//! complete until tool and surface together have moved by the slack, which two running bounds
//! detect. So the cost of a step does not grow with the mesh, and the result does
//! not depend on the time at which the list was made.

use crate::Vec3;

/// List of elements, and the conditions under which it is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourList {
    items: Vec<u32>,
    anchor_m: Vec3,
    travel_m: f64,
    reach_m: f64,
    slack_m: f64,
    valid: bool,
}

impl NeighbourList {
    /// Creates an empty list that never grows beyond `capacity`.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            items: Vec::with_capacity(capacity),
            anchor_m: Vec3::zeros(),
            travel_m: 0.0,
            reach_m: 0.0,
            slack_m: 0.0,
            valid: false,
        }
    }

    /// Elements in ascending order.
    #[must_use]
    #[inline]
    pub fn items(&self) -> &[u32] {
        &self.items
    }

    /// True if every element closer than `reach_m` to `center_m` is still in the list, and not too many others.
    #[inline]
    fn covers(&self, center_m: &Vec3, travel_m: f64, reach_m: f64) -> bool {
        let moved_m = (center_m - self.anchor_m).norm() + (travel_m - self.travel_m).abs();
        // A list made for a much larger reach is complete, but too long.
        let lean = self.reach_m <= 2.0 * reach_m;
        self.valid && lean && reach_m + moved_m < self.reach_m + self.slack_m
    }

    /// Rebuilds the list if it is not complete up to `reach_m` any more, or was made for more than twice `reach_m`, so
    /// that it stays complete over `slack_m` of motion. `find` adds the elements closer to `center_m` than its first
    /// argument \[m\].
    ///
    /// `travel_m`: bound on the motion of any node since the start, accumulated.
    pub(super) fn update(
        &mut self,
        center_m: Vec3,
        travel_m: f64,
        reach_m: f64,
        slack_m: f64,
        find: impl FnOnce(f64, &mut Vec<u32>),
    ) {
        if self.covers(&center_m, travel_m, reach_m) {
            return;
        }
        self.anchor_m = center_m;
        self.travel_m = travel_m;
        self.reach_m = reach_m;
        self.slack_m = slack_m;
        self.valid = true;
        self.items.clear();
        find(reach_m + slack_m, &mut self.items);
        // fixes the order of every later sum
        self.items.sort_unstable();
    }

    /// Marks the list as incomplete, so that the next query rebuilds it.
    #[inline]
    pub fn invalidate(&mut self) {
        self.valid = false;
        self.items.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_covers_until_motion_exceeds_the_slack() {
        let mut near = NeighbourList::new(4);
        let at = Vec3::zeros();
        assert!(!near.covers(&at, 0.0, 1.0));
        near.update(at, 3.0, 1.0, 0.5, |far_m, _| assert_eq!(far_m, 1.5));
        assert!(near.covers(&at, 3.0, 1.0));
        assert!(near.covers(&Vec3::new(0.4, 0.0, 0.0), 3.05, 1.0));
        assert!(!near.covers(&Vec3::new(0.4, 0.0, 0.0), 3.15, 1.0));
        assert!(!near.covers(&at, 3.0, 1.6));
        near.invalidate();
        assert!(!near.covers(&at, 3.0, 1.0));
    }
}
