//! A whole session by the clock: both sides, the network between them and the tissue, a tick at a time.
//!
//! Source: ours.

use palpate_master::predict::Predictor;
use palpate_transport::Stroke;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::trace::Side;
use palpate_twin::Tissue;

use super::Session;
use crate::run::paced::{Beat, Paced};
use crate::run::servo::Ticked;
use crate::strokes::Keeper as _;

impl Paced for Session {
    type Lying = ();

    fn beat(&mut self, beat: &Beat) -> (Ticked, Option<Ticked>) {
        for (side, halt) in [Side::Master, Side::Slave].into_iter().zip(beat.halt) {
            if halt {
                self.hold(side, 1);
            }
        }
        [self.master.rearm, self.slave.rearm] = beat.rearm;
        self.masked = beat.masked;
        self.step();
        let of = |made| Ticked::of(made, &self.coupling);
        (of(&self.master.made), Some(of(&self.slave.made)))
    }

    fn twin(&self) -> Option<&dyn Tissue> {
        self.master().predictor().map(Predictor::twin)
    }

    fn stroke(&self, number: u64) -> Option<Stroke> {
        self.master().stroke(number)
    }

    fn coupling(&mut self) -> Option<&mut CouplingParams> {
        Some(&mut self.coupling)
    }

    fn lying(&self) {}
}
