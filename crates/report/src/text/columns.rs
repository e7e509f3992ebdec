//! How many terminal columns a text takes, and how to make it take fewer.

use unicode_width::UnicodeWidthStr as _;

/// The columns that `text` takes in a terminal. Wide characters take two,
/// combining ones none.
#[must_use]
pub fn columns(text: &str) -> usize {
    text.width()
}

/// `text` cut to at most `width` columns, with `…` at the end if anything is
/// missing.
///
/// ```
/// use paceline_report::text::truncate;
/// assert_eq!(truncate("learning_rate", 8), "learnin…");
/// assert_eq!(truncate("学習率", 5), "学習…");
/// ```
#[must_use]
pub fn truncate(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    let mut end = 0;
    for (start, c) in text.char_indices() {
        let next = start + c.len_utf8();
        if columns(&text[..next]) > width - 1 {
            break;
        }
        end = next;
    }
    format!("{}…", &text[..end])
}

/// `text` with every control character made visible, so that a name from a file
/// can neither move the cursor nor break a line.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' | '\n' | '\r' => ' ',
            // Directional overrides would show a line in another order than it is.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Breaks `text` at spaces into lines of at most `width` columns. A word longer
/// than a line is cut, since it would not fit anywhere.
///
/// ```
/// use paceline_report::text::wrap;
/// assert_eq!(wrap("one two three", 8), ["one two", "three"]);
/// ```
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    wrap_words(
        text.split_whitespace().map(|word| truncate(word, width)),
        width,
    )
}

/// As [`wrap`], but a word longer than a line, such as a path, stays whole on a line
/// of its own: the reader may want to copy it.
#[must_use]
pub fn wrap_whole(text: &str, width: usize) -> Vec<String> {
    wrap_words(text.split_whitespace().map(str::to_owned), width)
}

fn wrap_words(words: impl Iterator<Item = String>, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words {
        if !line.is_empty() && columns(&line) + 1 + columns(&word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// As [`wrap`], the first line after `lead` and the others indented as far, the
/// whole at most `width` columns wide. Each line ends with a newline.
#[must_use]
pub fn paragraph(lead: &str, text: &str, width: usize) -> String {
    let indent = columns(lead);
    let mut out = String::new();
    for (i, line) in wrap(text, width.saturating_sub(indent).max(1))
        .iter()
        .enumerate()
    {
        if i == 0 {
            out.push_str(lead);
        } else {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_is_never_wider_than_asked() {
        for text in ["", "a", "Größe", "学習率", "e\u{301}e\u{301}e\u{301}"] {
            for width in 0..8 {
                assert!(
                    columns(&truncate(text, width)) <= width,
                    "{text} at {width}"
                );
            }
        }
        assert_eq!(truncate("学習率", 2), "…");
    }

    #[test]
    fn escape_sequences_from_a_file_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[2Jb\nc"), "a\u{fffd}[2Jb c");
        assert_eq!(printable("a\u{202e}b"), "a\u{fffd}b");
    }

    #[test]
    fn a_paragraph_hangs_under_its_lead() {
        assert_eq!(
            paragraph("1. ", "alpha beta gamma", 10),
            "1. alpha\n   beta\n   gamma\n"
        );
        assert_eq!(paragraph("- ", "", 10), "");
    }
}
