//! Two soft volumes pressed together: equal and opposite forces, and how deep they are in each other.
//!
//! Source: seed-001 row FU-05 and section 3.2.4: the distance map of a body that deforms lives where the body is at rest.
//! So the place of an element in another volume is taken back to rest by how far the elements there have moved, each
//! by its weight: the nearer the more, and all of them together 1, so that nothing jumps as they pass each other. Contact is a spring along the slope of that depth, and every link pulls as it does elsewhere
//! (section 3.4.2, weighted); sweeps go to the least energy of both, within the limits of links.

use crate::voxel::collide::distance::{Distance, Surface};
use crate::voxel::collide::grid::Grid;
use crate::voxel::collide::occupancy::{Occupancy, Refused, Rule};
use crate::voxel::collide::shell;
use palpate_twin::Vec3;
use palpate_twin::edits::Direction;
use palpate_voxel::elements::Elements;

/// Two volumes in contact.
#[derive(Debug, Clone)]
pub struct Pressed {
    /// Both.
    pub volumes: [Elements<f64>; 2],
    stiffness_npm: f64,
    depths: [Distance; 2],
    map: Occupancy,
    /// In the order of the map.
    all: [Vec<u32>; 2],
    skins: [Vec<u32>; 2],
    /// Of every element, the contact force \[N\].
    force_n: [Vec<Vec3>; 2],
    /// And the sum of the stiffness of its contacts \[N/m\].
    stiff_npm: [Vec<f64>; 2],
    /// Elements around a place, and what each has of it.
    shares: Vec<(u32, f64)>,
}

/// What two volumes do to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pressing {
    /// Sum of the forces on each \[N\].
    pub on_n: [Vec3; 2],
    /// How deep an element of one is in the other at most \[m\].
    pub deepest_m: f64,
    /// Pairs in contact.
    pub contacts: usize,
}

impl Pressed {
    /// Volumes in a space of cells, no smaller than elements get apart; each pair in contact pushes with
    /// `stiffness_npm` \[N/m\].
    ///
    /// # Errors
    /// [`Refused`] if an element is outside of the cells.
    pub fn new(
        volumes: [Elements<f64>; 2],
        grid: Grid,
        stiffness_npm: f64,
    ) -> Result<Self, Refused> {
        let mut map = Occupancy::hashed(grid);
        let all = [0, 1].map(|own| shell::all(&volumes[own]));
        for (elements, all) in volumes.iter().zip(&all) {
            map.add(&shell::placed(elements, all))?;
        }
        let slots = [0, 1].map(|own| volumes[own].slots() as usize);
        Ok(Self {
            depths: [0, 1].map(|own| depth_at_rest(&volumes[own])),
            skins: [0, 1].map(|own| shell::surface(&volumes[own])),
            force_n: slots.map(|count| vec![Vec3::zeros(); count]),
            stiff_npm: slots.map(|count| vec![0.0; count]),
            // more than 27 cells of elements squeezed to their limits
            shares: Vec::with_capacity(1024),
            all,
            map,
            stiffness_npm,
            volumes,
        })
    }

    /// Finds contacts where the volumes are, then relaxes both once; gives what they do to each other.
    ///
    /// # Errors
    /// [`Refused`] if an element has left the cells; nothing has moved then.
    pub fn sweep(&mut self) -> Result<Pressing, Refused> {
        for (body, elements) in (0..).zip(&self.volumes) {
            let all = &self.all[body as usize];
            let to_m = |nth: usize, _: &Vec3| elements.at_m(all[nth]);
            self.map.try_move(body, Rule::Detect, to_m, |_| ())?;
        }
        let pressing = self.meet();
        for own in 0..2 {
            self.relax(own);
        }
        Ok(pressing)
    }

    /// Forces of all contacts.
    fn meet(&mut self) -> Pressing {
        let mut pressing = Pressing {
            on_n: [Vec3::zeros(); 2],
            deepest_m: 0.0,
            contacts: 0,
        };
        for own in 0..2 {
            self.force_n[own].fill(Vec3::zeros());
            self.stiff_npm[own].fill(0.0);
        }
        // elements of each in the other, half of both
        let half_npm = 0.5 * self.stiffness_npm;
        for own in 0..2 {
            let other = 1 - own;
            for nth in 0..self.skins[own].len() {
                let element = self.skins[own][nth];
                let at_m = self.volumes[own].at_m(element);
                let Some(moved_m) = self.near(other, &at_m) else {
                    continue;
                };
                let depth = self.depths[other].at(&(at_m - moved_m));
                let Some(depth) = depth.filter(|depth| depth.depth_m > 0.0) else {
                    continue;
                };
                let force_n = depth.slope * (half_npm * depth.depth_m);
                pressing.on_n[own] -= force_n;
                self.force_n[own][element as usize] -= force_n;
                self.stiff_npm[own][element as usize] += half_npm;
                for &(near, share) in &self.shares {
                    pressing.on_n[other] += force_n * share;
                    self.force_n[other][near as usize] += force_n * share;
                    self.stiff_npm[other][near as usize] += half_npm * share;
                }
                pressing.deepest_m = pressing.deepest_m.max(depth.depth_m);
                pressing.contacts += 1;
            }
        }
        pressing
    }

