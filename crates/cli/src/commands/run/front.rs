//! What the user sees while the command runs: its output with a line of status
//! below, or the whole screen.

use crate::args::Format;
use crate::failure::Failure;
use crate::output;
use crate::screen::{Screen, To};
use anyhow::Context;
use paceline_engine::{RunClock, Stdin, Tee};
#[cfg(feature = "tui")]
use paceline_model::Stream;
use paceline_report::text::Style;
use paceline_runner::{Interrupt, Observer};
#[cfg(feature = "tui")]
use paceline_tui::View;
use std::io::{IsTerminal, stderr, stdout};
use std::sync::Arc;

/// What is known of a run before it starts.
pub(super) struct Title {
    pub(super) name: String,
    pub(super) command: String,
    pub(super) cpus: u32,
}

/// One of the two, while the run lasts.
pub(super) enum Front {
    /// The command's output as it is.
    Plain(Screen, Box<dyn Observer>),
    /// The view of `--tui`.
    #[cfg(feature = "tui")]
    Full(View),
}

impl Front {
    /// The command's output, with a status unless `quiet`.
    pub(super) fn plain(quiet: bool, status: impl FnOnce(Screen) -> Box<dyn Observer>) -> Self {
        let screen = Screen::new(quiet);
        Self::Plain(screen.clone(), status(screen))
    }

    /// The whole screen.
    #[cfg(feature = "tui")]
    pub(super) fn full(
        title: Title,
        clock: RunClock,
        interrupt: Arc<Interrupt>,
    ) -> Result<Self, Failure> {
        let colour = output::stderr_page().style == Style::Ansi;
        let title = paceline_tui::Title {
            name: title.name,
            command: title.command,
            cpus: title.cpus,
        };
        View::open(title, clock, interrupt, colour)
            .map(Self::Full)
            .context("cannot take the terminal over")
            .map_err(Failure::world)
    }

    /// The whole screen, which [`check_terminal`] has refused already.
    #[cfg(not(feature = "tui"))]
    pub(super) fn full(_: Title, _: RunClock, _: Arc<Interrupt>) -> Result<Self, Failure> {
        Err(not_built())
    }

    /// Where the command reads from. Keys belong to the view.
    pub(super) fn stdin(&self) -> Stdin {
        match self {
            Self::Plain(..) => Stdin::Inherit,
            #[cfg(feature = "tui")]
            Self::Full(_) => Stdin::Null,
        }
    }

    /// Where the command's stdout and stderr go. Behind `--format json`, stdout
    /// is for the verdict alone.
    pub(super) fn tees(&self, format: Format) -> (Tee, Tee) {
        match self {
            Self::Plain(screen, _) => {
                let out = match format {
                    Format::Text => To::Out,
                    Format::Json => To::Err,
                };
                (Tee(screen.writer(out)), Tee(screen.writer(To::Err)))
            }
            #[cfg(feature = "tui")]
            Self::Full(view) => (Tee(view.writer(Stream::Out)), Tee(view.writer(Stream::Err))),
        }
    }

    pub(super) fn observer(&mut self) -> &mut dyn Observer {
        match self {
            Self::Plain(_, status) => status.as_mut(),
            #[cfg(feature = "tui")]
            Self::Full(view) => view,
        }
    }

    /// Gives the terminal back; says why the command's output could not be passed
    /// on, if it could not. A reader that has gone away (`| head`) is no failure.
    pub(super) fn close(self) -> Option<std::io::Error> {
        match self {
            Self::Plain(screen, _) => {
                screen.close();
                screen.failure()
            }
            #[cfg(feature = "tui")]
            Self::Full(view) => {
                drop(view);
                None
            }
        }
    }
}

/// Says why there is nothing to show a full screen on, before anything starts.
pub(super) fn check_terminal(format: Format) -> Result<(), Failure> {
    if cfg!(not(feature = "tui")) {
        return Err(not_built());
    }
    let missing = if !stderr().is_terminal() {
        "stderr"
    } else if format == Format::Text && !stdout().is_terminal() {
        "stdout"
    } else {
        return Ok(());
    };
    Err(Failure::user(anyhow::anyhow!(
        "--tui needs a terminal, and {missing} is none"
    ))
    .hint("leave --tui out; the command's output is then passed on as it is"))
}

fn not_built() -> Failure {
    Failure::user(anyhow::anyhow!("this build of Paceline has no --tui"))
        .hint("build it with the feature `tui`, which is on by default")
}
