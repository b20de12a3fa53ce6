//! Progress of long work, for an optional display. Source: ours.

/// Display of the progress of long work.
pub trait Progress {
    /// Shows that `done` steps are done.
    fn set_done(&self, _done: u64) {}

    /// Shows `text` beside the steps, or as the status.
    fn set_status(&self, _text: &str) {}

    /// Returns true if the output is visible; a caller need not compute hidden output.
    fn is_visible(&self) -> bool {
        false
    }
}

/// Display that shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {}
