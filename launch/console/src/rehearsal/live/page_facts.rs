//! Facts of a rehearsal for the page: scenes, tools, state of the task, and scores of attempts.
//!
//! Source: ours.

use palpate_analysis::rehearsal::task::scores_by_task;
use palpate_scene::Lump;
use palpate_session::monitor::controller::{self as session, SessionSides};
use palpate_transport::Span;
use palpate_transport::clock::{Clock as _, MonotonicClock, wall_now};
use serde_json::{Value, json};

use super::{ATTEMPT_TICKS, RunningRehearsal, RunningScene, TaskPhase};
use crate::rehearsal::library::{self, SCENES};

impl RunningRehearsal<'_> {
    /// Returns the facts for the page.
    pub(super) fn facts(&self, now: &RunningScene) -> Value {
        let mut facts = session::facts(&now.config, SessionSides::OperatorOnly);
        facts["for"] = json!("rehearsal");
        facts["duration_s"] = json!(self.base.duration_s);
        let left = Span::from_ms(1e3 * self.base.duration_s) - (MonotonicClock.now() - self.began);
        facts["ends_unix_ms"] = json!((wall_now() + left).0 / 1_000_000);
        facts["rehearsal"] = json!({
            "scene": now.choice.name,
            "title": now.title,
            "part": self.result.scenes.len() + 1,
            "scenes": scenes(&self.base.twin),
            "tool": now.tool.name,
            "tools": now.tools.iter().map(|tool| json!({"name": tool.name, "about": tool.about})).collect::<Vec<_>>(),
            "second": now.second.then(|| json!({"swaps": now.command.swaps, "tool": now.other.name})),
            "task": self.task(now),
            "progress": self.progress(),
            "problem": self.result.history.problem,
        });
        facts
    }

    /// Returns the state of the task; the truth only after the answer.
    fn task(&self, now: &RunningScene) -> Value {
        let Some((kind, placed)) = &now.choice.task else {
            return Value::Null;
        };
        let mut task = json!({
            "name": kind.name(),
            "words": kind.words(),
            "sites_m": placed.sites_m,
                        "line_m": placed.line_m,
            "limit_ticks": ATTEMPT_TICKS,
            "shows_stiffness": kind.shows_stiffness(),
            "score": Value::Null,
        });
        if let TaskPhase::Answered(score) = &now.phase {
            task["score"] = json!(score);
            let lump = |lump: &Lump| json!({"center_m": lump.center_m, "radius_m": lump.radius_m});
            task["lumps"] = placed.lumps.iter().map(lump).collect();
            task["true_npm"] = json!(placed.true_npm);
        }
        task
    }

    /// Returns the scores of every task and scene, in the order of the attempts.
    fn progress(&self) -> Value {
        let rows = scores_by_task(&self.result.history.attempts).into_iter();
        let row = |(name, scores): (String, Vec<f64>)| json!({"name": name, "scores": scores});
        rows.map(row).collect()
    }
}

/// Returns the library for the page; a scene of the user's own comes first.
fn scenes(own: &str) -> Value {
    let own = Some(own).filter(|own| library::scene_named(own).is_none());
    let own = own
        .map(|name| json!({"name": name, "about": "the scene of the command line", "tasks": []}));
    let offers = SCENES.iter().map(|offer| {
        let tasks: Vec<_> = offer.tasks.iter().map(|kind| kind.name()).collect();
        json!({"name": offer.name, "about": offer.about, "tasks": tasks})
    });
    own.into_iter().chain(offers).collect()
}
