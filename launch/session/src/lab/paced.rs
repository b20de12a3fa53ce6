//! A whole session by the clock: both sides, the network between them and the tissue, a tick at a time.
//!
//! Source: ours.

use palpate_master::predict::Predictor;
use palpate_transport::Stroke;
use palpate_transport::coupling::CouplingParams;
use palpate_twin::Tissue;

use super::{Lockstep, SIDES, Session};
use crate::run::paced::{Beat, Paced};
use crate::run::servo::Ticked;
use crate::strokes::Keeper as _;

impl Paced for Session {
    type Lying = ();

    fn beat(&mut self, beat: &Beat) -> (Ticked, Option<Ticked>) {
        for (side, halt) in SIDES.into_iter().zip(beat.halt) {
            if halt {
                self.hold(side, 1);
            }
        }
        (self.rearm, self.masked) = (beat.rearm, beat.masked);
        let Lockstep { master, slave } = self.step();
        let [master_frame, slave_frame] = self.made;
        let [master_healthy, slave_healthy] = self.healthy;
        let coupling = &self.coupling;
        let of = |frame, record, healthy| Ticked::shown((frame, record), healthy, coupling);
        (
            of(&master_frame, master, master_healthy),
            Some(of(&slave_frame, slave, slave_healthy)),
        )
    }

    fn twin(&self) -> Option<&dyn Tissue> {
        self.master.predictor().map(Predictor::twin)
    }

    fn stroke(&self, number: u64) -> Option<Stroke> {
        self.master.stroke(number)
    }

    fn coupling(&mut self) -> Option<&mut CouplingParams> {
        Some(&mut self.coupling)
    }

    fn lying(&self) {}
}
