//! The tissue itself: a volume, its links woven for sweeps, and the books.
//!
//! Source: ours; DESIGN "Tissue has five methods".

use crate::cling::Cling;
use crate::elements::{Elements, NONE};
use crate::exact::{Control, Exact};
use crate::marks::Marks;
use crate::operate::Act;
use crate::params::{LinkedError, LinkedParams};
use crate::rows::{ZONE, Zone};
use crate::skin::Skin;
use crate::state;
use crate::surface::Surface;
use crate::surgery::Surgery;
use crate::tear::{TearRule, Tearing};
use crate::touch::{Rod, TOOLS};
use crate::weave::Weave;
use palpate_twin::Vec3;
use palpate_twin::hold::Hold;
use palpate_twin::twin::{
    Caps, Edit, EditError, EditReport, Ledger, Reaction, Snapshot, ThawError, Tissue, Tool, View,
};

/// A linked volume that tools touch.
///
/// Steps are pure: same state, tools and `dt_s`, same bits. Tools of the same index are the same tool
/// from step to step.
#[derive(Debug, Clone)]
pub struct Linked {
    pub(super) elements: Elements<f32>,
    pub(super) weave: Weave,
    pub(super) params: LinkedParams,
    pub(super) propagator: Exact<f32>,
    /// Least spacing \[m\].
    pub(super) spacing_m: f64,
    /// Way of a sweep below which a run is still \[m\].
    pub(super) still_m: f32,
    pub(super) rods: [Option<Rod>; TOOLS],
    /// Elements that tools touch or might, by colour.
    pub(super) touched: [Vec<u32>; 2],
    /// Those of them that are pinned.
    pub(super) fixed: Vec<u32>,
    /// What is tied to tools, and where in that list an element is.
    pub(super) clings: Vec<Cling>,
    pub(super) cling_of: Vec<u32>,
    /// Whether the jaws of a tool were closed.
    pub(super) closed: [bool; TOOLS],
    /// Farthest way in the last sweep, by run \[m\].
    pub(super) stir_m: Vec<f32>,
    /// How far the elements of a run may go before a link of theirs can be at a limit, at least \[m\].
    pub(super) spare_m: Vec<f32>,
    /// Least and most displacement by run and axis when it was last looked at \[m\].
    pub(super) bounds: Vec<[(f32, f32); 3]>,
    /// How far a run's elements may have gone since \[m\].
    pub(super) drift_m: Vec<f32>,
    pub(super) steps: u64,
    /// Runs of the sweep at hand.
    pub(super) awake: Marks,
    /// Runs that went some way in the last sweep.
    pub(super) stirring: Marks,
    /// Runs that moved since the surface was seen.
    pub(super) moved: Marks,
    /// Runs whose bounds are to be looked at again.
    pub(super) drifted: Marks,
    /// Where runs are, so many at once.
    pub(super) zones: Vec<Zone>,
    pub(super) controls: Vec<Control<f32>>,
    /// What the chain moved, and where to \[m\].
    pub(super) chain: Vec<(u32, [f32; 3])>,
    pub(super) in_chain: Vec<bool>,
    /// Force on every tool at the end of the last step \[N\].
    pub(super) felt_n: [Vec3; TOOLS],
    /// Time not yet swept \[s\].
    pub(super) owed_s: f64,
    /// Presses that the chain could not follow.
    pub(super) refused: u64,
    pub(super) ledger: Ledger,
    /// Energy that passive edits were granted of what was dissipated \[J\].
    pub(super) granted_j: f64,
    /// What the stiffness of elements was before an edit of it.
    pub(super) unstiffened: Vec<f32>,
    pub(super) hold: Hold,
    /// What snapshots of this volume and of no other begin their sum with.
    pub(super) kin: u64,
    skin: Skin,
    pub(super) surgery: Surgery,
    /// What instruments are at, by tool.
    pub(super) acts: [Option<Act>; TOOLS],
    /// An instrument met tissue in the last step: what it does next is part of the same stroke.
    pub(super) stroking: bool,
    /// Links broke in the last step that could not follow a pull.
    pub(super) tore: bool,
    /// What breaks them, and its own propagation, if the tissue tears.
    pub(super) tearing: Option<Box<(Tearing, Exact<f32>)>>,
}

