//! Makes a curved sheet by draping a flat one over a sphere.
//!
//! Source: seed-004 3.10 (row S4-57). The lower layer of a slab without homes is drawn towards a
//! rigid form; atoms that enter it are pushed out and braked. Once all is still, the shape that
//! came out becomes the rest shape of a new lattice, with a home for every surface atom. Stepping
//! is semi-implicit (3.4). Symbols: `k_o` attraction, `k_i` push, `b_f` friction.

use crate::mesh::check::{self, Finding};
use palpate_twin::Vec3;
use palpate_twin::lattice::{Atom, Lattice, Link};

/// How far a lower atom may end from the form, over the longest surface edge (S4-57).
const GAP_LIMIT: f64 = 0.1;
/// How long all must be still before the shape is taken \[s\].
const STILL_S: f64 = 0.1;

/// A rigid sphere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Form {
    /// Centre \[m\].
    pub center_m: Vec3,
    /// Radius `R_f` \[m\], greater than zero.
    pub radius_m: f64,
}

/// How to drape, in the units of the lattice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrapeParams {
    /// Attraction of a lower atom outside the form, `k_o` \[N/m\].
    pub attraction_npm: f64,
    /// Push on any atom inside the form, `k_i` \[N/m\].
    pub push_npm: f64,
    /// Friction on any atom inside the form, `b_f` \[N s/m\].
    pub friction_nspm: f64,
    /// Step \[s\].
    pub step_s: f64,
    /// Longest time to wait for rest \[s\].
    pub patience_s: f64,
    /// Kinetic energy below which the slab counts as still \[J\].
    pub still_j: f64,
    /// Stiffness of the homes of the new lattice \[N/m\].
    pub home_stiffness_npm: f64,
    /// Damping of the homes of the new lattice \[N s/m\].
    pub home_damping_nspm: f64,
}

impl DrapeParams {
    /// The set that works for the links and masses of the data set, in the units of its file.
    ///
    /// Push, friction and step are those of 3.10. Its attraction of 2 leaves a rim 0.28 above a
    /// form of radius 6; drawing only the lower layer, 20 leaves 0.055 and crumples nothing.
    pub const FILE: Self = Self {
        attraction_npm: 20.0,
        push_npm: 60.0,
        friction_nspm: 0.3,
        step_s: 0.0005,
        patience_s: 20.0,
        still_j: 1e-9,
        home_stiffness_npm: 15.0,
        home_damping_nspm: 0.2,
    };
}

/// Why a slab could not be draped.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum DrapeError {
    /// A parameter is out of its range.
    #[error("drape field `{field}` is {value}; expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// The slab is unfit.
    #[error("the slab is unfit: {0}")]
    Slab(#[from] Finding),
    /// An atom swings on too few links and would never come to rest without its home.
    #[error("atom {atom} of the slab hangs on {links} links; expected at least 3")]
    Loose {
        /// The atom, among those that are not fixed.
        atom: usize,
        /// Number of its links.
        links: usize,
    },
    /// It did not come to rest.
    #[error("still moving with {kinetic_j} J after {waited_s} s; expected less than {still_j} J")]
    Restless {
        /// Kinetic energy at the end \[J\].
        kinetic_j: f64,
        /// Time waited \[s\].
        waited_s: f64,
        /// Kinetic energy that would have done \[J\].
        still_j: f64,
    },
    /// It does not lie on the form.
    #[error("atom {atom} rests {gap_m} m from the form; expected at most {limit_m} m")]
    OffForm {
        /// The atom that is furthest away, of the new lattice.
        atom: u32,
        /// Its distance from the form \[m\].
        gap_m: f64,
        /// The distance that would have done \[m\].
        limit_m: f64,
    },
    /// A tetrahedron turned inside out: the slab has crumpled.
    #[error("the tetrahedron of atoms {atoms:?} turned inside out, to {volume_m3} m^3")]
    Inverted {
        /// Its atoms, of the new lattice.
        atoms: [u32; 4],
        /// Its volume at the end \[m^3\], signed so that it was positive at first.
        volume_m3: f64,
    },
}

/// A slab on its way to the form.
#[derive(Debug, Clone, PartialEq)]
struct Draping {
    slab: Lattice,
    rest_m: Vec<f64>,
    position_m: Vec<Vec3>,
    velocity_mps: Vec<Vec3>,
    force_n: Vec<Vec3>,
}

