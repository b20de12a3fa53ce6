//! A progress bar or a status line on a terminal, and nothing anywhere else.
//!
//! Source: ours. Drawn on stderr, so that stdout stays what the command says.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
pub use palpate_analysis::progress::Progress;

/// Something that runs long, as the person at the terminal sees it.
#[derive(Debug)]
pub(crate) struct Terminal {
    bar: ProgressBar,
}

impl Terminal {
    /// A bar of `total` steps; hidden if `quiet`, or if stdout or stderr is no terminal.
    #[must_use]
    pub(crate) fn bar(label: &'static str, total: u64, quiet: bool) -> Self {
        let template = "{prefix} {wide_bar} {percent:>3} % {msg}";
        Self::new(
            ProgressBar::with_draw_target(Some(total), target(quiet)),
            template,
            label,
        )
    }

    /// A line of status without an end, for live sessions; hidden as [`Terminal::bar`].
    #[must_use]
    pub(crate) fn line(label: &'static str, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(quiet));
        Self::new(bar, "{prefix} {spinner} {wide_msg}", label)
    }

    fn new(bar: ProgressBar, template: &str, label: &'static str) -> Self {
        // a template is a constant, so a bad one would show in the first run; the default serves
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(label);
        Self { bar }
    }
}

impl Progress for Terminal {
    fn at(&self, done: u64) {
        self.bar.set_position(done);
    }

    fn say(&self, text: &str) {
        self.bar.set_message(text.to_owned());
        self.bar.tick();
    }

    fn is_visible(&self) -> bool {
        !self.bar.is_hidden()
    }
}

impl Drop for Terminal {
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
        let progress = Terminal::bar("lab", 10, true);
        assert!(!progress.is_visible());
        progress.at(20);
        progress.say("more than all");
        Terminal::line("run", true).say("steady");
    }
}