impl Linked {
    /// A tissue at rest.
    ///
    /// # Errors
    /// [`LinkedError`] if a parameter is out of range.
    pub fn new(mut elements: Elements<f32>, params: LinkedParams) -> Result<Self, LinkedError> {
        params.check()?;
        let surgery = Surgery::new(&mut elements, params.undo);
        let mut weave = Weave::new(&elements);
        let slots = elements.slots() as usize;
        // a join may leave any of them without a row
        weave.loose.reserve(slots - weave.loose.len());
        let spacing_m = elements
            .frame()
            .spacing_m
            .into_iter()
            .fold(f64::MAX, f64::min);
        #[expect(clippy::cast_possible_truncation, reason = "single precision is kept")]
        let still_m = params.still * spacing_m as f32;
        let mut tissue = Self {
            propagator: Exact::new(elements.slots()),
            spacing_m,
            still_m,
            rods: [None; TOOLS],
            touched: std::array::from_fn(|_| Vec::with_capacity(slots)),
            // twice: two tools may touch the same before that is seen
            fixed: Vec::with_capacity(TOOLS * slots),
            clings: Vec::with_capacity(slots),
            cling_of: vec![NONE; slots],
            closed: [false; TOOLS],
            stir_m: vec![0.0; slots],
            spare_m: vec![-1.0; slots],
            bounds: vec![[(0.0, 0.0); 3]; slots],
            drift_m: vec![0.0; slots],
            steps: 0,
            awake: Marks::new(slots),
            stirring: Marks::new(slots),
            moved: Marks::new(slots),
            drifted: Marks::new(slots),
            zones: Vec::with_capacity(slots.div_ceil(ZONE)),
            controls: Vec::with_capacity(slots),
            chain: Vec::with_capacity(slots),
            in_chain: vec![false; slots],
            felt_n: [Vec3::zeros(); TOOLS],
            owed_s: 0.0,
            refused: 0,
            ledger: Ledger::default(),
            granted_j: 0.0,
            unstiffened: vec![1.0; slots],
            hold: Hold::default(),
            kin: state::kin(&elements, &params),
            skin: Skin::new(slots),
            surgery,
            acts: [None; TOOLS],
            stroking: false,
            tore: false,
            tearing: params.tears.then(|| {
                let slots = elements.slots();
                Box::new((Tearing::new(slots, TearRule::default()), Exact::new(slots)))
            }),
            elements,
            weave,
            params,
        };
        tissue.audit();
        tissue.show_rest();
        Ok(tissue)
    }

    /// The volume.
    #[must_use]
    pub const fn elements(&self) -> &Elements<f32> {
        &self.elements
    }

    /// The surface: which element every vertex of the [`View`] is.
    #[must_use]
    pub const fn surface(&self) -> &Surface {
        self.surgery.surface()
    }

    /// Presses that links and what holds them would not let the tissue follow.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// The energy account.
    #[must_use]
    pub const fn ledger(&self) -> Ledger {
        self.ledger
    }

    /// Surgery on the volume: its pieces and its log.
    #[must_use]
    pub const fn surgery(&self) -> &Surgery {
        &self.surgery
    }

    /// Makes anew what is derived from links, if they changed, from runs, if they are laid otherwise, and from places;
    /// elements that tools touch are not swept with their rows.
    pub(super) fn reload(&mut self, changed: bool, relaid: bool) {
        for element in 0..self.elements.slots() {
            if changed {
                self.weave.renew(&self.elements, element);
            } else {
                self.weave.renew_gain(&self.elements, element);
            }
        }
        for &element in self.touched.iter().flatten() {
            self.weave.gain[element as usize] = 0.0;
        }
        if changed || relaid {
            self.weave.lay_beside();
        }
        self.survey_all();
        self.restir();
        self.show_rest();
    }

    /// Puts the surface where its elements rest and are: after its elements or their runs changed.
    pub(super) fn show_rest(&mut self) {
        let vertices = self.surgery.surface().vertices();
        self.skin.lay(vertices, &self.elements, &self.weave);
        self.moved.clear();
    }

    /// Puts the surface where its elements are.
    pub(super) fn show(&mut self) {
        self.skin.follow(&self.moved, &self.elements, &self.weave);
        self.moved.clear();
    }
}

impl Tissue for Linked {
    fn caps(&self) -> Caps {
        let free = |&e: &u32| self.elements.alive(e) && !self.elements.pinned(e);
        Caps {
            method: "linked",
            nodes: (0..self.elements.slots()).filter(free).count(),
            elements: self.elements.count(),
            tools_max: TOOLS,
            shafts: true,
            plates: true,
            points: false,
            jaws: true,
            dt_s_max: 1.0,
            dt_s_best: self.params.sweep_s,
            stiffness_edits: true,
            region_edits: true,
            edits_keep_force: false,
            cuts: true,
            instruments: true,
        }
    }

    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        if dt_s == 0.0 {
            self.hold.answer(tools, reactions);
            return;
        }
        self.advance(tools, dt_s, reactions);
        self.hold.keep(tools, dt_s, reactions);
        self.show();
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        self.revise(edit)
    }

    fn view(&self) -> View<'_> {
        View {
            positions_m: self.skin.at_m(),
            rest_m: self.skin.rest_m(),
            faces: self.surgery.surface().faces(),
            ledger: self.ledger,
            topology: Some(self.surgery.edits().hash()),
            changes: self.surgery.changes(),
            edit: self.surgery.edits().stroke(),
        }
    }

    fn freeze(&self, snapshot: &mut Snapshot) {
        snapshot.numbers.clear();
        snapshot.integers.clear();
        self.write(snapshot);
    }

    fn thaw(&mut self, snapshot: &Snapshot) -> Result<(), ThawError> {
        self.read(snapshot)
    }
}
