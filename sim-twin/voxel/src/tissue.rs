//! The tissue itself: a volume, its links woven for sweeps, and the books.
//!
//! Source: ours; DESIGN "Tissue has five methods".

use crate::cling::Contact;
use crate::elements::{Elements, single};
use crate::operate::Wield;
use crate::params::{LinkedError, LinkedParams};
use crate::rows::Pace;
use crate::skin::Skin;
use crate::state;
use crate::surface::Surface;
use crate::surgery::Surgery;
use crate::tick::Chain;
use crate::touch::TOOLS;
use crate::weave::Weave;
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
    /// Least spacing \[m\].
    pub(super) spacing_m: f64,
    /// Way of a sweep below which a run is still \[m\].
    pub(super) still_m: f32,
    /// Which runs move, and where they are.
    pub(super) pace: Pace,
    /// What tools touch and hold.
    pub(super) contact: Contact,
    /// What moves elements that cannot leave alone.
    pub(super) chain: Chain,
    /// What instruments are at.
    pub(super) wield: Wield,
    pub(super) surgery: Surgery,
    pub(super) account: Account,
    /// What the stiffness of elements was before an edit of it.
    pub(super) unstiffened: Vec<f32>,
    pub(super) hold: Hold,
    /// What snapshots of this volume and of no other begin their sum with.
    pub(super) kin: u64,
    skin: Skin,
}

/// Energy and time that are accounted for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Account {
    pub(super) ledger: Ledger,
    /// Energy that passive edits were granted of what was dissipated \[J\].
    pub(super) granted_j: f64,
    /// Time not yet swept \[s\].
    pub(super) owed_s: f64,
    pub(super) steps: u64,
}

impl Account {
    /// What a snapshot has of it as numbers.
    pub(super) const fn numbers(&mut self) -> [&mut f64; 10] {
        let books = &mut self.ledger;
        [
            &mut books.kinetic_j,
            &mut books.elastic_j,
            &mut books.contact_j,
            &mut books.tool_work_j,
            &mut books.dissipated_j,
            &mut books.edit_j,
            &mut books.mass_j,
            &mut books.residual_j,
            &mut self.granted_j,
            &mut self.owed_s,
        ]
    }
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
        let still_m = params.still * single(spacing_m);
        let mut tissue = Self {
            spacing_m,
            still_m,
            pace: Pace::new(slots),
            contact: Contact::new(slots),
            chain: Chain::new(elements.slots()),
            wield: Wield::new(elements.slots(), params.tears),
            surgery,
            account: Account::default(),
            unstiffened: vec![1.0; slots],
            hold: Hold::default(),
            kin: state::kin(&elements, &params),
            skin: Skin::new(slots),
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
        self.chain.refused
    }

    /// The energy account.
    #[must_use]
    pub const fn ledger(&self) -> Ledger {
        self.account.ledger
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
        for &element in self.contact.touched.iter().flatten() {
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
        self.pace.moved.clear();
    }

    /// Puts the surface where its elements are.
    pub(super) fn show(&mut self) {
        self.skin
            .follow(&self.pace.moved, &self.elements, &self.weave);
        self.pace.moved.clear();
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
            ledger: self.account.ledger,
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
