//! Handshake of two sides' codecs: capabilities, requests, and the setting that both then use.
//!
//! Source: ours; IEEE 1918.1.1 exchanges capabilities before a session, teleop section 3 ("capability
//! handshake"). Each side sends a [`CodecOffer`]: its request and its capabilities. [`agree`] is the same
//! function of both offers on either side, whichever is called ours, so no side has to decide:
//!
//! 1. a setting that one side demands (`codec.demanded`) is taken exactly, or the session is refused;
//! 2. otherwise a codec that either side requests is used if both can: of two requests each number is the
//!    less perceptible one, within both sides' capabilities;
//! 3. otherwise no codec is used, and [`CodecNote`] gives the reason.
//!
//! A running session keeps its setting; a side that joins it takes that setting or is refused.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::params::{
    CodecKind, CodecParams, KEEP_ALIVE_S_MAX, PERIODS_PER_FRAME_MAX, PredictorKind, WEBER_MAX,
};
use crate::FieldError;

/// Version of offers and of [`agree`]; sides of other versions use no codec.
const HANDSHAKE: u32 = 1;

/// Version of the deadband codec: selection of frames, and extrapolation between them.
const DEADBAND_VERSION: u32 = 1;

/// Offer that a side sends to the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodecOffer {
    /// Version of this exchange, 1.
    pub handshake: u32,
    /// Requested setting; a codec that is off requests none.
    pub wants: CodecParams,
    /// Setting of the session that the side already runs, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled: Option<CodecParams>,
    /// Codecs that the side supports, by name; using none is always possible.
    #[serde(default)]
    pub can: Vec<CodecCapability>,
}

/// A codec that a side supports, with its limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodecCapability {
    /// Name, as [`CodecKind::name`]; a newer side may name one that this version lacks.
    pub codec: String,
    /// Supported versions.
    pub versions: Vec<u32>,
    /// Kinds of extrapolation at the receiver, as [`PredictorKind::name`].
    pub predictors: Vec<String>,
    /// Largest Weber fraction k.
    pub weber_max: f64,
    /// Packetisation: most periods for which one packet may stand while the delay grows.
    pub pace_max: u32,
    /// Longest silence \[s\] that the side does not treat as an outage.
    pub keep_alive_s_max: f64,
}

/// Result of the handshake.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgreedCodec {
    /// Setting of both sides; [`CodecParams::demanded`] remains this side's own.
    pub params: CodecParams,
    /// Message for the user.
    pub note: Option<CodecNote>,
}

/// Reason why the setting differs from this side's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CodecNote {
    /// The other side's offer cannot be read, or is of another version.
    #[error(
        "no codec is used: the other side tells nothing of its codecs that this version understands"
    )]
    UnreadableOffer,
    /// A side lacks a requested capability.
    #[error("no codec is used: {whose} side lacks its {lacks}")]
    MissingCapability {
        /// Side that lacks it.
        whose: HandshakeSide,
        /// Capability that it lacks.
        lacks: &'static str,
    },
    /// The other side demands none.
    #[error("no codec is used: the other side demands none")]
    PeerDemandsNone,
    /// The other side's request is used; this side had none.
    #[error("a codec is used, as the other side wants one")]
    PeerRequested,
    /// A setting that both support is used, which differs from this side's request.
    #[error(
        "the codec's {field} is not as wanted here: it is the one that both sides can and want"
    )]
    Compromise {
        /// The first field that differs.
        field: &'static str,
    },
}

/// Reason why the session is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CodecRefusal {
    /// Both sides demand a setting, and the settings differ.
    #[error(
        "codec.{field} differs, and both sides demand theirs (codec.demanded = true); expected the same at \
         both, or codec.demanded = false at one of them"
    )]
    ConflictingDemands {
        /// The first field that differs.
        field: &'static str,
    },
    /// A side demands a capability that the other lacks.
    #[error(
        "a codec is demanded (codec.demanded = true), and {whose} side lacks its {lacks}; expected \
         codec.demanded = false, which makes do with what both can"
    )]
    MissingCapability {
        /// Side that lacks it.
        whose: HandshakeSide,
        /// Capability that it lacks.
        lacks: &'static str,
    },
    /// The session runs with a setting that this side does not accept, by its demand or its capabilities.
    #[error(
        "the other side runs a session with another codec.{field} than this one can take; expected that, or a \
         session that begins anew at both sides"
    )]
    RunningSession {
        /// The first field that differs.
        field: &'static str,
    },
}

/// One of the two sides, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeSide {
    /// The side that shows the message.
    Own,
    /// The other side.
    Peer,
}

impl std::fmt::Display for HandshakeSide {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Own => "this",
            Self::Peer => "the other",
        })
    }
}

