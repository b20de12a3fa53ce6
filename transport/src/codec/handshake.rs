//! What the codecs of two sides can do, and the setting that both of them then use.
//!
//! Source: ours; IEEE 1918.1.1 exchanges capabilities before a session, teleop section 3 ("capability
//! handshake"). Each side tells an [`Offer`]: what it wants, and what it is able to. [`agree`] is the same
//! function of both offers at either side, whichever is called ours, so nobody has to decide:
//!
//! 1. what one side demands (`codec.demanded`) is taken exactly, or the session is refused;
//! 2. else a codec that either side wants is used if both can: of two wishes every number is the one that
//!    is felt less, within what both are able to;
//! 3. else there is none, and [`Note`] says why.
//!
//! A session that runs keeps its setting; a side that joins it anew takes that, or is refused.

use serde::{Deserialize, Serialize};

use super::params::{CodecKind, CodecParams, KEEP_ALIVE_S_MAX, PACE_MAX, Prediction, WEBER_MAX};

/// Version of offers and of [`agree`]; sides of other versions use no codec.
const HANDSHAKE: u32 = 1;

/// Version of the deadband as it is here: which frames are sent, and what is believed between them.
const DEADBAND_VERSION: u32 = 1;

/// What a side tells the other of its codec.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Version of this exchange, 1.
    pub handshake: u32,
    /// What it wants; a codec that is off wants none.
    pub wants: CodecParams,
    /// The setting of the session that it already runs, if it does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled: Option<CodecParams>,
    /// Codecs that it has, by name; having none is always possible.
    #[serde(default)]
    pub can: Vec<Ability>,
}

/// A codec that a side has, and within which limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ability {
    /// Its name, as [`CodecKind::name`]; a newer side may name one that this one does not know.
    pub codec: String,
    /// Versions of it.
    pub versions: Vec<u32>,
    /// What a receiver may believe between frames, as [`Prediction::name`].
    pub predictors: Vec<String>,
    /// Largest Weber fraction k.
    pub weber_max: f64,
    /// Packetisation: most periods that one packet may stand for while the delay grows.
    pub pace_max: u32,
    /// Longest silence \[s\] that it does not take for an outage.
    pub keep_alive_s_max: f64,
}

/// What was agreed on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreed {
    /// The setting of both sides; [`CodecParams::demanded`] is still our own.
    pub params: CodecParams,
    /// What a user should know of it.
    pub note: Option<Note>,
}

/// Why the setting is not what this side wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Note {
    /// The other side's offer cannot be read, or is of another version.
    #[error(
        "no codec is used: the other side tells nothing of its codecs that this version understands"
    )]
    Stranger,
    /// A side lacks what is wanted.
    #[error("no codec is used: {whose} side lacks its {lacks}")]
    Lacks {
        /// Which side.
        whose: Whose,
        /// What it lacks.
        lacks: &'static str,
    },
    /// The other side demands none.
    #[error("no codec is used: the other side demands none")]
    Unwanted,
    /// The other side's wish is used; this one had none.
    #[error("a codec is used, as the other side wants one")]
    Joined,
    /// A setting that both can is used, which is not what this side wanted.
    #[error(
        "the codec's {field} is not as wanted here: it is the one that both sides can and want"
    )]
    Met {
        /// The first field that differs.
        field: &'static str,
    },
}

/// Why there can be no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Both sides demand a setting, and not the same one.
    #[error(
        "codec.{field} differs, and both sides demand theirs (codec.demanded = true); expected the same at \
         both, or codec.demanded = false at one of them"
    )]
    Apart {
        /// The first field that differs.
        field: &'static str,
    },
    /// A side demands what the other has not.
    #[error(
        "a codec is demanded (codec.demanded = true), and {whose} side lacks its {lacks}; expected \
         codec.demanded = false, which makes do with what both can"
    )]
    Lacks {
        /// Which side.
        whose: Whose,
        /// What it lacks.
        lacks: &'static str,
    },
    /// The session runs with a setting that this side demands or is able to otherwise.
    #[error(
        "the other side runs a session with another codec.{field} than this one can take; expected that, or a \
         session that begins anew at both sides"
    )]
    Running {
        /// The first field that differs.
        field: &'static str,
    },
}

/// One of the two sides, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The side that reads the message.
    This,
    /// Its peer.
    Other,
}

