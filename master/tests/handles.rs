//! Contract of all simulated handles (S4-33).

#[path = "../../transport/port/tests/contract/mod.rs"]
mod contract;

use contract::{Builder, Device, Numbers};
use palpate_master::device::grip::Grip;
use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_master::device::{Handle, HandleKind, OperatorParams, build};
use palpate_transport::{AXES, Axes, Time};

struct ContractHandle(Box<dyn Handle>);

impl Device for ContractHandle {
    fn read(&mut self, now: Time) -> Numbers {
        let reading = self.0.read(now);
        let axes = [reading.position_m, reading.velocity_mps, reading.intended_m];
        let mut numbers = [0.0; 3 * AXES + 1];
        numbers[..3 * AXES].copy_from_slice(axes.as_flattened());
        numbers
    }

    fn write(&mut self, force_n: &Axes) {
        self.0.write(force_n);
    }

    fn force_n(&self, tick: i64) -> Axes {
        let saw = |period: i64| (tick % period) as f64 / period as f64 - 0.5;
        [saw(70), saw(110), 2.0 * saw(330), 0.5 * saw(90)]
    }
}

/// Runs `check` on the parameters of every handle, grip and script.
fn each(check: impl Fn(&str, &OperatorParams)) {
    for handle in [HandleKind::Phantom, HandleKind::Mass] {
        for grip in [Grip::Firm, Grip::Light, Grip::None] {
            for script in [
                ScriptParams::default(),
                ScriptParams::Sine(SineParams::default()),
            ] {
                let name = format!("{handle:?} {grip:?} {script:?}");
                let params = OperatorParams {
                    handle,
                    grip,
                    script,
                    ..OperatorParams::default()
                };
                assert_eq!(params.validate(), Ok(()));
                check(&name, &params);
            }
        }
    }
}

/// Runs a rule of the contract on every handle.
fn check<T>(rule: impl Fn(&str, Builder) -> T) {
    each(|name, params| {
        rule(name, &|seed| {
            Box::new(ContractHandle(build(params, 20.0, seed)))
        });
    });
}

#[test]
fn a_force_that_is_not_finite_counts_as_none() {
    check(contract::a_force_that_is_not_finite_counts_as_none);
}

#[test]
fn reading_again_or_back_in_time_changes_nothing() {
    check(contract::reading_again_or_back_in_time_changes_nothing);
}

#[test]
fn equal_seeds_yield_equal_bits() {
    check(contract::the_same_seed_gives_the_same_bits);
}

#[test]
fn other_seeds_yield_other_palpations() {
    let params = OperatorParams::default();
    let [first, second] = [1, 2].map(|seed| {
        let mut handle = ContractHandle(build(&params, 20.0, seed));
        contract::run(&mut handle, 0..1000)
    });
    assert!(first != second);
}

#[test]
fn a_stall_costs_bounded_time() {
    check(contract::a_stall_costs_bounded_time);
}

#[test]
fn any_force_leaves_every_number_finite() {
    check(contract::any_force_leaves_every_number_finite);
}

#[test]
fn reading_and_writing_allocate_nothing() {
    check(contract::reading_and_writing_allocate_nothing);
}

#[test]
fn handle_is_present_if_held() {
    each(|name, params| {
        let reading = build(params, 20.0, 1).read(Time(0));
        assert_eq!(reading.present, !name.contains("None"), "{name}");
    });
}
