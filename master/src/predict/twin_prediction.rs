//! Outputs of the twin in one tick.

use palpate_transport::Axes;

use super::two_tools::ParkedTool;

/// Outputs of the twin in one tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TwinPrediction {
    /// Force of the twin's tissue on the tool \[N\].
    pub twin_force_n: Axes,
    /// Force after the correction \[N\].
    pub force_n: Axes,
    /// Part of the twin's force that acts on the edge of a blade \[N\].
    pub edge_n: Axes,
    /// Energy stored in the twin \[J\].
    pub energy_j: f64,
    /// Lower bound of the part of that energy that belongs to the force on the edge of a blade \[J\].
    pub edge_j: f64,
    /// Factor on the twin's force, except for the force on an edge.
    pub factor: f64,
    /// Energy that learning has put into the rendered model, cumulative \[J\]; negative if taken out.
    pub update_energy_j: f64,
    /// Sum of the sizes of the relative changes that corrections made to the force of a touch since the start; a
    /// stiffening keeps the force and adds nothing.
    pub correction_sum: f64,
    /// Confidence of the rendered model: 0 for the twin of the scene, 1 for a place that was pressed enough; that of
    /// the local law if the law is rendered.
    pub confidence: f64,
    /// Vector from the tool to its proxy on the twin \[m\], see [`Reaction::proxy_offset_m`](palpate_twin::Reaction::proxy_offset_m).
    pub to_proxy_m: [f64; 3],
    /// True if a correction was completed, or the twin was edited by a morph, in this tick.
    pub updated: bool,
    /// True if the force was extrapolated and the twin was not stepped.
    pub extrapolated: bool,
    /// True if the twin or its shadow collapsed in this step and was rebuilt.
    pub collapsed: bool,
    /// True if an instrument acted as a blunt tool, because the remote tissue may differ from the twin.
    pub blunted: bool,
    /// True if the instrument is of another kind than in the last step: the force on the former one ends at once.
    pub instrument_changed: bool,
    /// The parked tool; all 0 if there is none.
    pub parked_tool: ParkedTool,
    /// Links of the twin that instruments have cut, minus those that they made.
    pub links_cut: i64,
    /// Height of the twin's surface over that of its scene \[m\].
    pub height_m: f64,
}

impl TwinPrediction {
    /// Energy that the rendered model may return along one axis \[J\]: the twin's energy without that of an edge times the
    /// factor, plus that of the edge, divided in proportion to the squares of the force. It includes the energy of a
    /// parked tool, which can return through the tissue to the hand.
    #[must_use]
    pub fn stored_j(&self, axis: usize) -> f64 {
        let squares = self.force_n.map(|force| force * force);
        let sum: f64 = squares.iter().sum();
        if sum > 0.0 {
            let rendered_j = self.factor * (self.energy_j - self.edge_j).max(0.0) + self.edge_j;
            rendered_j * squares[axis] / sum
        } else {
            0.0
        }
    }
}
