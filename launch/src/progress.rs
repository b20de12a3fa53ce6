//! A progress bar or a status line on a terminal, and nothing anywhere else.
//!
//! Source: ours. Drawn on stderr, so that stdout stays what the command says.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Something that runs long, as the person at the terminal sees it.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar of `total` steps; hidden if `quiet`, or if stdout or stderr is no terminal.
    #[must_use]
    pub fn bar(label: &'static str, total: u64, quiet: bool) -> Self {
        let template = "{prefix} {wide_bar} {percent:>3} % {msg}";
        Self::new(
            ProgressBar::with_draw_target(Some(total), target(quiet)),
            template,
            label,
        )
    }

    /// A line of status without an end, for live sessions; hidden as [`Progress::bar`].
    #[must_use]
    pub fn line(label: &'static str, quiet: bool) -> Self {
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

    /// Show that `done` steps are done.
    pub fn at(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Show `text` beside the bar, or as the status line.
    pub fn say(&self, text: impl Into<String>) {
        self.bar.set_message(text.into());
        self.bar.tick();
    }

    /// Whether anybody sees it: a caller need not compute what is not shown.
    #[must_use]
    pub fn visible(&self) -> bool {
        !self.bar.is_hidden()
    }
}

impl Drop for Progress {
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
        let progress = Progress::bar("lab", 10, true);
        assert!(!progress.visible());
        progress.at(20);
        progress.say("more than all");
        Progress::line("run", true).say("steady");
    }
}
