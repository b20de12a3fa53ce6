//! Snapshot of a voxel model: encoding, decoding and the model hash.
//!
//! Source: ours. A snapshot holds all state that a step reads, so that a restored model continues bit for bit. That
//! is displacements, links, flags, run state, tool state, the order of the surface lists, and the undo log. The log
//! and the lists vary in length; their greatest size is reserved at once.
//!
//! The last integer is a checksum of the content and of the model's construction. Any flipped bit changes it, so a
//! snapshot with the right checksum needs no further validation.

use crate::VoxelModel;
use crate::friction::{ContactState, ToolTie};
use crate::instruments::{ActiveInstrument, InstrumentState, is_same_kind};
use crate::nodes::{NONE, VoxelNodes};
use crate::params::VoxelParams;
use crate::stencil::Stencil;
use crate::surface::VoxelSurface;
use crate::touch::{PressingShape, TOOLS};
use palpate_twin::checksum::hash_word;
use palpate_twin::snapshot::{SnapshotPart, SnapshotReader};
use palpate_twin::twin::{Instrument, Snapshot};
use palpate_twin::{Vec3, snapshot_parts};

snapshot_parts!(VoxelModel: nodes, active_set.last_step_m, active_set.margin_m, active_set.drift_m, balance, instruments, contact, stencil, editor,
    extrapolation);

/// Returns the count of numbers and integers that the lists need at full capacity, with their lengths.
fn capacity<T: SnapshotPart + Default>(lists: &[&Vec<T>]) -> [usize; 2] {
    let most: usize = lists.iter().map(|list| list.capacity()).sum();
    let [numbers, integers] = T::default().size();
    [most * numbers, most * integers + lists.len()]
}

/// Appends a list of any length.
fn put_list<T: SnapshotPart>(list: &[T], into: &mut Snapshot) {
    list.len().encode_into(into);
    T::encode_slice(list, into);
}

/// Reads a list of any length.
fn take_list<T: SnapshotPart + Clone + Default>(list: &mut Vec<T>, from: &mut SnapshotReader<'_>) {
    let mut count = 0;
    count.decode_from(from);
    list.resize(count, T::default());
    T::decode_slice(list, from);
}

/// Instruments in the order of their snapshot codes; code 0 means none.
fn kinds() -> [Instrument; 6] {
    let edge_m = Vec3::zeros();
    [
        Instrument::Blunt,
        Instrument::Scalpel { edge_m },
        Instrument::Curette,
        Instrument::Glue { reach_m: 0.0 },
        Instrument::Tack,
        Instrument::Untack,
    ]
}

// the next step reads only the kind and the pose of the last instrument
snapshot_parts!(ActiveInstrument: blade, blade_proxy);

impl SnapshotPart for InstrumentState {
    fn size(&self) -> [usize; 2] {
        let [numbers, integers] = ActiveInstrument::default().size();
        [TOOLS * numbers, TOOLS * (integers + 1) + 2]
    }

    fn encode_into(&self, into: &mut Snapshot) {
        for instrument in self.active.map(Option::unwrap_or_default) {
            let kind = kinds()
                .iter()
                .position(|kind| is_same_kind(kind, &instrument.instrument));
            kind.unwrap_or_default().encode_into(into);
            instrument.encode_into(into);
        }
        self.batch_open.encode_into(into);
        self.tore_last_step.encode_into(into);
    }

    fn decode_from(&mut self, from: &mut SnapshotReader<'_>) {
        for own in &mut self.active {
            let (mut kind, mut instrument) = (0, ActiveInstrument::default());
            kind.decode_from(from);
            instrument.decode_from(from);
            instrument.instrument = kinds()[kind];
            *own = Some(instrument).filter(|_| kind > 0);
        }
        self.batch_open.decode_from(from);
        self.tore_last_step.decode_from(from);
    }
}

impl SnapshotPart for ContactState {
    fn size(&self) -> [usize; 2] {
        let [first, second] = &self.touched;
        let (slots, ties) = (
            capacity(&[first, second, &self.touched_pinned]),
            capacity(&[&self.ties]),
        );
        let shapes = [PressingShape::default(); TOOLS].size();
        let fixed = [shapes, self.tool_force_n.size(), self.closed.size()];
        [slots, ties]
            .into_iter()
            .chain(fixed)
            .fold([0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
    }

    fn encode_into(&self, into: &mut Snapshot) {
        // radius 0 encodes an absent shape
        self.shapes.map(Option::unwrap_or_default).encode_into(into);
        self.tool_force_n.encode_into(into);
        self.closed.encode_into(into);
        for list in self.touched.iter().chain([&self.touched_pinned]) {
            put_list(list, into);
        }
        put_list(&self.ties, into);
    }

    fn decode_from(&mut self, from: &mut SnapshotReader<'_>) {
        let mut shapes = [PressingShape::default(); TOOLS];
        shapes.decode_from(from);
        self.shapes = shapes.map(|shape| Some(shape).filter(|shape| shape.radius_m > 0.0));
        self.tool_force_n.decode_from(from);
        self.closed.decode_from(from);
        for list in self.touched.iter_mut().chain([&mut self.touched_pinned]) {
            take_list(list, from);
        }
        take_list(&mut self.ties, from);
        self.tie_of.fill(NONE);
        for (index, tie) in (0..).zip(&self.ties) {
            self.tie_of[tie.node as usize] = index;
        }
    }
}

snapshot_parts!(ToolTie: node, tool, arm_m, opening_share, free);

impl SnapshotPart for Stencil {
    fn size(&self) -> [usize; 2] {
        capacity(&[&self.runs])
    }

    fn encode_into(&self, into: &mut Snapshot) {
        put_list(&self.runs, into);
    }

    fn decode_from(&mut self, from: &mut SnapshotReader<'_>) {
        take_list(&mut self.runs, from);
        self.index_runs();
    }
}

impl SnapshotPart for VoxelSurface {
    fn size(&self) -> [usize; 2] {
        let (vertices, squares) = (capacity(&[&self.vertices]), capacity(&[&self.squares]));
        [vertices[0] + squares[0], vertices[1] + squares[1]]
    }

    fn encode_into(&self, into: &mut Snapshot) {
        put_list(&self.vertices, into);
        put_list(&self.squares, into);
    }

    fn decode_from(&mut self, from: &mut SnapshotReader<'_>) {
        take_list(&mut self.vertices, from);
        take_list(&mut self.squares, from);
    }
}

impl VoxelModel {
    /// Recomputes all derived state after a snapshot was decoded. Touched nodes stay excluded from the passes over
    /// runs.
    pub(super) fn rebuild_derived(&mut self) {
        for node in 0..self.nodes.slots() {
            self.stencil.update_node(&self.nodes, node);
        }
        self.exclude_touched();
        self.editor.rebuild_derived(&self.nodes);
        self.update_all_bounds();
        self.rebuild_unsettled();
        self.rebuild_surface();
    }
}

/// Returns a hash of the parameters, the rest lattice, the materials and the nodes.
pub(super) fn model_hash(nodes: &VoxelNodes<f32>, params: &VoxelParams) -> u64 {
    // debug formatting writes every field, and floats round-trip
    let choices = format!(
        "{params:?} {:?} {:?}",
        nodes.frame(),
        nodes.bonds().materials()
    );
    let of_element = |node| {
        let material = i32::from(nodes.material(node));
        nodes.site(node).into_iter().chain([material])
    };
    let all = (0..nodes.slots()).flat_map(of_element);
    let words = choices.bytes().map(u64::from);
    words
        .chain(all.map(|number| number as u64))
        .fold(0, hash_word)
}
