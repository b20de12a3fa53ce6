//! Tests of the agreement on a codec: requests, demands, missing capabilities, and sides that join later.

use proptest::prelude::*;

use super::*;

const ON: CodecKind = CodecKind::Deadband;

fn offer(change: impl FnOnce(&mut CodecParams)) -> CodecOffer {
    let mut wants = CodecParams::default();
    change(&mut wants);
    CodecOffer::new(&wants, 0.024)
}

fn on() -> CodecOffer {
    offer(|wants| wants.kind = ON)
}

fn demanded(change: impl FnOnce(&mut CodecParams)) -> CodecOffer {
    offer(|wants| {
        (wants.kind, wants.demanded) = (ON, true);
        change(wants);
    })
}

fn both(a: &CodecOffer, b: &CodecOffer) -> [AgreedCodec; 2] {
    [
        agree(a, Some(b)).expect("agreed"),
        agree(b, Some(a)).expect("agreed"),
    ]
}

#[test]
fn request_of_either_side_selects_a_codec() {
    let off = offer(|_| ());
    let [a, b] = both(&on(), &off);
    assert!(a.params.is_on() && b.params.is_on());
    assert_eq!((a.note, b.note), (None, Some(CodecNote::PeerRequested)));
    let [a, b] = both(&off, &off);
    assert!(!a.params.is_on() && !b.params.is_on() && a.note.is_none() && b.note.is_none());
}

#[test]
fn finer_of_two_requests_is_used() {
    let a = offer(|wants| (wants.kind, wants.weber, wants.floor_n) = (ON, 0.2, 0.03));
    let b = offer(|wants| (wants.kind, wants.predictor) = (ON, PredictorKind::Zoh));
    let [at_a, at_b] = both(&a, &b);
    assert_eq!(at_a.params, at_b.params);
    let CodecParams {
        weber,
        floor_n,
        predictor,
        ..
    } = at_a.params;
    assert_eq!((weber, floor_n, predictor), (0.1, 0.03, PredictorKind::Zoh));
    assert_eq!(at_a.note, Some(CodecNote::Compromise { field: "weber" }));
    assert_eq!(at_b.note, Some(CodecNote::Compromise { field: "floor_n" }));
}

#[test]
fn weaker_capabilities_limit_the_setting_unless_demanded() {
    let mut small = offer(|_| ());
    (small.can[0].weber_max, small.can[0].pace_max) = (0.05, 2);
    small.can[0].predictors = vec!["zoh".into(), "cubic".into()];
    let [a, b] = both(&on(), &small);
    assert_eq!(a.params, b.params);
    assert_eq!((a.params.weber, a.params.pace_max), (0.05, 2));
    assert_eq!(a.params.predictor, PredictorKind::Zoh);
    let strict = demanded(|_| ());
    let error = agree(&strict, Some(&small)).expect_err("demanded");
    let (whose, lacks) = (HandshakeSide::Peer, "weber");
    assert_eq!(error, CodecRefusal::MissingCapability { whose, lacks });
    let error = agree(&small, Some(&strict)).expect_err("demanded there");
    let whose = HandshakeSide::Own;
    assert_eq!(error, CodecRefusal::MissingCapability { whose, lacks });
    // a limit that gives no valid setting
    small.can[0].keep_alive_s_max = 0.0;
    let none = agree(&on(), Some(&small)).expect("none");
    let (whose, lacks) = (HandshakeSide::Peer, "keep_alive_s");
    assert!(!none.params.is_on());
    assert_eq!(
        none.note,
        Some(CodecNote::MissingCapability { whose, lacks })
    );
}

#[test]
fn issue_note_named_the_wrong_side_for_a_limit() {
    let mut own = on();
    own.can[0].keep_alive_s_max = 0.0;
    let (whose, lacks) = (HandshakeSide::Own, "keep_alive_s");
    let found = agree(&own, Some(&on())).expect("none");
    assert_eq!(
        found.note,
        Some(CodecNote::MissingCapability { whose, lacks })
    );
    own.wants.demanded = true;
    let refused = agree(&own, Some(&on()));
    assert_eq!(
        refused,
        Err(CodecRefusal::MissingCapability { whose, lacks })
    );
}

