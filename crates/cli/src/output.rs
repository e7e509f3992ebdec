//! Results on stdout: nothing else is printed there.

use crate::failure::Failure;
use anyhow::Context;
pub(crate) use paceline_report::text::Page;
use paceline_report::text::Style;
use std::io::{IsTerminal, Write};

/// The narrowest and widest page that tables are laid out for.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=100;

/// The terminal behind stdout; without one, a page of full width.
pub(crate) fn stdout_page() -> Page {
    page(std::io::stdout().is_terminal())
}

/// The terminal behind stderr; without one, a page of full width.
pub(crate) fn stderr_page() -> Page {
    page(std::io::stderr().is_terminal())
}

fn page(terminal: bool) -> Page {
    #[expect(clippy::disallowed_methods, reason = "the cli reads the environment")]
    let said = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let forced = said("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let colourless = said("NO_COLOR").is_some();
    let size = terminal_size::terminal_size();
    let columns = size.map_or(*WIDTHS.end(), |(width, _)| usize::from(width.0));
    Page {
        width: match terminal {
            true => columns.clamp(*WIDTHS.start(), *WIDTHS.end()),
            false => *WIDTHS.end(),
        },
        style: if (terminal || forced) && !colourless {
            Style::Ansi
        } else {
            Style::Plain
        },
    }
}

/// Writes a result. A reader that has gone away (`| head`) is no failure.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error)
            .context("cannot write to stdout")
            .map_err(Failure::world),
        _ => Ok(()),
    }
}

/// Says something to the user that is not a result.
pub(crate) fn tell(text: &str) {
    // With stderr closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{}", stderr_page().style.line(text));
}

/// The version of every JSON document that is printed: it grows when a key is removed or
/// means something else, and not when one is added.
pub(crate) const JSON_VERSION: u32 = 1;

/// JSON as it is printed: indented, one document that begins with its version, a newline
/// at its end.
pub(crate) fn json(value: &serde_json::Value) -> String {
    versioned(&format!("{value:#}\n"))
}

/// The text of an object, or its beginning, with the version as its first key.
pub(crate) fn versioned(object: &str) -> String {
    let version = format!("{{\n  \"version\": {JSON_VERSION}");
    match object.strip_prefix('{') {
        Some("}\n") => format!("{version}\n}}\n"),
        // An answer that has a version of its own begins with it.
        Some(rest) if rest.starts_with("\n  \"version\":") => object.to_owned(),
        Some(rest) => format!("{version},{rest}"),
        None => object.to_owned(),
    }
}
