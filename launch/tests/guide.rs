//! Commands of `README.md` and `docs/guide/`: each is parsed, and each that can run offline in seconds runs.
//!
//! Source: ours. The commands of one document run in their order in one folder, so that a command may use the files of
//! an earlier one. [`PARSED_ONLY`] lists the commands that do not run, with the reason; [`REPLACED`] shortens others.
//! [`SERVED`] commands are interrupted once they have printed the address of their page.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use clap::Parser as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate::cli::Cli;

/// Parts of commands that are parsed and not run, with the reason.
const PARSED_ONLY: [(&str, &str); 10] = [
    ("--operator evdev", "needs an input device"),
    ("--device", "needs an input device"),
    ("palpate master", "needs a slave; secured.rs runs both"),
    ("palpate slave", "needs a master; secured.rs runs both"),
    ("--connect", "needs a slave on another host"),
    ("palpate bench", "measures this machine for minutes"),
    ("palpate model detect", "takes minutes"),
    ("trial faults-live", "live rows; faults_live.rs runs some"),
    ("palpate model condense", "takes ten seconds"),
    (
        "--against truth",
        "takes a minute; press.rs runs a coarse one",
    ),
];

/// Whole commands that are parsed and not run, with the reason.
const PARSED_ONLY_WHOLE: [(&str, &str); 2] = [
    ("palpate tune", "measures the bus of this machine"),
    ("palpate rehearse", "serves a page at a terminal"),
];

/// Parts of commands that serve a page until they are stopped.
const SERVED: [&str; 4] = [
    "--console",
    "--person",
    "--operator pointer",
    "palpate run --foxglove",
];

/// Parts of commands and their replacements before they run: sessions of `run` in virtual time, shorter sessions, fewer
/// rows, and a smaller script.
const REPLACED: [(&str, &str); 13] = [
    ("palpate run", "palpate lab"),
    (" --duration 20", ""),
    ("palpate lab", "palpate lab --duration 0.3 -q"),
    // frames of a long link must arrive
    ("0.3 -q --profile geo", "1 -q --profile geo"),
    ("0.3 -q --rtt-ms 300", "1 -q --rtt-ms 300"),
    // a script has its own length
    ("--duration 0.3 -q --script", "-q --script"),
    // an identification needs a touch
    (
        "0.3 -q --rtt-ms 200 --out runs/felt",
        "1 -q --rtt-ms 200 --out runs/felt",
    ),
    (
        "palpate rehearse --no",
        "palpate rehearse --duration 0.3 --no",
    ),
    (
        "trial delay-and-mode",
        "trial delay-and-mode --duration 1 -q",
    ),
    (" --out runs/trial", " --shard 1/12 --out runs/trial"),
    (" --out runs/faults", " --shard 1/200 --out runs/faults"),
    (
        " --out runs/atlas",
        " --set charts=displayed --set oneway_ms=20 --set wall_npm=500 --out runs/atlas",
    ),
    ("--script biopsy", "--script mine.toml"),
];

/// Commands of other programs in the documents, by their beginning.
const OTHERS: [&str; 2] = ["cargo ", "sudo apt-get "];

/// Files of the user that documents name.
const FILES: [(&str, &str); 3] = [
    (
        "mine.toml",
        "scene = \"small.toml\"\ntool_radius_m = 0.003\n[[step]]\nname = \"feel\"\nkind = \"press\"\nsite_m = [0.006, 0.0]\n\
         depth_m = 0.002\n[[after]]\nkind = \"pieces\"\ncount = 1\n",
    ),
    (
        "small.toml",
        "name = \"small\"\n[linked]\nsize_m = [0.03, 0.024, 0.012]\nspacing_m = 0.002\n[[layer]]\nname = \"fat\"\n\
         young_pa = 5000.0\n[tool]\nradius_m = 0.003\nstiffness_npm = 2000.0\n",
    ),
    ("network.csv", "at_s,oneway_ms,loss\n0,20,0\n0.5,80,0.1\n"),
];

fn root() -> PathBuf {
    let launch = Path::new(env!("CARGO_MANIFEST_DIR"));
    launch.parent().expect("a workspace").to_owned()
}

/// `README.md` and the guide.
fn documents() -> Vec<PathBuf> {
    let guide = fs::read_dir(root().join("docs/guide")).expect("the guide");
    let mut found: Vec<PathBuf> = guide.flatten().map(|entry| entry.path()).collect();
    found.push(root().join("README.md"));
    found.sort();
    found
}

/// Lines of the `sh` blocks of a text, without comments and doubled spaces.
fn shell_lines(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in text.split("```sh\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for line in block.replace("\\\n", " ").lines() {
            let line = line.split(" #").next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            if !words.is_empty() {
                found.push(words.join(" "));
            }
        }
    }
    found
}

/// Commands of this program in a text.
fn commands(text: &str) -> Vec<String> {
    let lines = shell_lines(text).into_iter().filter_map(|line| {
        let other = OTHERS.iter().any(|other| line.starts_with(other));
        (!other).then(|| line.replace("target/release/palpate", "palpate"))
    });
    lines.collect()
}

fn is_parsed_only(command: &str) -> bool {
    let part = PARSED_ONLY.iter().any(|(part, _)| command.contains(part));
    let whole = PARSED_ONLY_WHOLE.iter().any(|(whole, _)| command == *whole);
    part || whole
}

fn replaced(command: &str, replacements: &[(&str, &str)]) -> String {
    let mut text = command.to_owned();
    for (from, to) in replacements {
        text = text.replace(from, to);
    }
    text
}

