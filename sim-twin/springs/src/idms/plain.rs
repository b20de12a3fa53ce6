//! The inner loops of the common case, written out so that they stay short in instructions.
//!
//! Source: as `step`, for linear springs, semi-implicit steps, no gravity and no drag. These two
//! loops are nearly all of the cost of a step.

use crate::idms::Idms;
use crate::idms::build::Model;
use crate::idms::law::Law;
use crate::idms::params::Scheme;
use crate::idms::state::Hot;
use crate::idms::step::{Flow, LENGTH_FLOOR, SPEED_HZ};
use palpate_twin::Vec3;

impl Model {
    /// Whether this is the common case: linear, semi-implicit, without gravity and drag.
    pub(super) fn plain(&self) -> bool {
        let params = &self.params;
        params.law == Law::Linear
            && params.scheme == Scheme::SemiImplicit
            && params.gravity_mps2 == Vec3::zeros()
            && params.drag_hz == 0.0
    }
}

impl Idms {
    /// Move every active node, and begin its new internal force with its home spring.
    pub(super) fn move_plain(&mut self, h: f64) -> Flow {
        let Self {
            model,
            state,
            scratch,
            ..
        } = self;
        let far2 = model.params.displacement_max_m * model.params.displacement_max_m;
        let fast2 = far2 * SPEED_HZ * SPEED_HZ;
        let (stir2, stir_speed2) = model.stirring();
        // Cut to one length, so that each node is checked once.
        let nodes = model.rest_m.len();
        let (xs, vs) = (&mut state.x_m[..nodes], &mut state.v_mps[..nodes]);
        let (fs, outers) = (&mut state.f_n[..nodes], &mut scratch.outer_n[..nodes]);
        let (shifts, home_k) = (&state.home_shift_m[..nodes], &state.home_k[..nodes]);
        let (rests, inverse_mass) = (&model.rest_m[..nodes], &model.inverse_mass[..nodes]);
        let (masses, home_b) = (&model.mass_kg[..nodes], &model.home_b[..nodes]);
        let borders = &scratch.border[..nodes];
        let (mut kinetic, mut elastic) = (0.0, 0.0);
        let (mut power, mut outer_w, mut speed2) = (0.0, 0.0, 0.0_f64);
        for &node in &scratch.active {
            let i = node as usize;
            let gain = h * inverse_mass[i];
            let (x, v, f, rest) = (&mut xs[i], &mut vs[i], &mut fs[i], &rests[i]);
            let outer = &mut outers[i];
            let (ox, oy, oz) = (outer.x, outer.y, outer.z);
            (outer.x, outer.y, outer.z) = (0.0, 0.0, 0.0);
            let (mut vx, mut vy, mut vz) = (
                v.x + gain * (f.x + ox),
                v.y + gain * (f.y + oy),
                v.z + gain * (f.z + oz),
            );
            let (px, py, pz) = (x.x + h * vx, x.y + h * vy, x.z + h * vz);
            let (mut ux, mut uy, mut uz) = (px - rest.x, py - rest.y, pz - rest.z);
            let mut u2 = ux * ux + uy * uy + uz * uz;
            let mut v2 = vx * vx + vy * vy + vz * vz;
            (x.x, x.y, x.z) = (px, py, pz);
            // Written so that NaN fails it too.
            if !(u2 <= far2 && v2 <= fast2) {
                *x = *rest;
                (vx, vy, vz, ux, uy, uz, u2, v2) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
                state.escapes += 1;
            }
            (v.x, v.y, v.z) = (vx, vy, vz);
            outer_w += ox * vx + oy * vy + oz * vz;
            kinetic += masses[i] * v2;
            speed2 = if v2 > speed2 { v2 } else { speed2 };
            if borders[i] && (u2 > stir2 || v2 > stir_speed2) {
                scratch.stirred.push(node);
            }
            let (shift, k, b) = (&shifts[i], home_k[i], home_b[i]);
            let (dx, dy, dz) = (ux - shift.x, uy - shift.y, uz - shift.z);
            elastic += k * (dx * dx + dy * dy + dz * dz);
            power += b * v2;
            f.x = -k * dx - b * vx;
            f.y = -k * dy - b * vy;
            f.z = -k * dz - b * vz;
        }
        Flow {
            kinetic_j: 0.5 * kinetic,
            elastic_j: 0.5 * elastic,
            power_w: power,
            outer_w,
            speed2,
        }
    }
}

/// Active links, grouped by the node at end a: pairs of that node and where its run ends.
pub(super) struct Links<'a, Runs> {
    pub(super) runs: Runs,
    pub(super) hot: &'a [Hot],
}

impl<Runs: Iterator<Item = (u32, u32)>> Links<'_, Runs> {
    /// Linear links with exact rates: the loop that decides the cost of a step.
    ///
    /// A run keeps its own node in registers, and all slices are cut to one length first, so
    /// that each end is checked once.
    pub(super) fn pull_linear(self, x: &[Vec3], v: &[Vec3], f: &mut [Vec3], flow: &mut Flow) {
        let nodes = x.len();
        let (v, f) = (&v[..nodes], &mut f[..nodes]);
        let (mut elastic, mut power) = (0.0, 0.0);
        let mut begin = 0;
        for (own, end) in self.runs {
            let own = own as usize;
            let (xa, va) = (x[own], v[own]);
            let (mut fx, mut fy, mut fz) = (0.0, 0.0, 0.0);
            for link in &self.hot[begin..end as usize] {
                let b = link.b as usize;
                let (xb, vb) = (&x[b], &v[b]);
                let (sx, sy, sz) = (xb.x - xa.x, xb.y - xa.y, xb.z - xa.z);
                let along = sx * (vb.x - va.x) + sy * (vb.y - va.y) + sz * (vb.z - va.z);
                let square = sx * sx + sy * sy + sz * sz;
                let square = if square > LENGTH_FLOOR {
                    square
                } else {
                    LENGTH_FLOOR
                };
                let inverse2 = 1.0 / square;
                let length_m = square.sqrt();
                let extension_m = length_m - link.length_m;
                let tension = link.k * extension_m;
                let loss = link.d * along * inverse2;
                elastic += tension * extension_m;
                power += loss * along;
                let pull = tension * length_m * inverse2 + loss;
                let (px, py, pz) = (pull * sx, pull * sy, pull * sz);
                fx += px;
                fy += py;
                fz += pz;
                let fb = &mut f[b];
                fb.x -= px;
                fb.y -= py;
                fb.z -= pz;
            }
            f[own] += Vec3::new(fx, fy, fz);
            begin = end as usize;
        }
        flow.elastic_j += 0.5 * elastic;
        flow.power_w += power;
    }
}
