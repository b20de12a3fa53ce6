//! The synthetic layered phantom: a piece of limb made of formulas, with a tumour whose place is known.
//!
//! Source: ours, as section 5.4 of seed-001 asks: it stands in for scans that are not at hand, is drawn from no
//! person, and is never to be called one. A cylinder along x with its ridge at z = 0: skin, fat of uneven
//! thickness, muscle, a bone, a vessel that winds beside it, and a ball of tumour. Labels are the truth. The
//! intensity volume beside them has a mean for each tissue, texture along the fibres of muscle, and noise as of the
//! magnitude of two noisy channels (Rice 1944). The same seed and parameters give the same bits.

use super::grid::{Grid, GridError, Voxels};
use super::noise::Noise;
use palpate_twin::Vec3;

/// What the phantom is to be called.
pub const NAME: &str = "synthetic layered phantom";

/// Labels of its tissues; 0 is air.
pub const SKIN: u16 = 1;
/// Fat below the skin.
pub const FAT: u16 = 2;
/// Muscle, with fibres along x.
pub const MUSCLE: u16 = 3;
/// Bone.
pub const BONE: u16 = 4;
/// A vessel with its wall.
pub const VESSEL: u16 = 5;
/// The tumour.
pub const TUMOUR: u16 = 6;

/// Name and mean intensity of each label, in a unit of its own.
pub const TISSUES: [(&str, f64); 7] = [
    ("air", 0.0),
    ("skin", 0.45),
    ("fat", 0.9),
    ("muscle", 0.4),
    ("bone", 0.08),
    ("vessel", 0.2),
    ("tumour", 0.65),
];

/// Share by which the fat is thicker or thinner from place to place.
const UNEVEN: f64 = 0.25;
/// Share by which the vessel winds, of its distance to the bone.
const WINDING: f64 = 0.15;
/// Texture of muscle, as a share of its intensity.
const TEXTURE: f64 = 0.15;
/// Length over which the texture is alike along the fibres \[m\].
const FIBRE_M: f64 = 0.01;

/// What a phantom is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phantom {
    /// Decides on the unevenness of the fat, the winding of the vessel and all noise.
    pub seed: u64,
    /// Radius of the limb \[m\].
    pub radius_m: f64,
    /// Length along x \[m\].
    pub length_m: f64,
    /// Distance of voxels \[m\].
    pub spacing_m: f64,
    /// Thickness of skin and of fat \[m\].
    pub layers_m: [f64; 2],
    /// Radius of the bone \[m\].
    pub bone_radius_m: f64,
    /// Outer radius of the vessel \[m\].
    pub vessel_radius_m: f64,
    /// Middle of the tumour, with the ridge of the limb at z = 0 \[m\].
    pub tumour_m: [f64; 3],
    /// Radius of the tumour \[m\]; 0 for none.
    pub tumour_radius_m: f64,
    /// Standard deviation of the noise in each of the two channels.
    pub noise: f64,
}

impl Default for Phantom {
    fn default() -> Self {
        Self {
            seed: 1,
            radius_m: 0.04,
            length_m: 0.07,
            spacing_m: 0.001,
            layers_m: [0.002, 0.004],
            bone_radius_m: 0.011,
            vessel_radius_m: 0.003,
            tumour_m: [0.02, 0.0, -0.013],
            tumour_radius_m: 0.006,
            noise: 0.03,
        }
    }
}