impl Draping {
    /// Free a lattice of its fixed atoms and their links, and start it at rest.
    ///
    /// # Errors
    /// [`DrapeError::Slab`] with the first finding about the lattice, [`DrapeError::Loose`] with
    /// the first atom that nothing holds: the outer corners of a sheet with an even row count.
    fn new(lattice: &Lattice) -> Result<Self, DrapeError> {
        if let Some(&finding) = check::findings(lattice).first() {
            return Err(finding.into());
        }
        let slab = freed(lattice);
        let mut held = vec![0; slab.atoms.len()];
        slab.links
            .iter()
            .flat_map(|link| link.atoms)
            .for_each(|atom| held[atom as usize] += 1);
        if let Some(atom) = held.iter().position(|&links| links < 3) {
            return Err(DrapeError::Loose {
                atom,
                links: held[atom],
            });
        }
        let position_m: Vec<Vec3> = slab.atoms.iter().map(|atom| atom.position_m).collect();
        let length_m = |link: &Link| {
            let [a, b] = link.atoms.map(|atom| position_m[atom as usize]);
            (b - a).norm()
        };
        let rest_m = slab.links.iter().map(length_m).collect();
        let zeros = vec![Vec3::zeros(); position_m.len()];
        Ok(Self {
            slab,
            rest_m,
            position_m,
            velocity_mps: zeros.clone(),
            force_n: zeros,
        })
    }

    /// One step: forces of the form and the links, then velocity, then position.
    fn step(&mut self, form: &Form, params: &DrapeParams) {
        for (index, atom) in self.slab.atoms.iter().enumerate() {
            let (at_m, speed_mps) = (self.position_m[index], self.velocity_mps[index]);
            self.force_n[index] = form_force_n(at_m, speed_mps, !atom.surface, form, params);
        }
        for (link, &rest_m) in self.slab.links.iter().zip(&self.rest_m) {
            let [a, b] = link.atoms.map(|atom| atom as usize);
            let span_m = self.position_m[b] - self.position_m[a];
            let length_m = span_m.norm();
            let Some(along) = span_m.try_normalize(0.0) else {
                continue;
            };
            let rate_mps = (self.velocity_mps[b] - self.velocity_mps[a]).dot(&along);
            let pull_n = link.stiffness_npm * (length_m - rest_m) + link.damping_nspm * rate_mps;
            self.force_n[a] += pull_n * along;
            self.force_n[b] -= pull_n * along;
        }
        for (index, atom) in self.slab.atoms.iter().enumerate() {
            self.velocity_mps[index] += self.force_n[index] * (params.step_s / atom.mass_kg);
            self.position_m[index] += self.velocity_mps[index] * params.step_s;
        }
    }

    /// Kinetic energy now \[J\].
    #[must_use]
    fn kinetic_j(&self) -> f64 {
        let moving = self.slab.atoms.iter().zip(&self.velocity_mps);
        moving
            .map(|(atom, v_mps)| 0.5 * atom.mass_kg * v_mps.norm_squared())
            .sum()
    }

    /// The slab as it lies now, stress free, with a fixed home for every surface atom.
    #[must_use]
    fn settled(&self, params: &DrapeParams) -> Lattice {
        let surface = self.slab.surface_count();
        let shift = |atom: u32| {
            if atom as usize >= surface {
                atom + surface as u32
            } else {
                atom
            }
        };
        let placed = |(atom, &position_m): (&Atom, &Vec3)| Atom {
            position_m,
            ..*atom
        };
        let atoms: Vec<Atom> = self
            .slab
            .atoms
            .iter()
            .zip(&self.position_m)
            .map(placed)
            .collect();
        let (top, lower) = atoms.split_at(surface);
        let home = |atom: &Atom| Atom {
            fixed: true,
            surface: false,
            ..*atom
        };
        let homes: Vec<Atom> = top.iter().map(home).collect();
        let moved = |link: &Link| Link {
            atoms: link.atoms.map(shift),
            ..*link
        };
        let mut links: Vec<Link> = self.slab.links.iter().map(moved).collect();
        links.extend((0..surface as u32).map(|atom| Link {
            atoms: [atom, atom + surface as u32],
            stiffness_npm: params.home_stiffness_npm,
            damping_nspm: params.home_damping_nspm,
        }));
        Lattice {
            name: self.slab.name.clone(),
            atoms: [top, &homes, lower].concat(),
            links,
            faces: self.slab.faces.clone(),
        }
    }

