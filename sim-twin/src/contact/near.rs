//! A short list of surface elements that a sphere may touch soon.
//!
//! Source: ours, after W1; the idea is the neighbour list of molecular dynamics. A list made with
//! some slack stays complete until tool and surface together have moved by the slack, which two
//! running bounds tell. So the cost of a step does not grow with the mesh, and the result does
//! not depend on when the list was made.

use crate::Vec3;

/// The list and the conditions under which it is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    items: Vec<u32>,
    anchor_m: Vec3,
    travel_m: f64,
    reach_m: f64,
    slack_m: f64,
    made: bool,
}

impl Near {
    /// An empty list that never needs to grow beyond `capacity`.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            items: Vec::with_capacity(capacity),
            anchor_m: Vec3::zeros(),
            travel_m: 0.0,
            reach_m: 0.0,
            slack_m: 0.0,
            made: false,
        }
    }

    /// The elements, in ascending order.
    #[must_use]
    #[inline]
    pub fn items(&self) -> &[u32] {
        &self.items
    }

    /// Whether every element closer than `reach_m` to `center_m` is still in the list.
    ///
    /// `travel_m`: how far any node can have moved since the start, accumulated.
    #[must_use]
    #[inline]
    pub fn covers(&self, center_m: &Vec3, travel_m: f64, reach_m: f64) -> bool {
        let moved_m = (center_m - self.anchor_m).norm() + (travel_m - self.travel_m).abs();
        // A list made for a much larger reach is complete, but too long.
        let lean = self.reach_m <= 2.0 * reach_m;
        self.made && lean && reach_m + moved_m < self.reach_m + self.slack_m
    }

    /// Begin a new list that is complete up to `reach_m`, and stays so over `slack_m` of motion.
    pub fn restart(&mut self, center_m: Vec3, travel_m: f64, reach_m: f64, slack_m: f64) {
        self.items.clear();
        self.anchor_m = center_m;
        self.travel_m = travel_m;
        self.reach_m = reach_m;
        self.slack_m = slack_m;
        self.made = true;
    }

    /// Add an element.
    #[inline]
    pub fn push(&mut self, item: u32) {
        self.items.push(item);
    }

    /// Put the elements into ascending order, which fixes the order of every later sum.
    pub fn sort(&mut self) {
        self.items.sort_unstable();
    }

    /// Forget the list; the next query makes it anew.
    #[inline]
    pub fn forget(&mut self) {
        self.made = false;
        self.items.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_covers_until_tool_and_surface_have_used_up_the_slack() {
        let mut near = Near::new(4);
        let at = Vec3::zeros();
        assert!(!near.covers(&at, 0.0, 1.0));
        near.restart(at, 3.0, 1.0, 0.5);
        assert!(near.covers(&at, 3.0, 1.0));
        assert!(near.covers(&Vec3::new(0.4, 0.0, 0.0), 3.05, 1.0));
        assert!(!near.covers(&Vec3::new(0.4, 0.0, 0.0), 3.15, 1.0));
        assert!(!near.covers(&at, 3.0, 1.6));
        near.forget();
        assert!(!near.covers(&at, 3.0, 1.0));
    }
}