/// Why there is no such phantom.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PhantomError {
    /// A parameter is out of its range.
    #[error("field `{field}` of the phantom is {value}; expected {expected}")]
    Field {
        /// Which one.
        field: &'static str,
        /// Value found.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// Too many voxels, or none.
    #[error("phantom: {0}")]
    Grid(#[from] GridError),
}

/// A phantom ready to be asked.
struct Body {
    of: Phantom,
    /// Phases of what is uneven.
    phases: [f64; 4],
}

impl Phantom {
    /// Whether it can be made.
    ///
    /// # Errors
    /// [`PhantomError`] naming the first field that is out of its range, or the number of voxels.
    pub fn check(&self) -> Result<(), PhantomError> {
        let [skin_m, fat_m] = self.layers_m;
        let inner_m = self.radius_m - skin_m - fat_m * (1.0 + UNEVEN);
        let [x, y, z] = self.tumour_m;
        let aside_m = (y * y + (z + self.radius_m) * (z + self.radius_m)).sqrt();
        let size = "0.005 to 0.2 m";
        let fields = [
            ("radius_m", self.radius_m, (0.005, 0.2), size),
            ("length_m", self.length_m, (0.005, 0.5), "0.005 to 0.5 m"),
            (
                "spacing_m",
                self.spacing_m,
                (1e-4, 0.01),
                "0.0001 to 0.01 m",
            ),
            (
                "skin_m",
                skin_m,
                (0.0, 0.5 * self.radius_m),
                "0 to half of the radius",
            ),
            (
                "fat_m",
                fat_m,
                (0.0, 0.6 * (self.radius_m - skin_m)),
                "0 to 0.6 of what the skin leaves of the radius",
            ),
            (
                "bone_radius_m",
                self.bone_radius_m,
                (0.0, 0.5 * inner_m),
                "0 to half of what is left for muscle",
            ),
            (
                "vessel_radius_m",
                self.vessel_radius_m,
                (0.0, 0.2 * inner_m),
                "0 to a fifth of what is left for muscle",
            ),
            (
                "tumour_radius_m",
                self.tumour_radius_m,
                (0.0, self.radius_m - skin_m - aside_m),
                "0 to its distance to the skin",
            ),
            (
                "tumour_m[0]",
                x,
                (-0.5 * self.length_m, 0.5 * self.length_m),
                "within the length",
            ),
            ("noise", self.noise, (0.0, 1.0), "0 to 1"),
        ];
        for (field, value, (low, high), expected) in fields {
            if !(low..=high).contains(&value) {
                return Err(PhantomError::Field {
                    field,
                    value,
                    expected,
                });
            }
        }
        Ok(self.grid().check()?)
    }

    /// Where its voxels are: centred about x and y, the ridge at z = 0.
    #[must_use]
    pub fn grid(&self) -> Grid {
        let cells = |length_m: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at most 5000, see check"
            )]
            let count = libm::round(length_m / self.spacing_m) as usize;
            count.max(1)
        };
        let across = cells(2.0 * self.radius_m);
        let counts = [cells(self.length_m), across, across];
        let half = |axis: usize| -0.5 * (counts[axis] as f64 - 1.0) * self.spacing_m;
        let origin_m = Vec3::new(half(0), half(1), half(2) - self.radius_m);
        Grid::straight(counts, origin_m, [self.spacing_m; 3])
    }

    /// Which tissue every voxel is: the truth.
    ///
    /// # Errors
    /// [`PhantomError`] if it cannot be made.
    pub fn labels(&self) -> Result<Voxels<u16>, PhantomError> {
        self.check()?;
        let (grid, body) = (self.grid(), Body::new(*self));
        let label = |index: [usize; 3]| body.label(&grid.at_m(index.map(|along| along as f64)));
        Ok(Voxels::new(grid, grid.indices().map(label).collect())?)
    }

    /// Intensities of its labels, with texture and noise.
    ///
    /// # Errors
    /// [`PhantomError`] if it cannot be made.
    pub fn intensities(&self) -> Result<Voxels<f32>, PhantomError> {
        let labels = self.labels()?;
        let fibres = self.fibres(&labels.grid);
        let channels = [10, 11].map(|purpose| Noise::new(self.seed, purpose));
        let values = labels.values.iter().zip(fibres).zip(0_u64..);
        let intensity = |((&label, fibre), counter): ((&u16, f64), u64)| {
            let (_, mean) = TISSUES[usize::from(label)];
            let texture = if label == MUSCLE {
                1.0 + TEXTURE * fibre
            } else {
                1.0
            };
            let [real, other] = channels.map(|channel| self.noise * channel.normal(counter));
            let real = mean * texture + real;
            #[expect(clippy::cast_possible_truncation, reason = "single precision is kept")]
            let magnitude = (real * real + other * other).sqrt() as f32;
            magnitude
        };
        Ok(Voxels::new(labels.grid, values.map(intensity).collect())?)
    }

    /// Texture of variance 1 that is alike along x, by voxel.
    fn fibres(&self, grid: &Grid) -> Vec<f64> {
        let noise = Noise::new(self.seed, 12);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most 100"
        )]
        let window = (libm::round(FIBRE_M / self.spacing_m) as usize).max(1);
        let along = grid.counts[0];
        // a row's own numbers, and as many more as the last mean needs
        let row = (along + window) as u64;
        let share = 1.0 / (window as f64).sqrt();
        let rows = grid.counts[1] * grid.counts[2];
        let mut fibres = Vec::with_capacity(grid.len());
        for first in (0..rows as u64).map(|nth| nth * row) {
            let own: Vec<f64> = (0..row).map(|at| noise.normal(first + at)).collect();
            let sums = own.windows(window).take(along);
            fibres.extend(sums.map(|window| share * window.iter().sum::<f64>()));
        }
        fibres
    }
}

