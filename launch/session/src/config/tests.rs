//! Tests of defaults, of fields set by name, and of refused values.

use palpate_transport::coupling::Mode;

use super::*;

#[test]
fn defaults_are_valid_and_survive_a_round_trip() {
    let config = Config::default();
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(Config::parse(&config.to_toml(), "test"), Ok(config));
}

#[test]
fn set_reaches_any_field_and_names_unknown_fields() {
    let mut config = Config::default();
    config.set("coupling.mode=wave").expect("a word");
    config.set("duration_s=5").expect("an integer for a float");
    config
        .set("slave.guard.watchdog_s = 0.02")
        .expect("a float");
    assert_eq!(config.duration_s, 5.0);
    assert_eq!(config.slave.guard.watchdog_s, 0.02);
    let error = config
        .set("coupling.mod=wave")
        .expect_err("unknown")
        .to_string();
    assert!(error.contains("mod"), "{error}");
    let error = config
        .set("copling.mode=wave")
        .expect_err("unknown")
        .to_string();
    assert!(
        error.contains("copling") && error.contains("coupling"),
        "{error}"
    );
    assert!(config.set("coupling.mode").is_err());
    assert!(config.set("coupling.mode=sideways").is_err());
}

#[test]
fn retunes_survive_a_round_trip_and_are_checked() {
    let mut config = Config::default();
    config
        .set("coupling.retune=[{at_s=2,impedance_nspm=30}]")
        .expect("one change");
    assert_eq!(Config::parse(&config.to_toml(), "test"), Ok(config.clone()));
    assert_eq!(config.validate(), Ok(()));
    config
        .set("coupling.retune=[{at_s=2,impedance_nspm=0}]")
        .expect("a number");
    let text = config.validate().expect_err("no impedance").to_string();
    assert!(
        text.contains("coupling.retune.impedance_nspm is 0"),
        "{text}"
    );
    let unknown = config.set("coupling.retune=[{at_s=2,b=30}]");
    assert!(unknown.is_err());
}

#[test]
fn issue_set_did_not_reach_optional_fields_or_other_kinds() {
    let mut config = Config::default();
    let error = config.set("link.forward.outage.on_s=5").expect_err("half");
    let text = error.to_string();
    for part in [
        "link.forward.outage` is not set",
        "off_s",
        "{on_s=5,off_s=0.5}",
    ] {
        assert!(text.contains(part), "{text}");
    }
    config
        .set("link.forward.outage={on_s=5,off_s=0.5}")
        .expect("whole");
    config.set("link.forward.outage.on_s=6").expect("now it is");
    let outage = config.link.forward.outage.expect("set");
    assert_eq!((outage.on_s, outage.off_s), (6.0, 0.5));
    for path in ["link.forward.outrage.on_s=5", "link.forwards.loss=0"] {
        let text = config.set(path).expect_err("unknown").to_string();
        assert!(
            text.contains("no field `") && text.contains("forward"),
            "{text}"
        );
    }
    config.set("operator.script.kind=sine").expect("a kind");
    config.set("operator.script.hz=0.3").expect("its field");
    let expected = palpate_master::device::script::SineParams {
        hz: 0.3,
        ..Default::default()
    };
    let script = palpate_master::device::script::ScriptParams::Sine(expected);
    assert_eq!(config.operator.script, script);
    let text = config.set("operator.script.kind=dance").expect_err("none");
    assert!(text.to_string().contains("palpation"), "{text}");
}

#[test]
fn a_bad_file_names_line_and_field() {
    let error = Config::parse("seed = 1\n[coupling]\nmodus = \"wave\"\n", "lab.toml");
    let text = error.expect_err("unknown field").to_string();
    assert!(text.contains("lab.toml") && text.contains("line 3") && text.contains("modus"));
}

#[test]
fn a_codec_that_would_look_like_an_outage_is_refused() {
    let mut config = Config::default();
    config.slave.guard.watchdog_s = 0.02;
    assert_eq!(config.validate(), Ok(()), "it is off");
    config.set("codec.kind=deadband").expect("a kind");
    let text = config.validate().expect_err("too silent").to_string();
    for part in [
        "codec.keep_alive_s is 0.024",
        "slave.guard.watchdog_s (0.02 s)",
    ] {
        assert!(text.contains(part), "{text}");
    }
    config.set("codec.keep_alive_s=0.01").expect("a number");
    assert_eq!(config.validate(), Ok(()));
    config.set("codec.weber=0.7").expect("a number");
    let text = config.validate().expect_err("no such fraction").to_string();
    assert!(
        text.contains("codec.weber is 0.7; expected 0 to 0.5"),
        "{text}"
    );
}

#[test]
fn issue_a_codec_judged_by_the_first_mode_after_a_switch() {
    let mut config = Config::default();
    config.coupling.mode = Mode::Wave;
    config
        .set("coupling.switch=[{at_s=1,mode=\"tank\"},{at_s=2,mode=\"auto\"}]")
        .expect("switches");
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(config.modes(), "wave, then tank, then mmt");
    config.set("codec.kind=deadband").expect("a kind");
    let text = config.validate().expect_err("one of them").to_string();
    for part in ["codec.kind is deadband", "coupling.switch"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_negative_delay_is_refused_by_name() {
    let mut config = Config::default();
    config.link.forward.oneway_ms = -1.0;
    let text = config.validate().expect_err("negative").to_string();
    assert!(
        text.contains("link.forward") && text.contains("-1"),
        "{text}"
    );
}
