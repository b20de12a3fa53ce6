//! The tissue itself: a volume, its links woven for sweeps, and the books.
//!
//! Source: ours; DESIGN "Tissue has five methods".

use crate::Vec3;
use crate::model::hold::Hold;
use crate::model::linked::direction::Direction;
use crate::model::linked::elements::Elements;
use crate::model::linked::exact::Control;
use crate::model::linked::links::Links;
use crate::model::linked::marks::Marks;
use crate::model::linked::params::{LinkedError, LinkedParams};
use crate::model::linked::propagation::Propagator;
use crate::model::linked::rows::Zone;
use crate::model::linked::skin::Skin;
use crate::model::linked::surface::Surface;
use crate::model::linked::touch::{Rod, TOOLS};
use crate::model::linked::weave::Weave;
use crate::twin::{
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
    pub(super) propagator: Propagator<f32>,
    /// Least spacing \[m\].
    pub(super) spacing_m: f64,
    /// Way of a sweep below which a run is still \[m\].
    pub(super) still_m: f32,
    pub(super) rods: [Option<Rod>; TOOLS],
    /// Elements that tools touch or might, by colour.
    pub(super) touched: [Vec<u32>; 2],
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
    pub(super) hold: Hold,
    surface: Surface,
    skin: Skin,
}

impl Linked {
    /// A tissue at rest.
    ///
    /// # Errors
    /// [`LinkedError`] if a parameter is out of range.
    pub fn new(elements: Elements<f32>, params: LinkedParams) -> Result<Self, LinkedError> {
        params.check()?;
        let weave = Weave::new(&elements);
        let slots = elements.slots() as usize;
        let spacing_m = elements
            .frame()
            .spacing_m
            .into_iter()
            .fold(f64::MAX, f64::min);
        #[expect(clippy::cast_possible_truncation, reason = "single precision is kept")]
        let still_m = params.still * spacing_m as f32;
        let mut tissue = Self {
            propagator: Propagator::new(params.propagation, elements.slots()),
            spacing_m,
            still_m,
            rods: [None; TOOLS],
            touched: std::array::from_fn(|_| Vec::with_capacity(slots)),
            stir_m: vec![0.0; slots],
            spare_m: vec![-1.0; slots],
            bounds: vec![[(0.0, 0.0); 3]; slots],
            drift_m: vec![0.0; slots],
            steps: 0,
            awake: Marks::new(slots),
            stirring: Marks::new(slots),
            moved: Marks::new(slots),
            drifted: Marks::new(slots),
            zones: Vec::with_capacity(slots),
            controls: Vec::with_capacity(slots),
            chain: Vec::with_capacity(slots),
            in_chain: vec![false; slots],
            felt_n: [Vec3::zeros(); TOOLS],
            owed_s: 0.0,
            refused: 0,
            ledger: Ledger::default(),
            hold: Hold::default(),
            surface: Surface::new(&elements),
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
        &self.surface
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

    /// Makes anew what is derived from links, if they changed, and from places.
    pub(super) fn reload(&mut self, changed: bool) {
        self.touched.iter_mut().for_each(Vec::clear);
        self.rods = [None; TOOLS];
        if changed {
            self.weave.lay(&self.elements);
        }
        for element in 0..self.elements.slots() {
            if changed {
                self.weave.renew(&self.elements, element);
            } else {
                self.weave.renew_gain(&self.elements, element);
            }
        }
        self.survey_all();
        self.stirring.clear();
        for run in 0..self.weave.runs.len() {
            if self.stir_m[run] > 0.0 {
                self.stirring.add(run);
            }
        }
        if changed {
            self.surface.rebuild(&self.elements);
        }
        self.show_rest();
    }

    /// Puts the surface where its elements rest and are: after its elements or their runs changed.
    fn show_rest(&mut self) {
        let vertices = self.surface.vertices();
        self.skin.lay(vertices, &self.elements, &self.weave);
        self.moved.clear();
    }

    /// Puts the surface where its elements are.
    pub(super) fn show(&mut self) {
        let moved = (self.surface.vertices(), &self.moved);
        self.skin.follow(moved, &self.elements, &self.weave);
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
            points: false,
            jaws: false,
            dt_s_max: 1.0,
            dt_s_best: self.params.sweep_s,
            stiffness_edits: false,
            region_edits: false,
            edits_keep_force: false,
            cuts: true,
            instruments: false,
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
        let Edit::Cut { point_m, normal } = *edit else {
            return Err(EditError::Kind(edit.kind()));
        };
        let length = normal.norm();
        if !(length > 0.0 && length.is_finite()) {
            return Err(EditError::Field {
                field: "normal",
                value: length,
                expected: "a vector longer than 0",
            });
        }
        if !point_m.iter().all(|x| x.is_finite()) {
            return Err(EditError::Field {
                field: "point_m",
                value: point_m.norm(),
                expected: "finite numbers",
            });
        }
        Ok(self.cut_plane(&point_m, &(normal / length)))
    }

    fn view(&self) -> View<'_> {
        View {
            positions_m: self.skin.at_m(),
            rest_m: self.skin.rest_m(),
            faces: self.surface.faces(),
            ledger: self.ledger,
            topology: None,
            changes: &[],
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

impl Linked {
    /// Cuts every link that crosses a plane; no element is lost.
    fn cut_plane(&mut self, point_m: &Vec3, normal: &Vec3) -> EditReport {
        let mut report = EditReport::default();
        let above =
            |tissue: &Self, element| (tissue.elements.at_m(element) - point_m).dot(normal) > 0.0;
        for element in 0..self.elements.slots() {
            for to in Direction::UP {
                let Some(other) = self.elements.neighbour(element, to) else {
                    continue;
                };
                if above(self, element) == above(self, other) {
                    continue;
                }
                report.energy_j -= self.link_j(element, to, other);
                report.elements += 1;
                self.elements.cut(element, to);
                for end in [element, other] {
                    self.weave.renew(&self.elements, end);
                    self.surface.touch(&self.elements, end);
                    self.stirred(end, self.still_m * 2.0);
                }
            }
        }
        self.ledger.edit_j += report.energy_j;
        self.ledger.elastic_j += report.energy_j;
        self.audit();
        self.surface.update(&self.elements);
        self.show_rest();
        report
    }
}