impl Body {
    fn new(of: Phantom) -> Self {
        let noise = Noise::new(of.seed, 1);
        let phase = |nth: usize| std::f64::consts::TAU * noise.share(nth as u64);
        Self {
            of,
            phases: std::array::from_fn(phase),
        }
    }

    /// The tissue at a place \[m\].
    fn label(&self, at_m: &Vec3) -> u16 {
        let of = &self.of;
        let up_m = at_m.z + of.radius_m;
        let aside_m = (at_m.y * at_m.y + up_m * up_m).sqrt();
        if aside_m > of.radius_m {
            return 0;
        }
        if (at_m - Vec3::from(of.tumour_m)).norm() <= of.tumour_radius_m {
            return TUMOUR;
        }
        let [skin_m, fat_m] = of.layers_m;
        if aside_m > of.radius_m - skin_m {
            return SKIN;
        }
        let turn = libm::atan2(at_m.y, up_m);
        if aside_m > of.radius_m - skin_m - fat_m * self.thickness(turn, at_m.x) {
            return FAT;
        }
        // below the middle, so that there is something to press above it
        let bone_m = -0.25 * of.radius_m;
        let inside = |radius_m: f64, y_m: f64, z_m: f64| {
            let (y, z) = (at_m.y - y_m, up_m - z_m);
            y * y + z * z <= radius_m * radius_m
        };
        if inside(of.bone_radius_m, 0.0, bone_m) {
            return BONE;
        }
        let away_m = of.bone_radius_m + 2.0 * of.vessel_radius_m;
        let wave = libm::sin(std::f64::consts::TAU * at_m.x / (0.7 * of.length_m) + self.phases[3]);
        let vessel_m = bone_m + WINDING * away_m * wave;
        if inside(of.vessel_radius_m, away_m, vessel_m) {
            return VESSEL;
        }
        MUSCLE
    }

    /// Thickness of the fat over its mean, in a direction around the limb and at a place along it.
    fn thickness(&self, turn: f64, along_m: f64) -> f64 {
        let [a, b, c, _] = self.phases;
        let along = std::f64::consts::TAU * along_m / self.of.length_m;
        let waves = 0.5 * libm::cos(turn + a)
            + 0.3 * libm::cos(2.0 * turn + along + b)
            + 0.2 * libm::cos(3.0 * turn - along + c);
        1.0 + UNEVEN * waves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::label;

    fn coarse() -> Phantom {
        Phantom {
            spacing_m: 0.002,
            ..Phantom::default()
        }
    }

    /// A sum that any changed bit changes.
    fn print(bytes: impl Iterator<Item = u8>) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&bytes.collect::<Vec<u8>>());
        sum.finalize()
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_and_another_does_not() {
        let prints = |phantom: Phantom| {
            let labels = phantom.labels().expect("fits");
            let intensities = phantom.intensities().expect("fits");
            (
                print(labels.values.iter().flat_map(|v| v.to_le_bytes())),
                print(intensities.values.iter().flat_map(|v| v.to_le_bytes())),
            )
        };
        // golden: what this machine and every other must get
        assert_eq!(prints(coarse()), GOLDEN);
        let other = prints(Phantom {
            seed: 2,
            ..coarse()
        });
        assert_ne!(other.0, GOLDEN.0);
        assert_ne!(other.1, GOLDEN.1);
    }

