//! `ClockedSession` for [`VirtualSession`]: steps both sides, the network and the tissue by one tick.
//!
//! Source: ours.

use palpate_master::predict::TwinPredictor;
use palpate_transport::EditBatch;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::trace::Side;
use palpate_twin::Tissue;

use super::VirtualSession;
use crate::run::clocked::{ClockedSession, TickCommands};
use crate::run::servo::ServoOutputs;

impl ClockedSession for VirtualSession {
    type FinalState = ();

    fn tick(&mut self, commands: &TickCommands) -> (ServoOutputs, Option<ServoOutputs>) {
        for (side, halt) in [Side::Master, Side::Slave].into_iter().zip(commands.halt) {
            if halt {
                self.halt_ticks(side, 1);
            }
        }
        [self.master.rearm, self.slave.rearm] = commands.rearm;
        self.deadline_fallback = commands.deadline_fallback;
        self.step();
        let of = |outputs| ServoOutputs::from_tick(outputs, &self.coupling);
        (of(&self.master.outputs), Some(of(&self.slave.outputs)))
    }

    fn twin(&self) -> Option<&dyn Tissue> {
        self.master().predictor().map(TwinPredictor::twin)
    }

    fn edit_batch(&self, number: u64) -> Option<EditBatch> {
        Self::edit_batch(self, number)
    }

    fn coupling(&mut self) -> Option<&mut CouplingParams> {
        Some(&mut self.coupling)
    }

    fn final_state(&self) {}
}
