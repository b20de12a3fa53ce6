//! Progress bar or status line on a terminal; hidden elsewhere.
//!
//! Source: ours. Drawn on stderr, so that stdout holds only the command's results.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
pub use palpate_analysis::progress::Progress;

/// Progress of a long command on the terminal.
#[derive(Debug)]
pub(crate) struct TerminalProgress {
    bar: ProgressBar,
}

impl TerminalProgress {
    /// Returns a bar of `total` steps; hidden if `quiet`, or if stdout or stderr is no terminal.
    #[must_use]
    pub(crate) fn bar(label: &'static str, total: u64, quiet: bool) -> Self {
        let template = "{prefix} {wide_bar} {percent:>3} % {msg}";
        Self::new(Some(total), template, label, quiet)
    }

    /// Returns a status line without an end, for live sessions; hidden as [`TerminalProgress::bar`].
    #[must_use]
    pub(crate) fn status_line(label: &'static str, quiet: bool) -> Self {
        Self::new(None, "{prefix} {spinner} {wide_msg}", label, quiet)
    }

    fn new(total: Option<u64>, template: &str, label: &'static str, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(total, target(quiet));
        // templates are constants, so a bad one would show in the first run; the default suffices
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(label);
        Self { bar }
    }
}

impl Progress for TerminalProgress {
    fn set_done(&self, done: u64) {
        self.bar.set_position(done);
    }

    fn set_status(&self, text: &str) {
        self.bar.set_message(text.to_owned());
        self.bar.tick();
    }

    fn is_visible(&self) -> bool {
        !self.bar.is_hidden()
    }
}

impl Drop for TerminalProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn target(quiet: bool) -> ProgressDrawTarget {
    if quiet || !std::io::stdout().is_terminal() || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr_with_hz(10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_is_hidden_and_harmless() {
        let progress = TerminalProgress::bar("lab", 10, true);
        assert!(!progress.is_visible());
        progress.set_done(20);
        progress.set_status("more than all");
        TerminalProgress::status_line("run", true).set_status("steady");
    }
}