impl CodecOffer {
    /// Creates the offer of this version for a side that requests `wants` and treats a silence longer than
    /// `keep_alive_s_max` \[s\] as an outage.
    #[must_use]
    pub fn new(wants: &CodecParams, keep_alive_s_max: f64) -> Self {
        Self {
            handshake: HANDSHAKE,
            wants: *wants,
            settled: None,
            can: vec![CodecCapability {
                codec: CodecKind::Deadband.name().to_owned(),
                versions: vec![DEADBAND_VERSION],
                predictors: [PredictorKind::Zoh, PredictorKind::Linear]
                    .map(|kind| kind.name().to_owned())
                    .into(),
                weber_max: WEBER_MAX,
                pace_max: PERIODS_PER_FRAME_MAX,
                keep_alive_s_max: keep_alive_s_max.min(KEEP_ALIVE_S_MAX),
            }],
        }
    }

    fn capability(&self, kind: CodecKind) -> Option<&CodecCapability> {
        self.can.iter().find(|ability| ability.codec == kind.name())
    }

    fn is_understood(&self) -> bool {
        let settled = self.settled.is_none_or(|of| of.validate().is_ok());
        self.handshake == HANDSHAKE && self.wants.validate().is_ok() && settled
    }
}

/// Setting of both sides, from our offer and the other's; `None` is an offer that cannot be read.
///
/// # Errors
/// [`CodecRefusal`] only if a side demands a setting, or the session already runs with one.
pub fn agree(ours: &CodecOffer, theirs: Option<&CodecOffer>) -> Result<AgreedCodec, CodecRefusal> {
    let Some(theirs) = theirs.filter(|offer| offer.is_understood()) else {
        let (whose, lacks) = (HandshakeSide::Peer, "offer, or has one of another version");
        let demanded = ours.wants.demanded && ours.wants.is_on();
        return match demanded {
            true => Err(CodecRefusal::MissingCapability { whose, lacks }),
            false => Ok(without_codec(ours, CodecNote::UnreadableOffer)),
        };
    };
    let agreed = agree_new(ours, theirs);
    let Some(settled) = &theirs.settled else {
        return agreed;
    };
    if let Ok(agreed) = agreed
        && first_difference(&agreed.params, settled).is_none()
    {
        return Ok(agreed);
    }
    agree_running(ours, settled)
}

/// Setting of two sides that begin a session together.
fn agree_new(ours: &CodecOffer, theirs: &CodecOffer) -> Result<AgreedCodec, CodecRefusal> {
    let request = combined_request(&ours.wants, &theirs.wants)?;
    if !request.is_on() {
        let agreed = without_codec(ours, CodecNote::PeerDemandsNone);
        return Ok(agreed);
    }
    let common = match within_capabilities([ours, theirs], &request) {
        Ok(common) => common,
        Err((whose, lacks)) if request.demanded => {
            return Err(CodecRefusal::MissingCapability { whose, lacks });
        }
        Err((whose, lacks)) => {
            return Ok(without_codec(
                ours,
                CodecNote::MissingCapability { whose, lacks },
            ));
        }
    };
    let params = common;
    if request.demanded
        && let Some(lacks) = first_difference(&params, &request)
    {
        // the limit that applied is that of one of them
        let able =
            self::within_capabilities([ours, ours], &request).is_ok_and(|own| own == request);
        let whose = if able {
            HandshakeSide::Peer
        } else {
            HandshakeSide::Own
        };
        return Err(CodecRefusal::MissingCapability { whose, lacks });
    }
    let note = match (ours.wants.is_on(), first_difference(&params, &ours.wants)) {
        (false, _) => Some(CodecNote::PeerRequested),
        (true, field) => field.map(|field| CodecNote::Compromise { field }),
    };
    Ok(AgreedCodec {
        params: with_own_demand(params, ours),
        note,
    })
}

/// Setting of a running session, for a side that joins it.
fn agree_running(ours: &CodecOffer, settled: &CodecParams) -> Result<AgreedCodec, CodecRefusal> {
    let wanted = first_difference(settled, &ours.wants);
    if let Some(field) = wanted.filter(|_| ours.wants.demanded) {
        return Err(CodecRefusal::RunningSession { field });
    }
    if !settled.is_on() {
        return Ok(without_codec(ours, CodecNote::PeerDemandsNone));
    }
    let able = within_capabilities([ours, ours], settled);
    let params = able.map_err(|_| CodecRefusal::RunningSession { field: "kind" })?;
    if let Some(field) = first_difference(&params, settled) {
        return Err(CodecRefusal::RunningSession { field });
    }
    Ok(AgreedCodec {
        params: with_own_demand(params, ours),
        note: wanted.map(|field| match ours.wants.is_on() {
            true => CodecNote::Compromise { field },
            false => CodecNote::PeerRequested,
        }),
    })
}

