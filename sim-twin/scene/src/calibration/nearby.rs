//! Depth maps of scenes whose moduli are near those of a calibrated one.
//!
//! Source: ours. A map takes seconds, and a fit tries dozens of moduli. Every number of a map is a line in the logarithms
//! of the layers' moduli, through the maps of the calibrated scene and of one with each layer stiffer in turn. The lines
//! can be moved to the map of other moduli ([`NearbyMaps::moved_to`]): a fit that does so has the map of its result.

use std::sync::Arc;
use std::thread;

use palpate_fem::explicit::{DepthKnot, DepthMap, PLACES};
use palpate_twin::Tissue;

use super::super::{Scene, SceneBody, SceneError};
use super::SLOPE;
use crate::block::Block;

/// Logarithm of the factor on the modulus of the layer that is stiffer.
const STIFFER_LOG: f64 = 0.35;
/// Largest logarithm of a factor on a modulus up to which the lines hold, and up to which they are followed.
const NEAR_LOG: f64 = 0.1;
const FOLLOWED_LOG: f64 = 1.0;

/// Depth maps of a scene and of its neighbours; without maps for a scene that needs none.
#[derive(Debug, Clone)]
pub struct NearbyMaps {
    /// Young's moduli of the layers of `own` \[Pa\].
    young_pa: Vec<f64>,
    own: Option<Arc<DepthMap>>,
    /// Slopes of the knots by the logarithm of each modulus; none of a single map.
    by_log: Vec<Vec<DepthKnot>>,
}

impl Scene {
    /// Returns the map of this scene alone, for all moduli.
    ///
    /// # Errors
    /// If the block cannot be built.
    pub fn single_map(&self) -> Result<NearbyMaps, SceneError> {
        Ok(NearbyMaps {
            young_pa: self.young_pa(),
            own: self.depth_map()?,
            by_log: Vec::new(),
        })
    }

    /// Computes the maps of this scene and of those with one stiffer layer, in parallel.
    ///
    /// # Errors
    /// If a block cannot be built.
    pub fn nearby_maps(&self) -> Result<NearbyMaps, SceneError> {
        let mut maps = self.single_map()?;
        let (SceneBody::Block(block), Some(own)) = (&self.body, &maps.own) else {
            return Ok(maps);
        };
        let neighbours = (0..block.layers.len()).map(|layer| {
            let mut scene = self.clone();
            let mut block = block.clone();
            let layer = &mut block.layers[layer];
            let stiffer = layer.material.scaled(libm::exp(STIFFER_LOG));
            layer.material = stiffer.map_err(|source| SceneError::in_field(&layer.name, source))?;
            scene.body = SceneBody::Block(block);
            Ok(scene)
        });
        let neighbours = neighbours.collect::<Result<Vec<Scene>, SceneError>>()?;
        let found: Vec<_> = thread::scope(|scope| {
            let computing: Vec<_> = neighbours
                .iter()
                .map(|scene| scope.spawn(|| scene.depth_map()))
                .collect();
            let ended = computing.into_iter().map(thread::ScopedJoinHandle::join);
            ended
                .map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        for map in found {
            match map? {
                Some(map) => {
                    let pairs = map.knots.iter().zip(&own.knots);
                    let slope = |(other, own)| combined(other, own, |a, b| (a - b) / STIFFER_LOG);
                    maps.by_log.push(pairs.map(slope).collect());
                }
                // a neighbour without equilibrium has no map: then the own one stands for all
                None => return self.single_map(),
            }
        }
        Ok(maps)
    }

    /// Builds a tissue of this scene, at rest, with the map that `maps` of the same mesh give for its moduli.
    ///
    /// # Errors
    /// As [`Scene::build`].
    pub fn build_with_maps(&self, maps: &NearbyMaps) -> Result<Box<dyn Tissue>, SceneError> {
        match (&self.body, maps.at(&self.young_pa())) {
            (SceneBody::Block(block), Some(map)) => {
                Ok(Box::new(block.explicit_solver()?.with_depth_map(map)))
            }
            (SceneBody::Block(block), None) => block.build(),
            _ => self.build(),
        }
    }

    /// Young's moduli of its layers \[Pa\].
    fn young_pa(&self) -> Vec<f64> {
        let layers: &[_] = match &self.body {
            SceneBody::Block(Block { layers, .. }) => layers,
            _ => &[],
        };
        let layers = layers.iter();
        layers.map(|layer| layer.material.young_pa()).collect()
    }
}

impl NearbyMaps {
    /// True if the lines hold for the moduli of a scene on the same mesh.
    #[must_use]
    pub fn are_near(&self, scene: &Scene) -> bool {
        let young_pa = scene.young_pa();
        let mut logs = self.logs(&young_pa);
        logs.all(|log| log.abs() <= NEAR_LOG)
    }

    /// Returns the lines through the map of a scene on the same mesh, with the slopes of these; these if it has no map.
    ///
    /// # Errors
    /// If the block cannot be built.
    pub fn moved_to(self, scene: &Scene) -> Result<Self, SceneError> {
        let moved = scene.single_map()?;
        Ok(match moved.own {
            Some(_) => Self {
                by_log: self.by_log,
                ..moved
            },
            None => self,
        })
    }

    /// Logarithms of moduli over those of `own`.
    fn logs(&self, young_pa: &[f64]) -> impl Iterator<Item = f64> {
        let pairs = young_pa.iter().zip(&self.young_pa);
        pairs.map(|(now, then)| libm::log(now / then))
    }

    /// Map for the moduli of a scene on the same mesh.
    fn at(&self, young_pa: &[f64]) -> Option<Arc<DepthMap>> {
        let own = self.own.as_ref()?;
        let logs = self.logs(young_pa);
        let logs = logs.map(|log| log.clamp(-FOLLOWED_LOG, FOLLOWED_LOG));
        let slopes: Vec<(f64, &Vec<DepthKnot>)> = logs.zip(&self.by_log).collect();
        if slopes.iter().all(|(log, _)| *log == 0.0) {
            return Some(Arc::clone(own));
        }
        let mut map = DepthMap::clone(own);
        for (at, knot) in map.knots.iter_mut().enumerate() {
            for (log, by_log) in &slopes {
                // a knot beyond the last one of a neighbour keeps its value
                if let Some(slope) = by_log.get(at) {
                    *knot = combined(knot, slope, |value, slope| value + log * slope);
                }
            }
            knot.doubt = knot.doubt.max(0.0);
            knot.contact_share = knot.contact_share.clamp(0.0, 1.0);
            knot.slope = knot
                .slope
                .map(|slope| slope.clamp(*SLOPE.start(), *SLOPE.end()));
        }
        Some(Arc::new(map))
    }
}

/// Combines the numbers of two knots.
fn combined(a: &DepthKnot, b: &DepthKnot, with: impl Fn(f64, f64) -> f64) -> DepthKnot {
    let all = |a: [f64; PLACES], b: [f64; PLACES]| std::array::from_fn(|at| with(a[at], b[at]));
    DepthKnot {
        depth_m: with(a.depth_m, b.depth_m),
        model_m: all(a.model_m, b.model_m),
        slope: all(a.slope, b.slope),
        doubt: with(a.doubt, b.doubt),
        contact_share: with(a.contact_share, b.contact_share),
    }
}
