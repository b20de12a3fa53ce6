//! Which frames are sent: a perceptual codec for the kinesthetic stream, both directions.
//!
//! A frame is left out while the receiver, going on from what it has, feels no difference. In the
//! spirit of the no-delay and the delay-robust kinesthetic codec of IEEE 1918.1.1 (read as far as
//! its abstract; the rule itself is Hinterseer et al. 2008, teleop E14):
//!
//! - [`signal`]: what is judged, and when two values can be told apart: Weber fraction with a floor
//!   from the noise, by the norm of the vector, wider in fast motion (Kammerl et al. 2010);
//! - [`predictor`]: what the receiver believes between frames, held or on a line;
//! - [`receiver`]: what the receiver may believe when frames are lost, without acknowledgements but
//!   with the echo that every frame carries (after Kammerl and Brandi);
//! - [`pace`]: fewer frames while the delay grows (after DPM 2016);
//! - [`encoder`] and [`decoder`]: the two ends, pure state machines for the shell;
//! - [`handshake`]: what two sides can and want, and the setting that both then use.
//!
//! **Passive by its place.** The codec only decides *whether* a frame goes. Energies and integrals in
//! a frame are cumulative (teleop E6b), so the next one says all that those left out would have
//! said, and the account pays out nothing before it has heard of it. What the decoder makes up between frames is a
//! demand like any other: the account pays it or lowers it. A codec is thus one more way to lose frames,
//! and the account is passive under any loss. `tests/tests/codec.rs` and the adversary hold it to that.
//!
//! **Not a loss.** Sequence numbers count sent frames, so a frame that was left out is no gap; the
//! keep-alive is shorter than every limit on silence, which the launcher checks.

pub mod decoder;
pub mod encoder;
pub mod handshake;
pub mod pace;
mod params;
pub mod predictor;
pub mod receiver;
pub mod signal;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use handshake::{Agreed, Offer, agree};
pub use params::{
    CodecError, CodecKind, CodecParams, KEEP_ALIVE_S_MAX, PACE_MAX, Prediction, WEBER_MAX,
};
pub use signal::{Judged, Threshold};

use crate::coupling::CouplingParams;
use crate::frame::HapticFrame;
use crate::trace::Side;
use crate::{Axes, Span, Time};

/// Both ends of one side: what it sends, and what it is shown. Fixed size.
#[derive(Debug, Clone)]
pub struct Ends {
    encoder: Encoder,
    decoder: Decoder,
}

impl Ends {
    /// Of `side`, which makes a frame every `period`; nothing sent and nothing received.
    #[must_use]
    pub fn new(params: &CodecParams, side: Side, coupling: &CouplingParams, period: Span) -> Self {
        Self {
            encoder: Encoder::new(params, Judged::of(side, coupling), period),
            decoder: Decoder::new(params, Judged::of(side.other(), coupling)),
        }
    }

    /// See [`Decoder::decode`].
    pub fn decode(
        &mut self,
        inbound: Option<(HapticFrame, Time)>,
        now: Time,
    ) -> Option<(HapticFrame, Time)> {
        self.decoder.decode(inbound, now)
    }

    /// See [`Encoder::judged_value`].
    #[must_use]
    pub fn judged_value(&self) -> Option<Axes> {
        self.encoder.judged_value()
    }

    /// See [`Encoder::encode`].
    pub fn encode(&mut self, frame: &HapticFrame, peer: &HapticFrame) -> Option<HapticFrame> {
        self.encoder.encode(frame, peer)
    }
}

#[cfg(test)]
mod tests;
