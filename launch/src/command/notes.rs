//! Notes before a command: deprecated keys in its scenes, scripts, configurations and trials.
//!
//! Source: ours.

use std::collections::BTreeSet;
use std::path::Path;

use palpate_session::config::keys;
use palpate_session::files;
use palpate_session::lab;
use palpate_study::trial::{file, run};
use toml::{Table, Value};

use crate::cli::{CliCommand, ConfigArgs, ModelAction, SessionArgs};

/// Notes for stderr, each with its source and key. A file that cannot be read has none, as the command refuses it.
#[must_use]
pub fn notes(command: &CliCommand) -> Vec<String> {
    let mut found = config_notes(command);
    for scene in scenes(command) {
        found.extend(with_source(&scene, lab::scene_notes(&scene)));
    }
    if let Some(script) = session(command).and_then(|flags| flags.method.script)
        && let Ok(text) = files::read_text(Path::new(&script))
    {
        found.extend(with_source(&script, postcondition_notes(&text)));
    }
    found
}

/// Notes with the source of their text.
pub(super) fn with_source(source: &str, notes: Vec<String>) -> impl Iterator<Item = String> {
    notes
        .into_iter()
        .map(move |note| format!("{source}: {note}"))
}

/// Flags of the session that a command runs. A side that a supervisor started reads the files of the supervisor, which
/// has printed their notes.
fn session(command: &CliCommand) -> Option<SessionArgs> {
    let flags = match command {
        CliCommand::Run(arguments) => &arguments.session,
        CliCommand::Lab(arguments) => &arguments.session,
        CliCommand::Tune(arguments) => &arguments.session,
        CliCommand::Master(arguments) | CliCommand::Slave(arguments) if !arguments.status_lines => {
            &arguments.session
        }
        CliCommand::Rehearse(arguments) => return Some(arguments.session()),
        _ => return None,
    };
    Some(flags.clone())
}

/// Notes on the configuration file and the assignments of a command, and on the file of a trial.
fn config_notes(command: &CliCommand) -> Vec<String> {
    match command {
        CliCommand::Replay(arguments) => {
            let ConfigArgs { config, set, .. } = &arguments.fields;
            let assigned = [("--what-if", &arguments.what_if), ("--set", set)];
            flag_notes(config.as_deref(), &assigned)
        }
        CliCommand::Identify(arguments) => {
            let ConfigArgs { config, set, .. } = &arguments.fields;
            flag_notes(config.as_deref(), &[("--set", set)])
        }
        CliCommand::Trial(arguments) => {
            let SessionArgs { config, set, .. } = &arguments.session;
            let mut found = flag_notes(config.as_deref(), &[("--set", set)]);
            if let Some(path) = &arguments.file
                && let Ok(text) = run::read_trial_text(path)
            {
                let source = path.display().to_string();
                found.extend(with_source(&source, file::key_notes(&text)));
            }
            found
        }
        CliCommand::Atlas(arguments) => {
            super::atlas::axes(arguments).map_or_else(|_| Vec::new(), |axes| axes.notes)
        }
        _ => session(command).map_or_else(Vec::new, |flags| {
            flag_notes(flags.config.as_deref(), &[("--set", &flags.set)])
        }),
    }
}

/// Notes on a configuration file, and on assignments by the flag that gives them.
fn flag_notes(config: Option<&Path>, assigned: &[(&str, &Vec<String>)]) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |source: &str, text: &str| {
        found.extend(with_source(source, keys::notes(text, &keys::WHOLE)));
        found.extend(with_source(source, postcondition_notes(text)));
    };
    if let Some(path) = config
        && let Ok(text) = files::read_text(path)
    {
        add(&path.display().to_string(), &text);
    }
    for (flag, texts) in assigned {
        for text in *texts {
            add(flag, text);
        }
    }
    found
}

/// Notes on the former name of a post-condition in a script or a configuration, TOML or JSON. The name is an alias in
/// [`palpate_session::config::postcondition`].
fn postcondition_notes(text: &str) -> Vec<String> {
    let table = toml::from_str::<Table>(text).ok();
    let Some(table) = table.or_else(|| serde_json::from_str(text).ok()) else {
        return Vec::new();
    };
    let after = table.get("after").and_then(Value::as_array);
    let is_former = |one: &&Value| one.get("kind").and_then(Value::as_str) == Some("ledger");
    let former = after.into_iter().flatten().find(is_former);
    let note = "the post-condition `ledger` is now `energy-balance`";
    former.map(|_| note.to_owned()).into_iter().collect()
}

/// Names of the scenes that a command reads.
fn scenes(command: &CliCommand) -> BTreeSet<String> {
    if let CliCommand::Model { action, .. } = command {
        return model(action).cloned().into_iter().collect();
    }
    let config = session(command).and_then(|flags| flags.config().ok());
    config.map_or_else(BTreeSet::new, |config| {
        let both = [config.twin, config.tissue].into_iter();
        both.chain(config.morph_to).collect()
    })
}

/// Model that a command reads, which may be a scene.
fn model(action: &ModelAction) -> Option<&String> {
    match action {
        ModelAction::Inspect(arguments) | ModelAction::Validate(arguments) => {
            Some(&arguments.model)
        }
        ModelAction::Condense { scene, .. } => Some(scene),
        ModelAction::Detect(arguments) => Some(&arguments.scene),
        ModelAction::Press(arguments) => Some(&arguments.scene),
        _ => None,
    }
}
