//! Which operator and handle a session has, as data (ours).

use palpate_port::FieldError;
use palpate_port::watchdog::LET_GO_S;
use serde::{Deserialize, Serialize};

use super::Handle;
use super::grip::{Grip, Grips, Regrip};
use super::mass::MassHandle;
use super::phantom::{PhantomHandle, PhantomParams};
use super::pointer::{Nobody, PointerHandle};
use super::script::{Script, ScriptParams};

/// Kinds of simulated handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandleKind {
    /// A PHANToM-class arm with tweezers.
    #[default]
    Phantom,
    /// The ideal point mass of teleop RP-1.
    Mass,
    /// A mouse or a finger on the console's page; without one, nobody holds it.
    Pointer,
}

/// A simulated operator with a handle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OperatorParams {
    /// The handle.
    pub handle: HandleKind,
    /// The device of Linux that leads a handle of the kind `pointer`, as its file or `auto`; without one a page does.
    pub device: Option<String>,
    /// Parameters of the arm, if the handle is one.
    pub phantom: PhantomParams,
    /// After how long the handle lets go of a force that is not renewed \[s\], at least two periods; 0
    /// for one that holds it for ever.
    pub let_go_s: f64,
    /// How it is held.
    pub grip: Grip,
    /// How it is held later, in order of time.
    pub regrip: Vec<Regrip>,
    /// What the operator does.
    pub script: ScriptParams,
}

impl Default for OperatorParams {
    fn default() -> Self {
        Self {
            handle: HandleKind::default(),
            device: None,
            let_go_s: LET_GO_S,
            grip: Grip::default(),
            regrip: Vec::new(),
            phantom: PhantomParams::default(),
            script: ScriptParams::default(),
        }
    }
}

/// The longest session \[s\].
const DAY_S: f64 = 86_400.0;

impl OperatorParams {
    /// Check every field.
    ///
    /// # Errors
    /// [`FieldError`] names the first field that cannot be used.
    pub fn validate(&self) -> Result<(), FieldError> {
        if self.let_go_s != 0.0 {
            FieldError::between("let_go_s", self.let_go_s, 2e-3, 0.02)?;
        }
        let mut before_s = 0.0;
        for change in &self.regrip {
            FieldError::between("regrip.at_s", change.at_s, before_s, DAY_S)?;
            before_s = change.at_s;
        }
        self.phantom.validate()?;
        self.script.validate()
    }

    /// How the handle is held over time.
    #[must_use]
    pub fn grips(&self) -> Grips {
        Grips::new(self.grip, &self.regrip)
    }

    /// Whether the operator has instruments, which work on a twin in every mode.
    #[must_use]
    pub fn wields(&self) -> bool {
        match &self.script {
            ScriptParams::Procedure(procedure) => procedure.wields(),
            ScriptParams::Sine(_) | ScriptParams::Palpation(_) => false,
        }
    }

    /// After what time the device lets go of a force, if ever \[s\].
    #[must_use]
    pub fn lets_go_s(&self) -> Option<f64> {
        (self.let_go_s > 0.0).then_some(self.let_go_s)
    }
}

/// Build the handle and its operator for a session of `duration_s` \[s\]; `seed` draws the
/// operator's variation. The parameters must have passed [`OperatorParams::validate`].
#[must_use]
pub fn build(params: &OperatorParams, duration_s: f64, seed: u64) -> Box<dyn Handle> {
    let script = Script::new(&params.script, duration_s, seed);
    let let_go_s = params.lets_go_s();
    let (arm, grips) = (&params.phantom, params.grips());
    match params.handle {
        HandleKind::Phantom => {
            Box::new(PhantomHandle::new(arm, script, grips).letting_go(let_go_s))
        }
        HandleKind::Mass => Box::new(MassHandle::new(script, grips).letting_go(let_go_s)),
        HandleKind::Pointer => Box::new(pointer(params, Nobody)),
    }
}

/// The handle of [`HandleKind::Pointer`], led by `pointer`: at rest where the script begins.
#[must_use]
pub fn pointer<P: super::pointer::Pointer>(
    params: &OperatorParams,
    pointer: P,
) -> PointerHandle<P> {
    let hand = params.grip.hand();
    PointerHandle::new(pointer, params.script.start_m(), hand).letting_go(params.lets_go_s())
}
