//! Synthetic layered phantom: a segment of a limb from formulas, with a tumour at a known position.
//!
//! Source: ours, after section 5.4 of seed-001. It replaces scans, is derived from no
//! person, and must not be called a scan. A cylinder along x with its ridge at z = 0: skin, fat of uneven
//! thickness, muscle, a bone, a vessel that winds beside it, and a ball of tumour. Labels are the truth. The
//! intensity volume beside them has a mean for each tissue, texture along the fibres of muscle, and noise as of the
//! magnitude of two noisy channels (Rice 1944). The same seed and parameters give the same bits.

use super::grid::{VoxelGrid, VoxelVolume};
use super::noise::Noise;
use crate::Defect;
use palpate_twin::Vec3;

/// Name of the phantom.
pub const NAME: &str = "synthetic layered phantom";

/// Labels of its tissues; 0 is air. Fibres of muscle run along x, and a vessel has its wall.
const SKIN: u16 = 1;
const FAT: u16 = 2;
const MUSCLE: u16 = 3;
const BONE: u16 = 4;
const VESSEL: u16 = 5;
const TUMOUR: u16 = 6;

/// Mean intensity of each label, in a unit of its own.
const MEANS: [f64; 7] = [0.0, 0.45, 0.9, 0.4, 0.08, 0.2, 0.65];

/// Share by which the fat is thicker or thinner from place to place.
const UNEVEN: f64 = 0.25;
/// Share by which the vessel winds, of its distance to the bone.
const WINDING: f64 = 0.15;
/// Texture of muscle, as a share of its intensity.
const TEXTURE: f64 = 0.15;
/// Correlation length of the texture along the fibres \[m\].
const FIBRE_M: f64 = 0.01;

/// Parameters of a phantom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimbPhantom {
    /// Seed of the unevenness of the fat, the winding of the vessel and all noise.
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

impl Default for LimbPhantom {
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

/// Phantom with derived quantities.
struct LimbGeometry {
    params: LimbPhantom,
    /// Phases of the variations.
    phases: [f64; 4],
}

impl LimbPhantom {
    /// Checks that the phantom can be generated.
    ///
    /// # Errors
    /// [`Defect`] naming the first field that is out of its range, or the number of voxels.
    pub fn check(&self) -> Result<(), Defect> {
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
                let field = format_args!("field `{field}` of the phantom");
                return Err(Defect::field(field, value, expected));
            }
        }
        self.grid()
            .check()
            .map_err(|error| error.located("phantom"))
    }

    /// Grid of its voxels: centred about x and y, the ridge at z = 0.
    #[must_use]
    pub fn grid(&self) -> VoxelGrid {
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
        VoxelGrid::axis_aligned(counts, origin_m, [self.spacing_m; 3])
    }

    /// Tissue label of every voxel: the ground truth.
    ///
    /// # Errors
    /// [`Defect`] if the parameters are invalid.
    pub fn labels(&self) -> Result<VoxelVolume<u16>, Defect> {
        self.check()?;
        let (grid, body) = (self.grid(), LimbGeometry::new(*self));
        let label =
            |index: [usize; 3]| body.label(&grid.position_m(index.map(|along| along as f64)));
        VoxelVolume::new(grid, grid.indices().map(label).collect())
    }

    /// Intensities of its labels, with texture and noise.
    ///
    /// # Errors
    /// [`Defect`] if the parameters are invalid.
    pub fn intensities(&self) -> Result<VoxelVolume<f32>, Defect> {
        let labels = self.labels()?;
        let fibres = self.fibres(&labels.grid);
        let channels = [10, 11].map(|purpose| Noise::new(self.seed, purpose));
        let values = labels.values.iter().zip(fibres).zip(0_u64..);
        let intensity = |((&label, fibre), counter): ((&u16, f64), u64)| {
            let mean = MEANS[usize::from(label)];
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
        VoxelVolume::new(labels.grid, values.map(intensity).collect())
    }

    /// Texture of variance 1 that is correlated along x, by voxel.
    fn fibres(&self, grid: &VoxelGrid) -> Vec<f64> {
        let noise = Noise::new(self.seed, 12);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most 100"
        )]
        let window = (libm::round(FIBRE_M / self.spacing_m) as usize).max(1);
        let along = grid.counts[0];
        // numbers of the row, and as many more as the last mean needs
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