/// Result without a codec; the note is for a side that requested one.
fn without_codec(ours: &CodecOffer, note: CodecNote) -> AgreedCodec {
    AgreedCodec {
        params: CodecParams {
            kind: CodecKind::Off,
            ..ours.wants
        },
        note: ours.wants.is_on().then_some(note),
    }
}

fn with_own_demand(params: CodecParams, ours: &CodecOffer) -> CodecParams {
    CodecParams {
        demanded: ours.wants.demanded,
        ..params
    }
}

/// Request of both together: a demand, the finer of two requests, or the only one.
fn combined_request(ours: &CodecParams, theirs: &CodecParams) -> Result<CodecParams, CodecRefusal> {
    match (ours.demanded, theirs.demanded) {
        (true, true) => match first_difference(ours, theirs) {
            Some(field) => Err(CodecRefusal::ConflictingDemands { field }),
            None => Ok(*ours),
        },
        (true, false) => Ok(*ours),
        (false, true) => Ok(*theirs),
        (false, false) => Ok(match (ours.is_on(), theirs.is_on()) {
            (true, true) => finer(ours, theirs),
            (false, true) => *theirs,
            _ => *ours,
        }),
    }
}

/// Less perceptible setting of two, number by number.
fn finer(a: &CodecParams, b: &CodecParams) -> CodecParams {
    CodecParams {
        kind: a.kind,
        demanded: false,
        weber: a.weber.min(b.weber),
        weber_per_mps: a.weber_per_mps.min(b.weber_per_mps),
        floor_n: a.floor_n.min(b.floor_n),
        floor_mps: a.floor_mps.min(b.floor_mps),
        smooth_s: a.smooth_s.min(b.smooth_s),
        keep_alive_s: a.keep_alive_s.min(b.keep_alive_s),
        predictor: if a.predictor == b.predictor {
            a.predictor
        } else {
            PredictorKind::Zoh
        },
        loss_expected: a.loss_expected.max(b.loss_expected),
        doubt_max: a.doubt_max.min(b.doubt_max),
        pace_max: a.pace_max.min(b.pace_max),
    }
}

/// Request limited to both sides' capabilities, if they share a version; otherwise the side and what it lacks.
fn within_capabilities(
    sides: [&CodecOffer; 2],
    request: &CodecParams,
) -> Result<CodecParams, (HandshakeSide, &'static str)> {
    let mut params = *request;
    let mut versions = vec![DEADBAND_VERSION];
    for (offer, whose) in sides
        .into_iter()
        .zip([HandshakeSide::Own, HandshakeSide::Peer])
    {
        let ability = offer.capability(request.kind).ok_or((whose, "kind"))?;
        versions.retain(|version| ability.versions.contains(version));
        if versions.is_empty() {
            return Err((whose, "version"));
        }
        let has = |kind: PredictorKind| ability.predictors.iter().any(|name| name == kind.name());
        if !has(params.predictor) {
            params.predictor = PredictorKind::Zoh;
        }
        if !has(params.predictor) {
            return Err((whose, "predictor"));
        }
        params.weber = params.weber.min(ability.weber_max);
        params.pace_max = params.pace_max.min(ability.pace_max);
        params.keep_alive_s = params.keep_alive_s.min(ability.keep_alive_s_max);
        // a limit that gives no valid setting counts as no codec
        let valid = params.validate();
        valid.map_err(|error| (whose, field_name(&error)))?;
    }
    Ok(params)
}

/// Name of the setting that was refused.
fn field_name(error: &FieldError) -> &'static str {
    match error.field {
        Cow::Borrowed(field) => field.trim_start_matches("codec."),
        Cow::Owned(_) => "kind",
    }
}

/// First field in which two settings differ. Without a codec the other fields do not count; `demanded`
/// never does.
fn first_difference(a: &CodecParams, b: &CodecParams) -> Option<&'static str> {
    if a.kind != b.kind || !a.is_on() {
        return (a.kind != b.kind).then_some("kind");
    }
    let rows = |of: &CodecParams| {
        [
            ("weber", of.weber),
            ("weber_per_mps", of.weber_per_mps),
            ("floor_n", of.floor_n),
            ("floor_mps", of.floor_mps),
            ("smooth_s", of.smooth_s),
            ("keep_alive_s", of.keep_alive_s),
            ("predictor", f64::from(of.predictor as u8)),
            ("loss_expected", of.loss_expected),
            ("doubt_max", of.doubt_max),
            ("pace_max", f64::from(of.pace_max)),
        ]
    };
    let mut pairs = rows(a).into_iter().zip(rows(b));
    pairs
        .find(|((_, a), (_, b))| a != b)
        .map(|((field, _), _)| field)
}

#[cfg(test)]
mod tests;
