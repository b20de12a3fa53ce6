//! Curved sheets, made by draping a flat sheet over a sphere.
//!
//! Source: seed-004 3.10 (row S4-57). A *home* is a fixed atom at the rest position of a surface atom, tied to it
//! by a spring; a slab is draped without homes. A rigid form, the sphere, attracts the lower layer of the slab.
//! Atoms that enter the form are pushed out and braked. Once all atoms rest, the resulting
//! shape becomes the rest shape of a new lattice, with a home for every surface atom. Time integration
//! is semi-implicit (3.4). Symbols: `k_o` attraction, `k_i` push, `b_f` friction.

use crate::Defect;
use crate::mesh::lattice_check;
use crate::mesh::tet::volume_m3;
use palpate_twin::Vec3;
use palpate_twin::lattice::{Atom, Lattice, LatticeLink};

/// Largest distance of a lower atom from the form at the end, over the longest surface edge (S4-57).
const GAP_LIMIT: f64 = 0.1;
/// Time that all atoms must rest before the shape is accepted \[s\].
const REST_TIME_S: f64 = 0.1;
/// Kinetic energy below which the slab is at rest \[J\].
const REST_ENERGY_J: f64 = 1e-9;
/// Push on any atom inside the form, `k_i` \[N/m\], and friction on it, `b_f` \[N s/m\] (3.10). This and all below
/// work for the links and masses of the data set, in the units of its file.
const PUSH_NPM: f64 = 60.0;
const FRICTION_NSPM: f64 = 0.3;
/// Step \[s\] (3.10).
const STEP_S: f64 = 0.0005;
/// Stiffness \[N/m\] and damping \[N s/m\] of the homes of the new lattice.
const HOME_NPM: f64 = 15.0;
const HOME_NSPM: f64 = 0.2;

/// Rigid sphere with its attraction, in the units of the lattice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrapeSphere {
    /// Centre \[m\].
    pub center_m: Vec3,
    /// Radius `R_f` \[m\], greater than zero.
    pub radius_m: f64,
    /// Attraction of a lower atom outside the form, `k_o` \[N/m\].
    attraction_npm: f64,
    /// Longest time to wait for rest \[s\].
    timeout_s: f64,
}

impl DrapeSphere {
    /// A sphere that works for the links and masses of the data set.
    ///
    /// With the attraction 2 of 3.10, the rim of a slab stays 0.28 above a form of radius 6. With 20, on the lower
    /// layer alone, it stays 0.055 above, and nothing crumples. All in the units of the file of the data set.
    #[must_use]
    pub fn new(center_m: Vec3, radius_m: f64) -> Self {
        Self {
            center_m,
            radius_m,
            attraction_npm: 20.0,
            timeout_s: 20.0,
        }
    }

    fn check(&self) -> Result<(), Defect> {
        let centre_m = self.center_m.sum().abs();
        let field = |name: &str, value: f64, expected: &str| {
            Err(Defect::field(
                format_args!("drape field `{name}`"),
                value,
                expected,
            ))
        };
        if !centre_m.is_finite() {
            return field("center_m", centre_m, "a finite number, at least 0");
        }
        if !(self.radius_m.is_finite() && self.radius_m > 0.0) {
            return field("radius_m", self.radius_m, "a finite number greater than 0");
        }
        Ok(())
    }

    /// Force on an atom \[N\]; only if it is `drawn` is it attracted.
    fn force_n(&self, position_m: Vec3, velocity_mps: Vec3, drawn: bool) -> Vec3 {
        let away_m = position_m - self.center_m;
        let distance_m = away_m.norm();
        let Some(outward) = away_m.try_normalize(0.0) else {
            return Vec3::zeros();
        };
        let depth_m = self.radius_m - distance_m;
        if depth_m >= 0.0 {
            PUSH_NPM * depth_m * outward - FRICTION_NSPM * velocity_mps
        } else if drawn {
            self.attraction_npm * depth_m * outward
        } else {
            Vec3::zeros()
        }
    }
}

/// Slab during draping.
#[derive(Debug, Clone, PartialEq)]
struct Draping {
    slab: Lattice,
    rest_m: Vec<f64>,
    position_m: Vec<Vec3>,
    velocity_mps: Vec<Vec3>,
    force_n: Vec<Vec3>,
}