impl std::fmt::Display for Whose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::This => "this",
            Self::Other => "the other",
        })
    }
}

impl Offer {
    /// What this version can, for a side that wants `wants` and takes a longer silence than
    /// `keep_alive_s_max` \[s\] for an outage.
    #[must_use]
    pub fn new(wants: &CodecParams, keep_alive_s_max: f64) -> Self {
        Self {
            handshake: HANDSHAKE,
            wants: *wants,
            settled: None,
            can: vec![Ability {
                codec: CodecKind::Deadband.name().to_owned(),
                versions: vec![DEADBAND_VERSION],
                predictors: [Prediction::Zoh, Prediction::Linear]
                    .map(|kind| kind.name().to_owned())
                    .into(),
                weber_max: WEBER_MAX,
                pace_max: PACE_MAX,
                keep_alive_s_max: keep_alive_s_max.min(KEEP_ALIVE_S_MAX),
            }],
        }
    }

    fn ability(&self, kind: CodecKind) -> Option<&Ability> {
        self.can.iter().find(|ability| ability.codec == kind.name())
    }

    fn is_known(&self) -> bool {
        let settled = self.settled.is_none_or(|of| of.validate().is_ok());
        self.handshake == HANDSHAKE && self.wants.validate().is_ok() && settled
    }
}

/// The setting of both sides, from our offer and the other's; none stands for one that cannot be read.
///
/// # Errors
/// [`Refusal`] only where a user demanded a setting, or the session already runs with one.
pub fn agree(ours: &Offer, theirs: Option<&Offer>) -> Result<Agreed, Refusal> {
    let Some(theirs) = theirs.filter(|offer| offer.is_known()) else {
        let (whose, lacks) = (Whose::Other, "offer, or has one of another version");
        let demanded = ours.wants.demanded && ours.wants.is_on();
        return match demanded {
            true => Err(Refusal::Lacks { whose, lacks }),
            false => Ok(none(ours, Note::Stranger)),
        };
    };
    let met = meet(ours, theirs);
    let Some(settled) = &theirs.settled else {
        return met;
    };
    if let Ok(met) = met
        && difference(&met.params, settled).is_none()
    {
        return Ok(met);
    }
    join(ours, settled)
}

/// The setting of two sides that begin together.
fn meet(ours: &Offer, theirs: &Offer) -> Result<Agreed, Refusal> {
    let wish = wish(&ours.wants, &theirs.wants)?;
    if !wish.is_on() {
        let met = none(ours, Note::Unwanted);
        return Ok(met);
    }
    let common = match common([ours, theirs], &wish) {
        Ok(common) => common,
        Err((whose, lacks)) if wish.demanded => return Err(Refusal::Lacks { whose, lacks }),
        Err((whose, lacks)) => return Ok(none(ours, Note::Lacks { whose, lacks })),
    };
    let params = common;
    if wish.demanded
        && let Some(lacks) = difference(&params, &wish)
    {
        // the limit that was met is that of one of them
        let able = self::common([ours, ours], &wish).is_ok_and(|own| own == wish);
        let whose = if able { Whose::Other } else { Whose::This };
        return Err(Refusal::Lacks { whose, lacks });
    }
    let note = match (ours.wants.is_on(), difference(&params, &ours.wants)) {
        (false, _) => Some(Note::Joined),
        (true, field) => field.map(|field| Note::Met { field }),
    };
    Ok(Agreed {
        params: own(params, ours),
        note,
    })
}

/// The setting of a session that runs, for a side that joins it.
fn join(ours: &Offer, settled: &CodecParams) -> Result<Agreed, Refusal> {
    let wanted = difference(settled, &ours.wants);
    if let Some(field) = wanted.filter(|_| ours.wants.demanded) {
        return Err(Refusal::Running { field });
    }
    if !settled.is_on() {
        return Ok(none(ours, Note::Unwanted));
    }
    let able = common([ours, ours], settled);
    let params = able.map_err(|_| Refusal::Running { field: "kind" })?;
    if let Some(field) = difference(&params, settled) {
        return Err(Refusal::Running { field });
    }
    Ok(Agreed {
        params: own(params, ours),
        note: wanted.map(|field| match ours.wants.is_on() {
            true => Note::Met { field },
            false => Note::Joined,
        }),
    })
}