    fn check(&self, settled: &Lattice, form: &Form) -> Result<(), DrapeError> {
        let limit_m = GAP_LIMIT * check::longest_edge_m(&self.slab);
        let lower = (0_u32..)
            .zip(&settled.atoms)
            .filter(|(_, atom)| !atom.surface && !atom.fixed);
        for (atom, body) in lower {
            let gap_m = ((body.position_m - form.center_m).norm() - form.radius_m).abs();
            if gap_m.is_nan() || gap_m >= limit_m {
                return Err(DrapeError::OffForm {
                    atom,
                    gap_m,
                    limit_m,
                });
            }
        }
        let (surface, shift) = (
            self.slab.surface_count() as u32,
            self.slab.surface_count() as u32,
        );
        for tetra in check::tetrahedra(&self.slab) {
            let before = check::volume_m3(tetra.map(|a| self.slab.atoms[a as usize].position_m));
            let after = check::volume_m3(tetra.map(|a| self.position_m[a as usize]));
            let volume_m3 = after * before.signum();
            if volume_m3.is_nan() || volume_m3 <= 0.0 {
                let atoms = tetra.map(|a| if a >= surface { a + shift } else { a });
                return Err(DrapeError::Inverted { atoms, volume_m3 });
            }
        }
        Ok(())
    }
}

/// Drape a flat lattice over a form; the new lattice is at rest in the shape that came out.
///
/// The lattice should start above and outside the form, surface away from it. Fixed atoms and
/// their links are dropped first.
///
/// # Errors
/// [`DrapeError`] if a parameter or the slab is unfit, or if it does not come to rest on the form
/// with every tetrahedron the right way out.
pub fn drape(lattice: &Lattice, form: &Form, params: &DrapeParams) -> Result<Lattice, DrapeError> {
    check_fields(form, params)?;
    let mut draping = Draping::new(lattice)?;
    let steps = (params.patience_s / params.step_s) as u64;
    let still = ((STILL_S / params.step_s) as u64).max(1);
    let mut quiet = 0;
    for _ in 0..steps {
        draping.step(form, params);
        quiet = if draping.kinetic_j() < params.still_j {
            quiet + 1
        } else {
            0
        };
        if quiet >= still {
            let settled = draping.settled(params);
            draping.check(&settled, form)?;
            return Ok(settled);
        }
    }
    Err(DrapeError::Restless {
        kinetic_j: draping.kinetic_j(),
        waited_s: params.patience_s,
        still_j: params.still_j,
    })
}

fn form_force_n(
    position_m: Vec3,
    velocity_mps: Vec3,
    drawn: bool,
    form: &Form,
    params: &DrapeParams,
) -> Vec3 {
    let away_m = position_m - form.center_m;
    let distance_m = away_m.norm();
    let Some(outward) = away_m.try_normalize(0.0) else {
        return Vec3::zeros();
    };
    let depth_m = form.radius_m - distance_m;
    if depth_m >= 0.0 {
        params.push_npm * depth_m * outward - params.friction_nspm * velocity_mps
    } else if drawn {
        params.attraction_npm * depth_m * outward
    } else {
        Vec3::zeros()
    }
}

/// The lattice without fixed atoms; surface atoms stay first.
fn freed(lattice: &Lattice) -> Lattice {
    let mut place = vec![None; lattice.atoms.len()];
    let free = (0..lattice.atoms.len()).filter(|&atom| !lattice.atoms[atom].fixed);
    for (new, old) in (0_u32..).zip(free) {
        place[old] = Some(new);
    }
    let renamed = |link: &Link| {
        let [a, b] = link.atoms.map(|atom| place[atom as usize]);
        Some(Link {
            atoms: [a?, b?],
            ..*link
        })
    };
    let corner = |atom: u32| place[atom as usize];
    Lattice {
        name: lattice.name.clone(),
        atoms: lattice
            .atoms
            .iter()
            .filter(|atom| !atom.fixed)
            .copied()
            .collect(),
        links: lattice.links.iter().filter_map(renamed).collect(),
        faces: lattice
            .faces
            .iter()
            .filter_map(|&[a, b, c]| Some([corner(a)?, corner(b)?, corner(c)?]))
            .collect(),
    }
}

