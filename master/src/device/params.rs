//! Parameters of the operator and the handle of a session (ours).

use palpate_port::watchdog::COMMAND_TIMEOUT_S;
use palpate_transport::{FieldError, params};
use serde::{Deserialize, Serialize};

use super::Handle;
use super::grip::{Grip, GripChange, GripSchedule};
use super::mass::MassHandle;
use super::phantom::{PhantomHandle, PhantomParams};
use super::pointer::{NoPointer, PointerHandle};
use super::script::{HandLeap, OperatorScript, ScriptParams};

/// Kinds of simulated handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandleKind {
    /// A PHANToM-class arm with tweezers.
    #[default]
    Phantom,
    /// The ideal point mass of teleop RP-1.
    Mass,
    /// A mouse or a finger on the console's page; without one, it is not held.
    Pointer,
}

params! {
    /// Simulated operator with a handle.
    pub struct OperatorParams: "" then parts_are_valid {
        /// The handle.
        pub handle: HandleKind = HandleKind::default(),
        /// Linux device that moves a handle of the kind `pointer`, as its file or `auto`; by default the page moves
        /// it.
        pub device: Option<String> = None,
        /// Parameters of the arm, if the handle is one.
        pub phantom: PhantomParams = PhantomParams::default(),
        /// Time after which the handle releases a force that is not renewed \[s\], at least two periods; 0
        /// for never.
        pub release_s: f64 = COMMAND_TIMEOUT_S,
        /// Grip at the start.
        pub grip: Grip = Grip::default(),
        /// Later changes of grip, in order of time.
        pub regrip: Vec<GripChange> = Vec::new(),
        /// Leaps of a scripted hand, as of a hand that slips: faults for trials.
        pub leap: Vec<HandLeap> = Vec::new(),
        /// Script of the operator.
        pub script: ScriptParams = ScriptParams::default(),
    }
}

/// The longest session \[s\].
const DAY_S: f64 = 86_400.0;

fn parts_are_valid(operator: &OperatorParams) -> Result<(), FieldError> {
    if operator.release_s != 0.0 {
        FieldError::check_range("release_s", operator.release_s, 2e-3, 0.02)?;
    }
    let mut before_s = 0.0;
    for change in &operator.regrip {
        FieldError::check_range("regrip.at_s", change.at_s, before_s, DAY_S)?;
        before_s = change.at_s;
    }
    for leap in &operator.leap {
        FieldError::check_range("leap.at_s", leap.at_s, 0.0, DAY_S)?;
        for by_m in leap.by_m {
            FieldError::check_range("leap.by_m", by_m, -0.1, 0.1)?;
        }
    }
    operator.phantom.validate()?;
    operator.script.validate()
}

impl OperatorParams {
    /// Grips over time.
    #[must_use]
    pub fn grip_schedule(&self) -> GripSchedule {
        GripSchedule::new(self.grip, &self.regrip)
    }

    /// True if the operator has instruments, which edit a twin in every mode.
    #[must_use]
    pub fn uses_instruments(&self) -> bool {
        match &self.script {
            ScriptParams::Procedure(procedure) => procedure.uses_instruments(),
            ScriptParams::Sine(_) | ScriptParams::Palpation(_) => false,
        }
    }

    /// Time after which the device releases a force \[s\]; none for never.
    #[must_use]
    pub fn force_timeout_s(&self) -> Option<f64> {
        (self.release_s > 0.0).then_some(self.release_s)
    }
}

/// Builds the handle and its operator for a session of `duration_s` \[s\]; `seed` draws the
/// operator's variation. The parameters must have passed [`OperatorParams::validate`].
#[must_use]
pub fn build(params: &OperatorParams, duration_s: f64, seed: u64) -> Box<dyn Handle> {
    let script = OperatorScript::new(&params.script, duration_s, seed);
    let timeout_s = params.force_timeout_s();
    let (arm, grips) = (&params.phantom, params.grip_schedule());
    match params.handle {
        HandleKind::Phantom => {
            let handle = PhantomHandle::new(arm, script, grips).with_noise_seed(seed);
            Box::new(
                handle
                    .with_leaps(&params.leap)
                    .with_force_timeout(timeout_s),
            )
        }
        HandleKind::Mass => {
            let handle = MassHandle::new(script, grips).with_leaps(&params.leap);
            Box::new(handle.with_force_timeout(timeout_s))
        }
        HandleKind::Pointer => Box::new(build_pointer(params, NoPointer)),
    }
}

/// Handle of [`HandleKind::Pointer`], moved by `pointer`: at rest at the start of the script.
#[must_use]
pub fn build_pointer<P: super::pointer::PointerSource>(
    params: &OperatorParams,
    pointer: P,
) -> PointerHandle<P> {
    let hand = params.grip.hand();
    PointerHandle::new(pointer, params.script.start_m(), hand)
        .with_force_timeout(params.force_timeout_s())
}