/// Makes the certificate that the documents trust.
fn certificate_of_another_host(folder: &Path) {
    let made = Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(["keys", "new", "other", "--name", "other"])
        .current_dir(folder)
        .output()
        .expect("the binary starts");
    assert!(made.status.success(), "{made:?}");
    let copied = fs::copy(folder.join("other/host.pem"), folder.join("operator.pem"));
    copied.expect("a certificate");
}

/// The program in a folder, with the words of a command.
fn program(command: &str, folder: &Path) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_palpate"));
    program
        .args(command.split(' ').skip(1))
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder)
        .env("XDG_DATA_HOME", folder)
        .stdin(Stdio::null());
    program
}

/// Makes the recordings that a command reads, if they do not exist; the one to be recovered lacks its end.
fn make_recordings(command: &str, folder: &Path) {
    if !["palpate replay", "palpate recover"]
        .iter()
        .any(|begin| command.starts_with(begin))
    {
        return;
    }
    for name in command.split(' ').filter(|word| word.starts_with("runs")) {
        let out = folder.join(name);
        if out.exists() {
            continue;
        }
        let out = if name == "runs" { "runs/first" } else { name };
        let lab = format!("palpate lab -q --duration 1 --tissue sheet --twin sheet --out {out}");
        let made = program(&lab, folder).output().expect("the binary starts");
        assert!(made.status.success(), "{made:?}");
        if command.starts_with("palpate recover") {
            let bytes = fs::read(folder.join(out).join("recording.mcap")).expect("a recording");
            fs::remove_dir_all(folder.join(out)).expect("removable");
            fs::create_dir(folder.join(out)).expect("writable");
            let part = folder.join(out).join("recording.mcap.part");
            fs::write(part, &bytes[..bytes.len() * 2 / 3]).expect("writable");
        }
    }
}

/// Runs a command that serves a page, and interrupts it once it has printed the address of the page.
fn interrupted(mut program: Command) -> Output {
    program.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut served = program.spawn().expect("the binary starts");
    let mut stderr = BufReader::new(served.stderr.take().expect("piped"));
    let mut text = String::new();
    while !text.contains("http://127.0.0.1:") && stderr.read_line(&mut text).expect("text") > 0 {}
    kill(Pid::from_raw(served.id().cast_signed()), Signal::SIGINT).expect("not waited for yet");
    stderr.read_to_string(&mut text).expect("text");
    Output {
        status: served.wait().expect("it ends"),
        stdout: Vec::new(),
        stderr: text.into_bytes(),
    }
}

/// Commands that failed, of those of one document that run.
fn failures(document: &Path, folder: &Path) -> Vec<String> {
    for (name, text) in FILES {
        fs::write(folder.join(name), text).expect("writable");
    }
    let mesh = root().join("sim-twin/scene/scenes/mound.msh");
    fs::copy(mesh, folder.join("liver.msh")).expect("copied");
    certificate_of_another_host(folder);
    let text = fs::read_to_string(document).expect("a document");
    let mut found = Vec::new();
    for command in commands(&text) {
        if is_parsed_only(&command) {
            continue;
        }
        make_recordings(&command, folder);
        let is_served = SERVED.iter().any(|part| command.contains(part));
        let output = if is_served {
            interrupted(program(&command, folder))
        } else {
            let mut program = program(&replaced(&command, &REPLACED), folder);
            program.output().expect("the binary starts")
        };
        // the checks of a live session depend on the load of this machine; live.rs judges them
        let is_judged_elsewhere = is_served && output.status.code() == Some(1);
        if !output.status.success() && !is_judged_elsewhere {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            let stdout = String::from_utf8_lossy(&output.stdout);
            let failed = stdout.lines().filter(|line| line.starts_with("FAIL"));
            let failed = failed.collect::<Vec<_>>().join("\n");
            let document = document.display();
            found.push(format!(
                "{document}: {command}: {}: {stderr}{failed}",
                output.status
            ));
        }
    }
    found
}

#[test]
fn every_command_of_the_documents_is_accepted() {
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        for command in commands(&text) {
            let parsed = Cli::try_parse_from(command.split(' '));
            let error = parsed.err().map(|error| error.to_string());
            assert_eq!(error, None, "{}: {command}", document.display());
            count += 1;
        }
    }
    assert!(count > 60, "only {count} commands found");
}

#[test]
fn offline_commands_of_the_documents_succeed() {
    let failed: Vec<String> = std::thread::scope(|scope| {
        let started: Vec<_> = documents()
            .into_iter()
            .map(|document| {
                scope.spawn(move || {
                    let folder = tempfile::tempdir().expect("a folder");
                    failures(&document, folder.path())
                })
            })
            .collect();
        let joined = started.into_iter().map(|thread| thread.join());
        joined.flat_map(|found| found.expect("no panic")).collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_exception_is_needed() {
    let text: String = documents()
        .iter()
        .map(|document| fs::read_to_string(document).expect("a document"))
        .collect();
    let commands = commands(&text);
    for (part, reason) in PARSED_ONLY.iter().chain(&PARSED_ONLY_WHOLE) {
        let needed = commands.iter().any(|command| command.contains(part));
        assert!(needed, "no command needs `{part}`: {reason}");
    }
    for (at, (part, _)) in REPLACED.iter().enumerate() {
        let before = |command: &String| replaced(command, &REPLACED[..at]).contains(part);
        let needed = commands.iter().any(before);
        assert!(needed, "no command needs the replacement of `{part}`");
    }
    for part in SERVED {
        let needed = commands.iter().any(|command| command.contains(part));
        assert!(needed, "no command needs `{part}`");
    }
}
