//! `palpate model condense`: makes the table that a late tick asks, and keeps it in the cache.

use palpate_analysis::Failure;
use palpate_session::{lab, tables};
use palpate_transport::clock::{Clock as _, MonotonicClock, thread_cpu_now};

use super::super::Done;

/// Makes the table of a scene, unless a good one is there.
///
/// # Errors
/// [`Failure::Usage`] for a scene that has none, [`Failure::Refused`] if the cache cannot be written.
pub(super) fn condense(name: &str, anew: bool) -> Result<Done, Failure> {
    let scene = lab::load_scene(name, "SCENE")?;
    let no_home = || Failure::Refused("no cache: neither XDG_CACHE_HOME nor HOME is set".into());
    let folder = tables::folder().ok_or_else(no_home)?;
    let found = tables::find(&folder, &scene);
    if let (Some(table), Some(file), false) = (&found.table, tables::file(&folder, &scene), anew) {
        let stdout = format!("{} faces, already in {}\n", table.faces(), file.display());
        return Ok(done(stdout, None));
    }
    let (begun, cpu_begun) = (MonotonicClock.now(), thread_cpu_now());
    let table = scene
        .condense()
        .map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    let (took, cpu) = (MonotonicClock.now() - begun, thread_cpu_now() - cpu_begun);
    let file = tables::keep(&folder, &scene, &table).map_err(|error| {
        let folder = folder.display();
        Failure::Refused(format!("{folder}: {error}; is it writable?"))
    })?;
    let memory_mb = table.memory_bytes() as f64 * 1e-6;
    let stdout = format!(
        "{} faces, {memory_mb:.1} MB in memory, made in {:.1} s ({:.1} s of own CPU time)\n{}\n",
        table.faces(),
        took.s(),
        cpu.s(),
        file.display()
    );
    Ok(done(
        stdout,
        found.warning.map(|warning| format!("{warning}; made anew")),
    ))
}

fn done(stdout: String, warning: Option<String>) -> Done {
    Done {
        stdout,
        warning,
        held: true,
    }
}