impl LimbGeometry {
    fn new(of: LimbPhantom) -> Self {
        let noise = Noise::new(of.seed, 1);
        let phase = |nth: usize| std::f64::consts::TAU * noise.uniform(nth as u64);
        Self {
            params: of,
            phases: std::array::from_fn(phase),
        }
    }

    /// Tissue at a position \[m\].
    fn label(&self, at_m: &Vec3) -> u16 {
        let of = &self.params;
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

    /// Thickness of the fat over its mean, at an angle around the limb and a position along it.
    fn thickness(&self, turn: f64, along_m: f64) -> f64 {
        let [a, b, c, _] = self.phases;
        let along = std::f64::consts::TAU * along_m / self.params.length_m;
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

    fn coarse() -> LimbPhantom {
        LimbPhantom {
            spacing_m: 0.002,
            ..LimbPhantom::default()
        }
    }

    /// Checksum of bytes.
    fn print(bytes: impl Iterator<Item = u8>) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(&bytes.collect::<Vec<u8>>());
        sum.finalize()
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_and_another_does_not() {
        let prints = |phantom: LimbPhantom| {
            let labels = phantom.labels().expect("fits");
            let intensities = phantom.intensities().expect("fits");
            (
                print(labels.values.iter().flat_map(|v| v.to_le_bytes())),
                print(intensities.values.iter().flat_map(|v| v.to_le_bytes())),
            )
        };
        // golden values, the same on every machine
        assert_eq!(prints(coarse()), GOLDEN);
        let other = prints(LimbPhantom {
            seed: 2,
            ..coarse()
        });
        assert_ne!(other.0, GOLDEN.0);
        assert_ne!(other.1, GOLDEN.1);
    }

    const GOLDEN: (u32, u32) = (2_621_309_905, 293_394_902);

    /// Tissue volumes in closed form, within the error of voxels at a surface.
    #[test]
    fn tissue_volumes_match_closed_forms() {
        let phantom = LimbPhantom::default();
        let labels = phantom.labels().expect("fits");
        let counts = label::counts(&labels);
        assert_eq!(
            counts.keys().copied().collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5, 6]
        );
        let volume_m3 = |label: u16| counts[&label] as f64 * labels.grid.voxel_volume_m3();
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

    /// Rice's distribution: the mean in empty space is sigma sqrt(pi/2), far above it sqrt(A^2 + sigma^2).
    #[test]
    fn noise_is_rician_and_texture_follows_the_fibres() {
        let phantom = LimbPhantom::default();
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
    fn invalid_phantoms_are_named() {
        let message = |change: &dyn Fn(&mut LimbPhantom)| {
            let mut phantom = coarse();
            change(&mut phantom);
            phantom.labels().expect_err("unfit").to_string()
        };
        assert!(message(&|p| p.radius_m = -1.0).contains("radius_m` of the phantom is -1"));
        assert!(message(&|p| p.layers_m[1] = 0.1).contains("fat_m"));
        assert!(message(&|p| p.tumour_m = [0.0, 0.0, -0.003]).contains("tumour_radius_m"));
        assert!(message(&|p| p.tumour_m[0] = 1.0).contains("tumour_m[0]"));
        assert!(message(&|p| p.noise = f64::NAN).contains("noise"));
        assert!(
            message(&|p| (p.radius_m, p.length_m, p.spacing_m) = (0.2, 0.5, 1e-4))
                .contains("voxels")
        );
    }
}