#[test]
fn missing_capability_gives_a_note_or_a_refusal_if_demanded() {
    type Break = fn(&mut CodecOffer);
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
        let whose = HandshakeSide::Peer;
        assert_eq!(a.note, Some(CodecNote::MissingCapability { whose, lacks }));
        assert_eq!(
            agree(&demanded(|_| ()), Some(&less)),
            Err(CodecRefusal::MissingCapability { whose, lacks })
        );
    }
    let mut newer = on();
    newer.handshake = 2;
    for stranger in [None, Some(&newer)] {
        let found = agree(&on(), stranger).expect("none");
        assert_eq!(
            (found.params.kind, found.note),
            (CodecKind::Off, Some(CodecNote::UnreadableOffer))
        );
        assert!(agree(&demanded(|_| ()), stranger).is_err());
    }
    let mut wrong = on();
    wrong.wants.weber = f64::NAN;
    let found = agree(&on(), Some(&wrong)).expect("none");
    assert_eq!(found.note, Some(CodecNote::UnreadableOffer));
}

#[test]
fn demand_is_met_exactly_and_two_demands_must_agree() {
    let (coarse, fine) = (demanded(|wants| wants.weber = 0.3), on());
    let [a, b] = both(&coarse, &fine);
    assert_eq!((a.params.weber, b.params.weber), (0.3, 0.3));
    assert!(a.params.demanded && !b.params.demanded && a.note.is_none());
    let error = agree(&coarse, Some(&demanded(|_| ()))).expect_err("two demands");
    assert_eq!(error, CodecRefusal::ConflictingDemands { field: "weber" });
    assert!(error.to_string().contains("codec.weber"), "{error}");
    let none = offer(|wants| wants.demanded = true);
    let [a, _] = both(&fine, &none);
    assert_eq!(
        (a.params.kind, a.note),
        (CodecKind::Off, Some(CodecNote::PeerDemandsNone))
    );
    let error = agree(&none, Some(&coarse)).expect_err("two demands");
    assert_eq!(error, CodecRefusal::ConflictingDemands { field: "kind" });
}

#[test]
fn joining_side_takes_the_running_setting() {
    let mut runs = on();
    runs.settled = Some(CodecParams {
        weber: 0.2,
        ..runs.wants
    });
    let joined = agree(&offer(|_| ()), Some(&runs)).expect("joined");
    assert_eq!(
        (joined.params.weber, joined.note),
        (0.2, Some(CodecNote::PeerRequested))
    );
    let joined = agree(&on(), Some(&runs)).expect("joined");
    assert_eq!(joined.note, Some(CodecNote::Compromise { field: "weber" }));
    let error = agree(&demanded(|_| ()), Some(&runs)).expect_err("demanded");
    assert_eq!(error, CodecRefusal::RunningSession { field: "weber" });
    let mut weak = on();
    weak.can[0].weber_max = 0.1;
    let error = agree(&weak, Some(&runs)).expect_err("cannot");
    assert_eq!(error, CodecRefusal::RunningSession { field: "weber" });
    // a setting on which both would agree anyway keeps its own note
    let mut plain = on();
    plain.settled = Some(plain.wants);
    assert_eq!(agree(&on(), Some(&plain)).expect("the same").note, None);
}

prop_compose! {
    fn any_offer()(
        kind in any::<bool>(), demanded in prop::bool::weighted(0.2), weber in 0.0..0.5, keep in 0.002..0.05,
        line in any::<bool>(), pace in 1u32..=8, weber_max in 0.0..0.6, pace_max in 0u32..10,
        silence in 0.0..0.06, has in prop::bool::weighted(0.8), zoh in prop::bool::weighted(0.8),
    ) -> CodecOffer {
        let mut offer = offer(|wants| {
            if kind { wants.kind = ON; }
            if !line { wants.predictor = PredictorKind::Zoh; }
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
    fn both_sides_agree_on_the_same_setting(a in any_offer(), b in any_offer()) {
        match (agree(&a, Some(&b)), agree(&b, Some(&a))) {
            (Ok(at_a), Ok(at_b)) => {
                prop_assert_eq!(first_difference(&at_a.params, &at_b.params), None);
                prop_assert!(at_a.params.validate().is_ok());
                // the side that joins later gets the setting of the first one
                let settled = CodecOffer { settled: Some(at_a.params), ..a.clone() };
                prop_assert_eq!(agree(&b, Some(&settled)), Ok(at_b));
                // only a side that gets its request needs no note
                let as_wanted = first_difference(&at_a.params, &a.wants).is_none();
                prop_assert_eq!(at_a.note.is_none(), as_wanted);
            }
            (Err(_), Err(_)) => prop_assert!(a.wants.demanded || b.wants.demanded),
            (one, other) => prop_assert!(false, "{one:?} {other:?}"),
        }
    }
}
