//! `palpate model condense`: computes the compliance table for late ticks, and stores it in the cache.

use palpate_analysis::Failure;
use palpate_session::{lab, table_cache};
use palpate_transport::clock::{Clock as _, MonotonicClock, thread_cpu_now};

use crate::command::{CommandOutcome, bad_input};

/// Computes the table of a scene, unless a valid one is in the cache.
///
/// # Errors
/// [`Failure::Usage`] for a scene without a table, [`Failure::Refused`] if the cache cannot be written.
pub(super) fn condense(name: &str, anew: bool) -> Result<CommandOutcome, Failure> {
    let scene = lab::load_scene(name, "SCENE")?;
    let no_home = || Failure::Refused("no cache: neither XDG_CACHE_HOME nor HOME is set".into());
    let folder = table_cache::folder().ok_or_else(no_home)?;
    let found = table_cache::find(&folder, &scene);
    if let (Ok(Some(table)), Some(file), false) = (&found, table_cache::file(&folder, &scene), anew)
    {
        let stdout = format!("{} faces, already in {}\n", table.faces(), file.display());
        return Ok(CommandOutcome::unchecked(stdout));
    }
    let (begun, cpu_begun) = (MonotonicClock.now(), thread_cpu_now());
    let table = scene.condense().map_err(bad_input(name))?;
    let (took, cpu) = (MonotonicClock.now() - begun, thread_cpu_now() - cpu_begun);
    let file = table_cache::store(&folder, &scene, &table).map_err(|error| {
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
    Ok(CommandOutcome {
        warning: found.err().map(|warning| format!("{warning}; made anew")),
        ..CommandOutcome::unchecked(stdout)
    })
}
