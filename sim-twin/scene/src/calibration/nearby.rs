//! Depth maps of scenes whose moduli are near those of a calibrated one.
//!
//! Source: ours. A map takes seconds, and a fit tries dozens of moduli. Every number of a map is a line in the logarithms
//! of the layers' moduli, through the maps of the calibrated scene and of one with each layer stiffer in turn.

use std::sync::Arc;
use std::thread;

use palpate_fem::explicit::{DepthKnot, DepthMap};
use palpate_twin::Tissue;

use super::super::{Scene, SceneBody, SceneError};
use super::SLOPE;
use crate::block::Block;

/// Logarithm of the factor on the modulus of the layer that is stiffer.
const STIFFER_LOG: f64 = 0.35;
/// Largest logarithm of a factor on a modulus up to which the lines hold.
const NEAR_LOG: f64 = 1.0;

/// Depth maps of a scene and of its neighbours; without maps for a scene that needs none.
#[derive(Debug, Clone)]
pub struct NearbyMaps {
    /// Young's moduli of the layers \[Pa\].
    young_pa: Vec<f64>,
    own: Option<Arc<DepthMap>>,
    /// Maps with each layer stiffer in turn; none of a single map.
    stiffer: Vec<Arc<DepthMap>>,
}

impl Scene {
    /// Returns the map of this scene alone, for all moduli.
    ///
    /// # Errors
    /// If the block cannot be built.
    pub fn single_map(&self) -> Result<NearbyMaps, SceneError> {
        Ok(NearbyMaps {
            young_pa: Vec::new(),
            own: self.depth_map()?,
            stiffer: Vec::new(),
        })
    }

    /// Computes the maps of this scene and of those with one stiffer layer, in parallel.
    ///
    /// # Errors
    /// If a block cannot be built.
    pub fn nearby_maps(&self) -> Result<NearbyMaps, SceneError> {
        let mut maps = self.single_map()?;
        let (SceneBody::Block(block), Some(_)) = (&self.body, &maps.own) else {
            return Ok(maps);
        };
        maps.young_pa = young_pa(block);
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
            computing.into_iter().map(|thread| thread.join()).collect()
        });
        for map in found {
            // a neighbour without equilibrium has no map: then the own one stands for all
            match map {
                Ok(Ok(Some(map))) => maps.stiffer.push(map),
                Ok(Ok(None)) | Err(_) => return self.single_map(),
                Ok(Err(error)) => return Err(error),
            }
        }
        Ok(maps)
    }

    /// Builds a tissue of this scene, at rest, with the map that `maps` of the same mesh give for its moduli.
    ///
    /// # Errors
    /// As [`Scene::build`].
    pub fn build_with_maps(&self, maps: &NearbyMaps) -> Result<Box<dyn Tissue>, SceneError> {
        match (&self.body, maps.near(self)) {
            (SceneBody::Block(block), Some(map)) => {
                Ok(Box::new(block.explicit_solver()?.with_depth_map(map)))
            }
            (SceneBody::Block(block), None) => block.build(),
            _ => self.build(),
        }
    }
}

impl NearbyMaps {
    /// Map for the moduli of a scene on the same mesh.
    fn near(&self, scene: &Scene) -> Option<Arc<DepthMap>> {
        let own = self.own.as_ref()?;
        let SceneBody::Block(block) = &scene.body else {
            return None;
        };
        if self.stiffer.is_empty() {
            return Some(Arc::clone(own));
        }
        let moduli = young_pa(block).into_iter().zip(&self.young_pa);
        let logs = moduli.map(|(now, then)| libm::log(now / then).clamp(-NEAR_LOG, NEAR_LOG));
        let shares: Vec<f64> = logs.map(|log| log / STIFFER_LOG).collect();
        let of_all = self.stiffer.iter().map(|map| map.knots.len());
        let count = of_all.fold(own.knots.len(), usize::min);
        let mut map = DepthMap::clone(own);
        map.knots.truncate(count);
        for (at, knot) in map.knots.iter_mut().enumerate() {
            let neighbours = self.stiffer.iter().map(|map| &map.knots[at]);
            *knot = line(&own.knots[at], neighbours.zip(shares.iter().copied()));
        }
        Some(Arc::new(map))
    }
}

fn young_pa(block: &Block) -> Vec<f64> {
    let layers = block.layers.iter();
    layers.map(|layer| layer.material.young_pa()).collect()
}

/// Adds shares of the differences between neighbours and a knot to it.
fn line<'a>(own: &DepthKnot, neighbours: impl Iterator<Item = (&'a DepthKnot, f64)>) -> DepthKnot {
    let mut knot = *own;
    for (other, share) in neighbours {
        knot.depth_m += share * (other.depth_m - own.depth_m);
        knot.doubt += share * (other.doubt - own.doubt);
        for at in 0..own.slope.len() {
            knot.model_m[at] += share * (other.model_m[at] - own.model_m[at]);
            knot.slope[at] += share * (other.slope[at] - own.slope[at]);
        }
    }
    knot.doubt = knot.doubt.max(0.0);
    knot.slope = knot
        .slope
        .map(|slope| slope.clamp(*SLOPE.start(), *SLOPE.end()));
    knot
}
