//! Rules about places: zenoh, the clock, files, `async`, `unsafe`, hash order, the C library. Source:
//! ARCHITECTURE.md.

use super::crates::{MAY_USE, manifest, table};
use super::scan::{crate_sources, has_word, own_sources, places, sources};

/// Files that may contain `unsafe`, each use with a `// SAFETY:` comment (clippy checks those).
const UNSAFE: [&str; 9] = [
    "launch/session/src/netlab/namespace.rs",
    "launch/session/src/netlab/privilege.rs",
    "launch/session/src/netlab/orphans.rs",
    "launch/session/src/netlab/tun.rs",
    "launch/session/src/run/allocation.rs",
    "launch/session/src/run/realtime.rs",
    "sim-twin/voxel/src/tests/allocation.rs",
    "transport/bus/src/config.rs",
    "transport/bus/src/threads.rs",
];

#[test]
fn zenoh_is_named_in_the_bus_only() {
    let allowed = |path: &str| path.starts_with("transport/bus/");
    for needle in ["zenoh::", "use zenoh", "extern crate zenoh"] {
        assert_eq!(
            places(&sources(), needle, allowed),
            Vec::<String>::new(),
            "{needle}"
        );
    }
    for (folder, _) in MAY_USE
        .iter()
        .filter(|(folder, _)| *folder != "transport/bus")
    {
        let manifest = manifest(folder);
        assert!(
            !table(&manifest, "dependencies").contains_key("zenoh"),
            "{folder} knows zenoh"
        );
    }
}

#[test]
fn clock_time_is_read_in_the_clock_only() {
    let allowed = |path: &str| path == "transport/src/clock.rs";
    assert_eq!(
        places(&crate_sources(), "std::time", allowed),
        Vec::<String>::new()
    );
}

#[test]
fn files_are_touched_in_the_launcher_only() {
    let allowed = |path: &str| path.starts_with("launch/");
    for needle in ["std::fs", "std::net", "std::process", "std::env"] {
        let found = places(&crate_sources(), needle, |path| {
            allowed(path) || path.starts_with("transport/bus/")
        });
        assert_eq!(found, Vec::<String>::new(), "{needle}");
    }
}

#[test]
fn async_stays_at_the_network() {
    let allowed = |path: &str| {
        let at = [
            "transport/bus/",
            "launch/session/src/netlab/",
            "launch/console/src/",
        ];
        at.iter().any(|place| path.starts_with(place))
    };
    for needle in ["async", "await"] {
        assert_eq!(
            places(&crate_sources(), needle, allowed),
            Vec::<String>::new(),
            "{needle}"
        );
    }
}

#[test]
fn unsafe_stands_only_where_it_is_listed() {
    let sources = crate_sources();
    assert_eq!(
        places(&sources, "unsafe", |path| UNSAFE.contains(&path)),
        Vec::<String>::new()
    );
    for path in UNSAFE {
        let source = sources.iter().find(|source| source.path == path);
        let used = source.is_some_and(|source| has_word(&source.code, "unsafe"));
        assert!(used, "{path} is listed for `unsafe` and has none");
    }
}

#[test]
fn hash_maps_stay_out_of_virtual_time() {
    let pure = [
        "sim-twin/",
        "transport/port/src/",
        "master/src/",
        "slave/src/",
        "launch/session/src/lab.rs",
        "launch/session/src/pipeline.rs",
        "launch/session/src/pipeline/",
    ];
    let outside = |path: &str| {
        let coupling = path.starts_with("transport/src/coupling/");
        !(coupling || pure.iter().any(|start| path.starts_with(start)))
    };
    for needle in ["HashMap", "HashSet"] {
        assert_eq!(
            places(&crate_sources(), needle, outside),
            Vec::<String>::new(),
            "{needle}"
        );
    }
}

/// Functions of `f32` and `f64` that call the C library or may be built differently on another machine;
/// `libm` has all of them.
const TRANSCENDENTAL: [&str; 30] = [
    "sin",
    "cos",
    "tan",
    "sin_cos",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "exp2",
    "exp_m1",
    "ln",
    "ln_1p",
    "log",
    "log2",
    "log10",
    "powf",
    "hypot",
    "cbrt",
    "gamma",
    "ln_gamma",
    "powc",
    "to_polar",
    "from_polar",
];

/// Places with a permitted call, and the reason.
const TRANSCENDENTAL_ALLOWED: [(&str, &str); 1] = [(
    "slave/src/servo_margin.rs",
    "checks a configuration before its session; no tick calls it",
)];

#[test]
fn virtual_time_calls_no_function_of_the_c_library() {
    let pure = ["sim-twin/", "transport/", "master/", "slave/"];
    let mut found = Vec::new();
    for source in own_sources() {
        let path = source.path.as_str();
        let mut allowed = TRANSCENDENTAL_ALLOWED.iter();
        let beside = path.contains("/tests/") || !path.contains("/src/");
        let skipped = beside || allowed.any(|(known, _)| *known == path);
        if skipped || !pure.iter().any(|start| path.starts_with(start)) {
            continue;
        }
        let own = source.code.find("#[cfg(test)]\nmod tests {");
        let own = &source.code[..own.unwrap_or(source.code.len())];
        for (line, text) in own.lines().enumerate() {
            let calls = TRANSCENDENTAL.iter().filter(|name| calls(text, name));
            found.extend(calls.map(|name| format!("{path}:{}: {name}", line + 1)));
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

/// True if a line calls a method of this name, or refers to that of `f32` or `f64` by its path.
fn calls(text: &str, name: &str) -> bool {
    let paths = ["f32::", "f64::", "Float::", "RealField::", "ComplexField::"];
    text.contains(&format!(".{name}("))
        || paths
            .iter()
            .any(|path| has_word(text, &format!("{path}{name}")))
}

#[test]
fn calls_are_distinguished_from_names() {
    assert!(calls("let y = x.sin();", "sin") && calls("a.map(f64::exp)", "exp"));
    assert!(!calls("libm::sin(x)", "sin") && !calls("x.asinh()", "sinh"));
    assert!(!calls("self.logarithm()", "log") && !calls("f64::expected", "exp"));
}
