//! What long work says while it goes on, to whoever looks. Source: ours.

/// Somebody who looks at long work.
pub trait Progress {
    /// Shows that `done` steps are done.
    fn at(&self, done: u64);

    /// Shows `text` beside the steps, or as the status.
    fn say(&self, text: &str);

    /// Whether anybody sees it: a caller need not compute what is not shown.
    fn is_visible(&self) -> bool;
}

/// Nobody looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unseen;

impl Progress for Unseen {
    fn at(&self, _done: u64) {}

    fn say(&self, _text: &str) {}

    fn is_visible(&self) -> bool {
        false
    }
}