    const GOLDEN: (u32, u32) = (2_621_309_905, 293_394_902);

    /// Volumes of what has a closed form, within what voxels at a surface can miss.
    #[test]
    fn every_tissue_is_there_in_its_amount() {
        let phantom = Phantom::default();
        let labels = phantom.labels().expect("fits");
        let counts = label::counts(&labels);
        assert_eq!(
            counts.keys().copied().collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5, 6]
        );
        let volume_m3 = |label: u16| counts[&label] as f64 * labels.grid.voxel_m3();
        let pi = std::f64::consts::PI;
        let disc = |radius_m: f64| pi * radius_m * radius_m * phantom.length_m;
        let ball = 4.0 / 3.0 * pi * phantom.tumour_radius_m.powi(3);
        for (label, expected_m3) in [
            (SKIN, disc(0.04) - disc(0.038)),
            (BONE, disc(0.011)),
            (VESSEL, disc(0.003)),
            (TUMOUR, ball),
        ] {
            let ratio = volume_m3(label) / expected_m3;
            assert!((ratio - 1.0).abs() < 0.05, "{label}: {ratio}");
        }
        let limb_m3: f64 = (1..7).map(volume_m3).sum();
        assert!((limb_m3 / disc(0.04) - 1.0).abs() < 0.01);
    }

    /// Rice's distribution: where there is nothing the mean is sigma sqrt(pi/2), far above it sqrt(A^2 + sigma^2).
    #[test]
    fn noise_is_that_of_a_magnitude_and_texture_lies_along_the_fibres() {
        let phantom = Phantom::default();
        let labels = phantom.labels().expect("fits");
        let values = phantom.intensities().expect("fits").values;
        let mean = |label: u16| {
            let own = labels
                .values
                .iter()
                .zip(&values)
                .filter(|(l, _)| **l == label);
            let (sum, count) = own.fold((0.0, 0.0), |(s, n), (_, v)| (s + f64::from(*v), n + 1.0));
            sum / count
        };
        let rice = 0.03 * (std::f64::consts::PI / 2.0).sqrt();
        assert!((mean(0) / rice - 1.0).abs() < 0.01, "{}", mean(0));
        let far = (0.9_f64 * 0.9 + 0.03 * 0.03).sqrt();
        assert!((mean(FAT) / far - 1.0).abs() < 0.01, "{}", mean(FAT));
        let middle = mean(MUSCLE);
        let alike = |step: usize| {
            let pairs = (0..values.len() - step)
                .filter(|&at| labels.values[at] == MUSCLE && labels.values[at + step] == MUSCLE);
            let off = |at: usize| f64::from(values[at]) - middle;
            let (sum, count) = pairs.fold((0.0, 0.0), |(s, n), at| {
                (s + off(at) * off(at + step), n + 1.0)
            });
            sum / count
        };
        let (along, across) = (alike(3), alike(3 * labels.grid.counts[0]));
        assert!(along > 10.0 * across.abs(), "{along} {across}");
    }

    #[test]
    fn phantoms_that_cannot_be_are_named() {
        let told = |change: &dyn Fn(&mut Phantom)| {
            let mut phantom = coarse();
            change(&mut phantom);
            phantom.labels().expect_err("unfit").to_string()
        };
        assert!(told(&|p| p.radius_m = -1.0).contains("radius_m` of the phantom is -1"));
        assert!(told(&|p| p.layers_m[1] = 0.1).contains("fat_m"));
        assert!(told(&|p| p.tumour_m = [0.0, 0.0, -0.003]).contains("tumour_radius_m"));
        assert!(told(&|p| p.tumour_m[0] = 1.0).contains("tumour_m[0]"));
        assert!(told(&|p| p.noise = f64::NAN).contains("noise"));
        assert!(
            told(&|p| (p.radius_m, p.length_m, p.spacing_m) = (0.2, 0.5, 1e-4)).contains("voxels")
        );
    }
}