/// No codec; the note is for a side that wanted one.
fn none(ours: &Offer, note: Note) -> Agreed {
    Agreed {
        params: CodecParams {
            kind: CodecKind::Off,
            ..ours.wants
        },
        note: ours.wants.is_on().then_some(note),
    }
}

fn own(params: CodecParams, ours: &Offer) -> CodecParams {
    CodecParams {
        demanded: ours.wants.demanded,
        ..params
    }
}

/// What both want together: a demand, or the finer of two wishes, or the only one.
fn wish(ours: &CodecParams, theirs: &CodecParams) -> Result<CodecParams, Refusal> {
    match (ours.demanded, theirs.demanded) {
        (true, true) => match difference(ours, theirs) {
            Some(field) => Err(Refusal::Apart { field }),
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

/// Of two settings of a codec the one that is felt less, number by number.
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
            Prediction::Zoh
        },
        loss_expected: a.loss_expected.max(b.loss_expected),
        doubt_max: a.doubt_max.min(b.doubt_max),
        pace_max: a.pace_max.min(b.pace_max),
    }
}

/// A wish within what both are able to, if they have a version in common; or whose codec lacks what.
fn common(sides: [&Offer; 2], wish: &CodecParams) -> Result<CodecParams, (Whose, &'static str)> {
    let mut params = *wish;
    let mut versions = vec![DEADBAND_VERSION];
    for (offer, whose) in sides.into_iter().zip([Whose::This, Whose::Other]) {
        let ability = offer.ability(wish.kind).ok_or((whose, "kind"))?;
        versions.retain(|version| ability.versions.contains(version));
        if versions.is_empty() {
            return Err((whose, "version"));
        }
        let has = |kind: Prediction| ability.predictors.iter().any(|name| name == kind.name());
        if !has(params.predictor) {
            params.predictor = Prediction::Zoh;
        }
        if !has(params.predictor) {
            return Err((whose, "predictor"));
        }
        params.weber = params.weber.min(ability.weber_max);
        params.pace_max = params.pace_max.min(ability.pace_max);
        params.keep_alive_s = params.keep_alive_s.min(ability.keep_alive_s_max);
        // a limit that makes no setting is as good as no codec
        let made = params.validate();
        made.map_err(|error| (whose, error.field))?;
    }
    Ok(params)
}