fn check_fields(form: &Form, params: &DrapeParams) -> Result<(), DrapeError> {
    let more = "a finite number greater than 0";
    let least = "a finite number, at least 0";
    let fields = [
        ("center_m", form.center_m.sum().abs(), false),
        ("radius_m", form.radius_m, true),
        ("attraction_npm", params.attraction_npm, false),
        ("push_npm", params.push_npm, true),
        ("friction_nspm", params.friction_nspm, false),
        ("step_s", params.step_s, true),
        ("patience_s", params.patience_s, true),
        ("still_j", params.still_j, true),
        ("home_stiffness_npm", params.home_stiffness_npm, false),
        ("home_damping_nspm", params.home_damping_nspm, false),
    ];
    for (field, value, positive) in fields {
        if !(value.is_finite() && value >= 0.0 && (value > 0.0 || !positive)) {
            let expected = if positive { more } else { least };
            return Err(DrapeError::Field {
                field,
                value,
                expected,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::lattice::fixture;
    use palpate_twin::lattice::fixture::SheetParams;

    const RADIUS: f64 = 6.0;

    const FLAT: SheetParams = SheetParams {
        columns: 10,
        rows: 11,
        edge_m: 1.0,
        depth_ratio: 0.817,
        mass_kg: fixture::FILE_MASS,
        stiffness_npm: fixture::FILE_STIFFNESS,
        damping_nspm: fixture::FILE_DAMPING,
        home_stiffness_npm: fixture::FILE_STIFFNESS,
        home_damping_nspm: fixture::FILE_DAMPING,
    };

    fn slab() -> Lattice {
        fixture::sheet(&FLAT)
    }

    fn form() -> Form {
        Form {
            center_m: Vec3::new(0.0, 0.0, -1.0 - RADIUS),
            radius_m: RADIUS,
        }
    }

    #[test]
    fn s4_57_a_slab_lies_on_the_sphere_and_reloads_at_rest() {
        let draped = drape(&slab(), &form(), &DrapeParams::FILE).unwrap();
        let (flat, count) = (slab(), draped.surface_count());
        assert_eq!(draped.atoms.len(), flat.atoms.len());
        assert_eq!(draped.links.len(), flat.links.len());
        assert_eq!(check::findings(&draped), []);
        let radius = |atom: &Atom| (atom.position_m - form().center_m).norm();
        let lower = draped
            .atoms
            .iter()
            .filter(|atom| !atom.surface && !atom.fixed);
        assert!(
            lower
                .map(|atom| (radius(atom) - RADIUS).abs())
                .fold(0.0, f64::max)
                < 0.1
        );
        let top = draped.atoms[..count].iter().map(radius);
        assert!(top.fold(f64::INFINITY, f64::min) > RADIUS + 0.5);
        // Really curved: the rim is lower than the middle by more than the slab is thick.
        let heights = draped.atoms[..count].iter().map(|atom| atom.position_m.z);
        let (low, high) = heights.fold((0.0_f64, -9.0_f64), |(l, h), z| (l.min(z), h.max(z)));
        assert!(high - low > 1.0, "{low} to {high}");
        // At rest by itself: without a form, nothing moves.
        let mut again = Draping::new(&draped).unwrap();
        let nowhere = Form {
            center_m: Vec3::new(0.0, 0.0, -99.0),
            radius_m: 1.0,
        };
        let idle = DrapeParams {
            attraction_npm: 0.0,
            ..DrapeParams::FILE
        };
        (0..1000).for_each(|_| again.step(&nowhere, &idle));
        assert!(again.kinetic_j() < 1e-24, "{}", again.kinetic_j());
    }

    #[test]
    fn a_slab_that_cannot_rest_is_refused() {
        let hasty = DrapeParams {
            patience_s: 0.2,
            ..DrapeParams::FILE
        };
        let error = drape(&slab(), &form(), &hasty).unwrap_err();
        assert!(matches!(error, DrapeError::Restless { .. }), "{error}");
        let idle = DrapeParams {
            attraction_npm: 0.0,
            ..DrapeParams::FILE
        };
        let error = drape(&slab(), &form(), &idle).unwrap_err();
        assert!(matches!(error, DrapeError::OffForm { .. }), "{error}");
    }

    #[test]
    fn bad_fields_and_slabs_are_named() {
        let nan = DrapeParams {
            push_npm: f64::NAN,
            ..DrapeParams::FILE
        };
        let error = drape(&slab(), &form(), &nan).unwrap_err();
        assert!(error.to_string().contains("push_npm"), "{error}");
        let even = fixture::sheet(&SheetParams { rows: 12, ..FLAT });
        let error = drape(&even, &form(), &DrapeParams::FILE).unwrap_err();
        assert_eq!(
            error,
            DrapeError::Loose {
                atom: 115,
                links: 2
            }
        );
        let mut broken = slab();
        broken.links[0].atoms[0] = u32::MAX;
        let error = drape(&broken, &form(), &DrapeParams::FILE).unwrap_err();
        assert!(error.to_string().contains("link 0 names atom"), "{error}");
    }
}
