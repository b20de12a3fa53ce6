//! What a page is told of a rehearsal: scenes, tools, the task as it stands, and how attempts went on.
//!
//! Source: ours.

use palpate_scene::Lump;
use palpate_session::monitor::desk::{self as session, Sides};
use palpate_transport::Span;
use palpate_transport::clock::{Clock as _, MonotonicClock, wall_now};
use serde_json::{Value, json};

use super::{ATTEMPT_TICKS, Now, Phase, Room};
use crate::rehearsal::library::{self, OFFERS};

impl Room<'_> {
    /// What a page is told.
    pub(super) fn facts(&self, now: &Now) -> Value {
        let mut facts = session::facts(&now.config, Sides::OperatorOnly);
        facts["for"] = json!("rehearsal");
        facts["duration_s"] = json!(self.base.duration_s);
        let left = Span::from_ms(1e3 * self.base.duration_s) - (MonotonicClock.now() - self.began);
        facts["ends_unix_ms"] = json!((wall_now() + left).0 / 1_000_000);
        facts["rehearsal"] = json!({
            "scene": now.choice.name,
            "title": now.title,
            "part": self.parts.len() + 1,
            "scenes": scenes(&self.base.twin),
            "tool": now.tool.name,
            "tools": now.tools.iter().map(|tool| json!({"name": tool.name, "about": tool.about})).collect::<Vec<_>>(),
            "second": now.second.then(|| json!({"swaps": now.wielded.swaps, "tool": now.other.name})),
            "task": self.task(now),
            "progress": self.progress(),
            "problem": self.known.problem,
        });
        facts
    }

    /// The task as it stands; what is true only when it was answered.
    fn task(&self, now: &Now) -> Value {
        let Some((kind, posed)) = &now.choice.task else {
            return Value::Null;
        };
        let mut task = json!({
            "name": kind.name(),
            "words": kind.words(),
            "sites_m": posed.sites_m,
            "line_m": posed.line_m,
            "limit_ticks": ATTEMPT_TICKS,
            "shows_stiffness": kind.shows_stiffness(),
            "score": Value::Null,
        });
        if let Phase::Answered(score) = &now.phase {
            task["score"] = json!(score);
            let lump = |lump: &Lump| json!({"center_m": lump.center_m, "radius_m": lump.radius_m});
            task["lumps"] = posed.lumps.iter().map(lump).collect();
            task["true_npm"] = json!(posed.true_npm);
        }
        task
    }

    /// Scores of every task and scene, in the order of the attempts.
    fn progress(&self) -> Value {
        let attempts = &self.known.attempts;
        let row = |(task, scene): (String, String)| {
            let scores = attempts.scores(&task, &scene);
            json!({"name": format!("{task} on {scene}"), "scores": scores})
        };
        attempts.rows().into_iter().map(row).collect()
    }
}

/// The library as a page shows it; a scene of the user's own comes first.
fn scenes(own: &str) -> Value {
    let own = Some(own).filter(|own| library::offer_of(own).is_none());
    let own = own
        .map(|name| json!({"name": name, "about": "the scene of the command line", "tasks": []}));
    let offers = OFFERS.iter().map(|offer| {
        let tasks: Vec<_> = offer.tasks.iter().map(|kind| kind.name()).collect();
        json!({"name": offer.name, "about": offer.about, "tasks": tasks})
    });
    own.into_iter().chain(offers).collect()
}