/// The first field in which two settings differ; without a codec the others do not count, and who demanded
/// it never does.
fn difference(a: &CodecParams, b: &CodecParams) -> Option<&'static str> {
    let CodecParams {
        kind,
        demanded: _,
        weber,
        weber_per_mps,
        floor_n,
        floor_mps,
        smooth_s,
        keep_alive_s,
        predictor,
        loss_expected,
        doubt_max,
        pace_max,
    } = *a;
    if kind != b.kind || kind == CodecKind::Off {
        return (kind != b.kind).then_some("kind");
    }
    let rows = [
        ("weber", weber == b.weber),
        ("weber_per_mps", weber_per_mps == b.weber_per_mps),
        ("floor_n", floor_n == b.floor_n),
        ("floor_mps", floor_mps == b.floor_mps),
        ("smooth_s", smooth_s == b.smooth_s),
        ("keep_alive_s", keep_alive_s == b.keep_alive_s),
        ("predictor", predictor == b.predictor),
        ("loss_expected", loss_expected == b.loss_expected),
        ("doubt_max", doubt_max == b.doubt_max),
        ("pace_max", pace_max == b.pace_max),
    ];
    rows.into_iter()
        .find(|(_, same)| !same)
        .map(|(field, _)| field)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ON: CodecKind = CodecKind::Deadband;

    fn offer(change: impl FnOnce(&mut CodecParams)) -> Offer {
        let mut wants = CodecParams::default();
        change(&mut wants);
        Offer::new(&wants, 0.024)
    }

    fn on() -> Offer {
        offer(|wants| wants.kind = ON)
    }

    fn demanded(change: impl FnOnce(&mut CodecParams)) -> Offer {
        offer(|wants| {
            (wants.kind, wants.demanded) = (ON, true);
            change(wants);
        })
    }

    fn both(a: &Offer, b: &Offer) -> [Agreed; 2] {
        [
            agree(a, Some(b)).expect("agreed"),
            agree(b, Some(a)).expect("agreed"),
        ]
    }

    #[test]
    fn a_wish_of_either_side_is_enough_and_none_is_none() {
        let off = offer(|_| ());
        let [a, b] = both(&on(), &off);
        assert!(a.params.is_on() && b.params.is_on());
        assert_eq!((a.note, b.note), (None, Some(Note::Joined)));
        let [a, b] = both(&off, &off);
        assert!(!a.params.is_on() && !b.params.is_on() && a.note.is_none() && b.note.is_none());
    }

    #[test]
    fn of_two_wishes_the_finer_is_used() {
        let a = offer(|wants| (wants.kind, wants.weber, wants.floor_n) = (ON, 0.2, 0.03));
        let b = offer(|wants| (wants.kind, wants.predictor) = (ON, Prediction::Zoh));
        let [at_a, at_b] = both(&a, &b);
        assert_eq!(at_a.params, at_b.params);
        let CodecParams {
            weber,
            floor_n,
            predictor,
            ..
        } = at_a.params;
        assert_eq!((weber, floor_n, predictor), (0.1, 0.03, Prediction::Zoh));
        assert_eq!(at_a.note, Some(Note::Met { field: "weber" }));
        assert_eq!(at_b.note, Some(Note::Met { field: "floor_n" }));
    }

    #[test]
    fn a_side_that_can_less_gets_less_unless_more_was_demanded() {
        let mut small = offer(|_| ());
        (small.can[0].weber_max, small.can[0].pace_max) = (0.05, 2);
        small.can[0].predictors = vec!["zoh".into(), "cubic".into()];
        let [a, b] = both(&on(), &small);
        assert_eq!(a.params, b.params);
        assert_eq!((a.params.weber, a.params.pace_max), (0.05, 2));
        assert_eq!(a.params.predictor, Prediction::Zoh);
        let strict = demanded(|_| ());
        let error = agree(&strict, Some(&small)).expect_err("demanded");
        let (whose, lacks) = (Whose::Other, "weber");
        assert_eq!(error, Refusal::Lacks { whose, lacks });
        let error = agree(&small, Some(&strict)).expect_err("demanded there");
        let whose = Whose::This;
        assert_eq!(error, Refusal::Lacks { whose, lacks });
        // a limit that makes no setting
        small.can[0].keep_alive_s_max = 0.0;
        let none = agree(&on(), Some(&small)).expect("none");
        let (whose, lacks) = (Whose::Other, "keep_alive_s");
        assert!(!none.params.is_on());
        assert_eq!(none.note, Some(Note::Lacks { whose, lacks }));
    }

    #[test]
    fn issue_the_other_side_was_blamed_for_a_limit_of_this_one() {
        let mut own = on();
        own.can[0].keep_alive_s_max = 0.0;
        let (whose, lacks) = (Whose::This, "keep_alive_s");
        let found = agree(&own, Some(&on())).expect("none");
        assert_eq!(found.note, Some(Note::Lacks { whose, lacks }));
        own.wants.demanded = true;
        let refused = agree(&own, Some(&on()));
        assert_eq!(refused, Err(Refusal::Lacks { whose, lacks }));
    }

    #[test]
    fn what_a_side_does_not_have_is_left_out_with_a_note_or_refused_where_it_was_demanded() {
        type Break = fn(&mut Offer);
        let breaks: [(Break, &str); 4] = [
            (|offer| offer.can.clear(), "kind"),
            (|offer| offer.can[0].codec = "gzip".into(), "kind"),
            (|offer| offer.can[0].versions = vec![2, 3], "version"),
            (|offer| offer.can[0].predictors.clear(), "predictor"),
        ];
        for (spoil, lacks) in breaks {
            let mut less = offer(|_| ());
            spoil(&mut less);
            let [a, b] = both(&on(), &less);
            assert!(!a.params.is_on() && !b.params.is_on() && b.note.is_none());
            let whose = Whose::Other;
            assert_eq!(a.note, Some(Note::Lacks { whose, lacks }));
            assert_eq!(
                agree(&demanded(|_| ()), Some(&less)),
                Err(Refusal::Lacks { whose, lacks })
            );
        }
        let mut newer = on();
        newer.handshake = 2;
        for stranger in [None, Some(&newer)] {
            let found = agree(&on(), stranger).expect("none");
            assert_eq!(
                (found.params.kind, found.note),
                (CodecKind::Off, Some(Note::Stranger))
            );
            assert!(agree(&demanded(|_| ()), stranger).is_err());
        }
        let mut wrong = on();
        wrong.wants.weber = f64::NAN;
        let found = agree(&on(), Some(&wrong)).expect("none");
        assert_eq!(found.note, Some(Note::Stranger));
    }

    #[test]
    fn a_demand_is_met_exactly_and_two_must_be_the_same() {
        let (coarse, fine) = (demanded(|wants| wants.weber = 0.3), on());
        let [a, b] = both(&coarse, &fine);
        assert_eq!((a.params.weber, b.params.weber), (0.3, 0.3));
        assert!(a.params.demanded && !b.params.demanded && a.note.is_none());
        let error = agree(&coarse, Some(&demanded(|_| ()))).expect_err("two demands");
        assert_eq!(error, Refusal::Apart { field: "weber" });
        assert!(error.to_string().contains("codec.weber"), "{error}");
        let none = offer(|wants| wants.demanded = true);
        let [a, _] = both(&fine, &none);
        assert_eq!(
            (a.params.kind, a.note),
            (CodecKind::Off, Some(Note::Unwanted))
        );
        let error = agree(&none, Some(&coarse)).expect_err("two demands");
        assert_eq!(error, Refusal::Apart { field: "kind" });
    }

    #[test]
    fn a_session_that_runs_is_joined_as_it_is() {
        let mut runs = on();
        runs.settled = Some(CodecParams {
            weber: 0.2,
            ..runs.wants
        });
        let joined = agree(&offer(|_| ()), Some(&runs)).expect("joined");
        assert_eq!(
            (joined.params.weber, joined.note),
            (0.2, Some(Note::Joined))
        );
        let joined = agree(&on(), Some(&runs)).expect("joined");
        assert_eq!(joined.note, Some(Note::Met { field: "weber" }));
        let error = agree(&demanded(|_| ()), Some(&runs)).expect_err("demanded");
        assert_eq!(error, Refusal::Running { field: "weber" });
        let mut weak = on();
        weak.can[0].weber_max = 0.1;
        let error = agree(&weak, Some(&runs)).expect_err("cannot");
        assert_eq!(error, Refusal::Running { field: "weber" });
        // what both would agree on anyway keeps its own note
        let mut plain = on();
        plain.settled = Some(plain.wants);
        assert_eq!(agree(&on(), Some(&plain)).expect("the same").note, None);
    }

    prop_compose! {
        fn any_offer()(
            kind in any::<bool>(), demanded in prop::bool::weighted(0.2), weber in 0.0..0.5, keep in 0.002..0.05,
            line in any::<bool>(), pace in 1u32..=8, weber_max in 0.0..0.6, pace_max in 0u32..10,
            silence in 0.0..0.06, has in prop::bool::weighted(0.8), zoh in prop::bool::weighted(0.8),
        ) -> Offer {
            let mut offer = offer(|wants| {
                if kind { wants.kind = ON; }
                if !line { wants.predictor = Prediction::Zoh; }
                (wants.demanded, wants.weber, wants.keep_alive_s, wants.pace_max) = (demanded, weber, keep, pace);
            });
            if !has { offer.can.clear(); }
            for ability in &mut offer.can {
                (ability.weber_max, ability.pace_max, ability.keep_alive_s_max) = (weber_max, pace_max, silence);
                if !zoh { ability.predictors.remove(0); }
            }
            offer
        }
    }

    proptest! {
        #[test]
        fn both_sides_come_to_the_same(a in any_offer(), b in any_offer()) {
            match (agree(&a, Some(&b)), agree(&b, Some(&a))) {
                (Ok(at_a), Ok(at_b)) => {
                    prop_assert_eq!(difference(&at_a.params, &at_b.params), None);
                    prop_assert!(at_a.params.validate().is_ok());
                    // whoever comes second finds the same in what the first has settled
                    let settled = Offer { settled: Some(at_a.params), ..a.clone() };
                    prop_assert_eq!(agree(&b, Some(&settled)), Ok(at_b));
                    // only a side that gets what it wanted has nothing to be told
                    let as_wanted = difference(&at_a.params, &a.wants).is_none();
                    prop_assert_eq!(at_a.note.is_none(), as_wanted);
                }
                (Err(_), Err(_)) => prop_assert!(a.wants.demanded || b.wants.demanded),
                (one, other) => prop_assert!(false, "{one:?} {other:?}"),
            }
        }
    }
}