    /// Finds the elements of a volume around a place and their shares, and how far they have moved, by their shares;
    /// none if nobody is nearer than a cell along every axis.
    fn near(&mut self, body: usize, at_m: &Vec3) -> Option<Vec3> {
        let grid = *self.map.grid();
        let middle = grid.cell(at_m)?;
        let (mut sum, mut moved_m) = (0.0, Vec3::zeros());
        self.shares.clear();
        for beside in 0..27 {
            let off = [beside % 3 - 1, beside / 3 % 3 - 1, beside / 9 - 1];
            let cell = std::array::from_fn(|axis| middle[axis] + off[axis]);
            for (who, place_m) in self.map.in_cell(cell) {
                let way = (place_m - at_m).abs() / grid.pitch_m();
                let share: f64 = way.iter().map(|x| (1.0 - x).max(0.0)).product();
                if who.body as usize == body && share > 0.0 {
                    self.shares.push((who.element, share));
                    moved_m += (place_m - self.volumes[body].rest_m(who.element)) * share;
                    sum += share;
                }
            }
        }
        self.shares.iter_mut().for_each(|(_, share)| *share /= sum);
        (sum > 0.0).then(|| moved_m / sum)
    }

    /// Every element that is not held goes to the least energy of its links and contacts, as they are.
    fn relax(&mut self, own: usize) {
        let elements = &mut self.volumes[own];
        for element in 0..elements.slots() {
            if !elements.alive(element) || elements.pinned(element) {
                continue;
            }
            let slot = element as usize;
            let mut pull_n = self.force_n[own][slot];
            // both ends of a contact give way at once: each goes half of the way
            let mut stiff_npm = 2.0 * self.stiff_npm[own][slot];
            let own_m = elements.moved_m(element);
            let mut room = [(f64::NEG_INFINITY, f64::INFINITY); 3];
            for to in Direction::ALL {
                let Some(other) = elements.neighbour(element, to) else {
                    continue;
                };
                let pair = [elements.matter(element), elements.matter(other)];
                let bond_npm = elements
                    .bonds()
                    .of(pair[0], pair[1], to.axis())
                    .stiffness_npm;
                let other_m = elements.moved_m(other);
                stiff_npm += bond_npm;
                for along in 0..3 {
                    pull_n[along] += bond_npm * (other_m[along] - own_m[along]);
                    let (least, most) = elements.bonds().range_m(pair, to, along);
                    let (low, high) = &mut room[along];
                    *low = low.max(other_m[along] - most);
                    *high = high.min(other_m[along] - least);
                }
            }
            if stiff_npm > 0.0 {
                for along in 0..3 {
                    let (low, high) = room[along];
                    let to_m = own_m[along] + pull_n[along] / stiff_npm;
                    // a link that is overstretched already lets nobody go farther
                    elements.moved_m[along][slot] = to_m.max(low).min(high.max(low));
                }
            }
        }
    }

    /// Force of links on an element \[N\]: what holds a pinned one has the opposite of it.
    #[must_use]
    pub fn pull_n(&self, own: usize, element: u32) -> Vec3 {
        let elements = &self.volumes[own];
        let mut pull_n = Vec3::zeros();
        for to in Direction::ALL {
            if let Some(other) = elements.neighbour(element, to) {
                let pair = [elements.matter(element), elements.matter(other)];
                let bond_npm = elements
                    .bonds()
                    .of(pair[0], pair[1], to.axis())
                    .stiffness_npm;
                let way =
                    Vec3::from(elements.moved_m(other)) - Vec3::from(elements.moved_m(element));
                pull_n += way * bond_npm;
            }
        }
        pull_n
    }
}

/// The distance map of a volume where it is at rest.
fn depth_at_rest(elements: &Elements<f64>) -> Distance {
    let sites = (0..elements.slots()).map(|element| elements.site(element));
    let mut corners = [[i32::MAX; 3], [i32::MIN; 3]];
    for site in sites {
        for axis in 0..3 {
            corners[0][axis] = corners[0][axis].min(site[axis]);
            corners[1][axis] = corners[1][axis].max(site[axis]);
        }
    }
    let there = |site| elements.at_site(site).is_some_and(|e| elements.alive(e));
    let frame = *elements.frame();
    let made = Distance::new(frame, corners, 3, Surface::Outermost, there);
    // volumes have fewer slots than maps may have samples, unless they are nearly empty
    made.unwrap_or_else(|| Distance::nowhere(frame))
}
