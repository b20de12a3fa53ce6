//! Details of a static press for tests: supports, energy and iterations.

use crate::static_press::StaticPressError;
pub(crate) use crate::static_press::{Press, Settings, solve};
use palpate_twin::Vec3;

/// Result of a press at one depth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Touch {
    /// Depth of the sphere's lowest point below the surface at rest \[m\].
    pub(crate) depth_m: f64,
    /// Force on the sphere \[N\], for the part of the block in the mesh.
    pub(crate) force_n: Vec3,
    /// Force on the supports \[N\].
    pub(crate) support_n: Vec3,
    /// Imbalance left by Newton's method \[N\]; the three sum to zero except for rounding.
    pub(crate) unbalanced_n: Vec3,
    /// Contact area at rest \[m^2\].
    pub(crate) area_m2: f64,
    /// Elastic energy \[J\].
    pub(crate) energy_j: f64,
    /// Newton iterations spent.
    pub(crate) iterations: usize,
    /// Conjugate-gradient iterations spent.
    pub(crate) krylov: usize,
}

impl Press {
    /// Presses to a depth as [`Press::press_to`], and returns the details.
    pub(crate) fn to(&mut self, depth_m: f64) -> Result<Touch, StaticPressError> {
        self.press_to(depth_m)?;
        Ok(self.touch())
    }

    fn touch(&self) -> Touch {
        let (mut contact, mut elastic) = (
            vec![Vec3::zeros(); self.u.len()],
            vec![Vec3::zeros(); self.u.len()],
        );
        let at = self.places();
        let (force, area) = self.surface.add_forces(&at, &self.sphere(), &mut contact);
        self.solid.add_forces(&self.u, &mut elastic);
        let (mut support, mut unbalanced) = (Vec3::zeros(), Vec3::zeros());
        for (node, fixed) in self.solid.fixed.iter().enumerate() {
            let pull = -(elastic[node] + contact[node]);
            for axis in 0..3 {
                let sum = if fixed[axis] {
                    &mut support
                } else {
                    &mut unbalanced
                };
                sum[axis] += pull[axis];
            }
        }
        let unit_n = self.solid.force_n();
        let length_m = self.solid.length_m;
        Touch {
            depth_m: self.depth * length_m,
            force_n: force * unit_n,
            support_n: support * unit_n,
            unbalanced_n: unbalanced * unit_n,
            area_m2: area * length_m * length_m,
            energy_j: self.solid.energy(&self.u) * unit_n * length_m,
            iterations: self.spent.0,
            krylov: self.spent.1,
        }
    }
}