impl Draping {
    /// Creates a slab at rest from a lattice without its fixed atoms and their links.
    ///
    /// # Errors
    /// The first finding about the lattice, or the first atom with too few links to come to rest without its home, as the
    /// outer corners of a sheet with an even row count.
    fn new(lattice: &Lattice) -> Result<Self, Defect> {
        if let Some(finding) = lattice_check::findings(lattice).into_iter().next() {
            return Err(finding.located("the slab is unfit"));
        }
        let slab = freed(lattice);
        let mut held = vec![0; slab.atoms.len()];
        slab.links
            .iter()
            .flat_map(|link| link.atoms)
            .for_each(|atom| held[atom as usize] += 1);
        if let Some(atom) = held.iter().position(|&links| links < 3) {
            let found = format!("atom {atom} of the slab hangs on {} links", held[atom]);
            return Err(Defect::new(found, "at least 3"));
        }
        let position_m: Vec<Vec3> = slab.atoms.iter().map(|atom| atom.position_m).collect();
        let length_m = |link: &LatticeLink| {
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
    fn step(&mut self, form: &DrapeSphere) {
        for (index, atom) in self.slab.atoms.iter().enumerate() {
            let (at_m, speed_mps) = (self.position_m[index], self.velocity_mps[index]);
            self.force_n[index] = form.force_n(at_m, speed_mps, !atom.surface);
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
            self.velocity_mps[index] += self.force_n[index] * (STEP_S / atom.mass_kg);
            self.position_m[index] += self.velocity_mps[index] * STEP_S;
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

    /// Lattice of the slab in its present shape, stress free, with a fixed home for every surface atom.
    #[must_use]
    fn settled(&self) -> Lattice {
        let placed = |(atom, &position_m): (&Atom, &Vec3)| Atom {
            position_m,
            ..*atom
        };
        let places = self.slab.atoms.iter().zip(&self.position_m);
        let atoms: Vec<Atom> = places.map(placed).collect();
        let surface = self.slab.surface_count();
        let (top, lower) = atoms.split_at(surface);
        let home = |atom: &Atom| Atom {
            fixed: true,
            surface: false,
            ..*atom
        };
        let homes: Vec<Atom> = top.iter().map(home).collect();
        let moved = |link: &LatticeLink| LatticeLink {
            atoms: link.atoms.map(|atom| self.renamed(atom)),
            ..*link
        };
        let mut links: Vec<LatticeLink> = self.slab.links.iter().map(moved).collect();
        links.extend((0..surface as u32).map(|atom| LatticeLink {
            atoms: [atom, atom + surface as u32],
            stiffness_npm: HOME_NPM,
            damping_nspm: HOME_NSPM,
        }));
        Lattice {
            name: self.slab.name.clone(),
            atoms: [top, &homes, lower].concat(),
            links,
            faces: self.slab.faces.clone(),
        }
    }

    /// Index of an atom of the slab in the new lattice, where homes follow the surface.
    fn renamed(&self, atom: u32) -> u32 {
        let surface = self.slab.surface_count() as u32;
        if atom >= surface {
            atom + surface
        } else {
            atom
        }
    }

    fn check(&self, settled: &Lattice, form: &DrapeSphere) -> Result<(), Defect> {
        let limit_m = GAP_LIMIT * lattice_check::longest_edge_m(&self.slab);
        let lower = (0_u32..)
            .zip(&settled.atoms)
            .filter(|(_, atom)| !atom.surface && !atom.fixed);
        for (atom, body) in lower {
            let gap_m = ((body.position_m - form.center_m).norm() - form.radius_m).abs();
            if gap_m.is_nan() || gap_m >= limit_m {
                let found = format!("atom {atom} rests {gap_m} m from the form");
                return Err(Defect::new(found, format!("at most {limit_m} m")));
            }
        }
        for tetra in lattice_check::tetrahedra(&self.slab) {
            let before = volume_m3(tetra.map(|a| self.slab.atoms[a as usize].position_m));
            let after = volume_m3(tetra.map(|a| self.position_m[a as usize]));
            let volume = after * before.signum();
            if volume.is_nan() || volume <= 0.0 {
                let atoms = tetra.map(|atom| self.renamed(atom));
                return Err(Defect::from_text(format!(
                    "the tetrahedron of atoms {atoms:?} turned inside out, to {volume} m^3"
                )));
            }
        }
        Ok(())
    }
}

/// Drapes a flat lattice over a form; the new lattice is at rest in the resulting shape.
///
/// The lattice should start above and outside the form, surface away from it. Fixed atoms and
/// their links are dropped first.
///
/// # Errors
/// [`Defect`] if the form or the slab is unfit, or if the slab does not come to rest on the form
/// with every tetrahedron the right way out.
pub fn drape(lattice: &Lattice, form: &DrapeSphere) -> Result<Lattice, Defect> {
    form.check()?;
    let mut draping = Draping::new(lattice)?;
    let steps = (form.timeout_s / STEP_S) as u64;
    let still = ((REST_TIME_S / STEP_S) as u64).max(1);
    let mut quiet = 0;
    for _ in 0..steps {
        draping.step(form);
        quiet = if draping.kinetic_j() < REST_ENERGY_J {
            quiet + 1
        } else {
            0
        };
        if quiet >= still {
            let settled = draping.settled();
            draping.check(&settled, form)?;
            return Ok(settled);
        }
    }
    let (kinetic_j, waited_s) = (draping.kinetic_j(), form.timeout_s);
    Err(Defect::new(
        format!("still moving with {kinetic_j} J after {waited_s} s"),
        format!("less than {REST_ENERGY_J} J"),
    ))
}

/// Drapes a sheet of any size, stiffness and mass: it is scaled to the numbers of the data set, for which the constants
/// above work, and back. The shape at rest does not depend on masses and damping.
///
/// # Errors
/// As [`drape`]; lengths in the message are in units of the longest surface edge.
pub fn drape_scaled(lattice: &Lattice, form: &DrapeSphere) -> Result<Lattice, Defect> {
    let links = || lattice.links.iter();
    let stiffest_npm = links().map(|link| link.stiffness_npm).fold(0.0, f64::max);
    let damping_nspm = links().map(|link| link.damping_nspm).fold(0.0, f64::max);
    let masses_kg = lattice.atoms.iter().filter(|atom| !atom.fixed);
    let lightest_kg = masses_kg.map(|atom| atom.mass_kg).fold(f64::MAX, f64::min);
    let factor = |of: f64, largest: f64| if largest > 0.0 { of / largest } else { 1.0 };
    let scale = DataScale {
        length: 1.0 / lattice_check::longest_edge_m(lattice),
        stiffness: factor(HOME_NPM, stiffest_npm),
        damping: factor(HOME_NSPM, damping_nspm),
        mass: factor(MASS_KG, lightest_kg),
    };
    let form = DrapeSphere {
        center_m: form.center_m * scale.length,
        radius_m: form.radius_m * scale.length,
        ..*form
    };
    let mut flat = scale.apply(lattice);
    // springs without damping come to rest by that of the data set, and stay without it
    let set_damping = |lattice: &mut Lattice, damping_nspm: f64| {
        let links = lattice.links.iter_mut();
        links.for_each(|link| link.damping_nspm = damping_nspm);
    };
    let undamped = damping_nspm == 0.0;
    if undamped {
        set_damping(&mut flat, HOME_NSPM);
    }
    let mut curved = scale.inverse().apply(&drape(&flat, &form)?);
    if undamped {
        set_damping(&mut curved, 0.0);
    }
    Ok(curved)
}

/// Mass of an atom of the data set \[kg\].
const MASS_KG: f64 = 0.002;

/// Factors on the numbers of a lattice.
#[derive(Debug, Clone, Copy)]
struct DataScale {
    length: f64,
    stiffness: f64,
    damping: f64,
    mass: f64,
}

impl DataScale {
    fn inverse(self) -> Self {
        Self {
            length: 1.0 / self.length,
            stiffness: 1.0 / self.stiffness,
            damping: 1.0 / self.damping,
            mass: 1.0 / self.mass,
        }
    }

    fn apply(self, lattice: &Lattice) -> Lattice {
        let mut scaled = lattice.clone();
        for atom in &mut scaled.atoms {
            atom.position_m *= self.length;
            atom.mass_kg *= self.mass;
        }
        for link in &mut scaled.links {
            link.stiffness_npm *= self.stiffness;
            link.damping_nspm *= self.damping;
        }
        scaled
    }
}

/// Lattice without fixed atoms; surface atoms stay first.
fn freed(lattice: &Lattice) -> Lattice {
    let mut place = vec![None; lattice.atoms.len()];
    let free = (0..lattice.atoms.len()).filter(|&atom| !lattice.atoms[atom].fixed);
    for (new, old) in (0_u32..).zip(free) {
        place[old] = Some(new);
    }
    let renamed = |link: &LatticeLink| {
        let [a, b] = link.atoms.map(|atom| place[atom as usize]);
        Some(LatticeLink {
            atoms: [a?, b?],
            ..*link
        })
    };
    let corner = |atom: u32| place[atom as usize];
    let atoms = lattice.atoms.iter().filter(|atom| !atom.fixed);
    Lattice {
        name: lattice.name.clone(),
        atoms: atoms.copied().collect(),
        links: lattice.links.iter().filter_map(renamed).collect(),
        faces: lattice
            .faces
            .iter()
            .filter_map(|&[a, b, c]| Some([corner(a)?, corner(b)?, corner(c)?]))
            .collect(),
    }
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
        mass_kg: 0.002,
        stiffness_npm: 15.0,
        damping_nspm: 0.2,
        home_stiffness_npm: 15.0,
        home_damping_nspm: 0.2,
    };

    fn slab() -> Lattice {
        fixture::sheet(&FLAT)
    }

    fn form() -> DrapeSphere {
        DrapeSphere::new(Vec3::new(0.0, 0.0, -1.0 - RADIUS), RADIUS)
    }

    /// A slab of any size, whose springs may lack damping, has the shape of the slab of the data set.
    #[test]
    fn scaled_slab_without_damping_has_the_shape_of_the_data_set() {
        let inch = 0.0254;
        let mut small = slab();
        small.atoms.iter_mut().for_each(|atom| {
            atom.position_m *= inch;
            atom.mass_kg *= 0.1;
        });
        for link in &mut small.links {
            link.damping_nspm = 0.0;
        }
        let sphere = DrapeSphere::new(inch * form().center_m, inch * RADIUS);
        let scaled = drape_scaled(&small, &sphere).unwrap();
        let plain = drape(&slab(), &form()).unwrap();
        for (scaled, plain) in scaled.atoms.iter().zip(&plain.atoms) {
            let apart = (scaled.position_m / inch - plain.position_m).norm();
            assert!(apart < 1e-3, "{apart}");
        }
        assert!(scaled.links.iter().all(|link| link.damping_nspm == 0.0));
    }

    #[test]
    fn s4_57_a_slab_lies_on_the_sphere_and_reloads_at_rest() {
        let draped = drape(&slab(), &form()).unwrap();
        let (flat, count) = (slab(), draped.surface_count());
        assert_eq!(draped.atoms.len(), flat.atoms.len());
        assert_eq!(draped.links.len(), flat.links.len());
        assert_eq!(lattice_check::findings(&draped), []);
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
        // Curved: the rim is lower than the middle by more than the slab is thick.
        let heights = draped.atoms[..count].iter().map(|atom| atom.position_m.z);
        let (low, high) = heights.fold((0.0_f64, -9.0_f64), |(l, h), z| (l.min(z), h.max(z)));
        assert!(high - low > 1.0, "{low} to {high}");
        // At rest by itself: without a form, nothing moves.
        let mut again = Draping::new(&draped).unwrap();
        let nowhere = DrapeSphere {
            attraction_npm: 0.0,
            ..DrapeSphere::new(Vec3::new(0.0, 0.0, -99.0), 1.0)
        };
        (0..1000).for_each(|_| again.step(&nowhere));
        assert!(again.kinetic_j() < 1e-24, "{}", again.kinetic_j());
    }

    #[test]
    fn a_slab_that_cannot_rest_is_refused() {
        let hasty = DrapeSphere {
            timeout_s: 0.2,
            ..form()
        };
        let text = drape(&slab(), &hasty).unwrap_err().to_string();
        assert!(text.starts_with("still moving with "), "{text}");
        let idle = DrapeSphere {
            attraction_npm: 0.0,
            ..form()
        };
        let text = drape(&slab(), &idle).unwrap_err().to_string();
        assert!(
            text.contains("m from the form; expected at most "),
            "{text}"
        );
    }

    #[test]
    fn bad_fields_and_slabs_are_named() {
        let turned = DrapeSphere::new(form().center_m, f64::NAN);
        let error = drape(&slab(), &turned).unwrap_err();
        assert!(error.to_string().contains("`radius_m` is NaN"), "{error}");
        let even = fixture::sheet(&SheetParams { rows: 12, ..FLAT });
        let error = drape(&even, &form()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "atom 115 of the slab hangs on 2 links; expected at least 3"
        );
        let mut broken = slab();
        broken.links[0].atoms[0] = u32::MAX;
        let error = drape(&broken, &form()).unwrap_err();
        assert!(error.to_string().contains("link 0 names atom"), "{error}");
    }
}
