//! Markup that is safe by its type.

use std::fmt;

/// Markup that was written by this crate. Text from anywhere else enters only
/// through [`Html::text`] or [`Element::text`], which escape it, so that a
/// column named `<script>` is shown as that and never run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Html(String);

impl Html {
    /// Text as it is read, escaped.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self(escape(text))
    }

    /// Sentences as they are read, escaped, with names between backticks set as
    /// code.
    #[must_use]
    pub fn prose(text: &str) -> Self {
        let parts: Vec<&str> = text.split('`').collect();
        if parts.len().is_multiple_of(2) {
            // An odd backtick belongs to a name and marks nothing.
            return Self::text(text);
        }
        Self::join(parts.iter().enumerate().map(|(i, part)| match i % 2 {
            0 => Self::text(part),
            _ => Element::new("code").text(part).into(),
        }))
    }

    /// Pieces one after the other.
    #[must_use]
    pub fn join(pieces: impl IntoIterator<Item = Self>) -> Self {
        Self(pieces.into_iter().map(|piece| piece.0).collect())
    }

    /// Markup from this crate's own code: nothing in it may come from a file or
    /// a user unescaped.
    pub(crate) fn trusted(markup: String) -> Self {
        Self(markup)
    }

    /// The markup.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An element with its attributes and content. Names are fixed in the program;
/// values and text are escaped.
#[derive(Debug, Clone)]
pub struct Element {
    name: &'static str,
    open: String,
    content: String,
}

impl Element {
    /// An empty element.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            open: format!("<{name}"),
            content: String::new(),
        }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, name: &'static str, value: &str) -> Self {
        self.open
            .push_str(&format!(" {name}=\"{}\"", escape(value)));
        self
    }

    /// Adds text to the content.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.content.push_str(&escape(text));
        self
    }

    /// Adds markup to the content.
    #[must_use]
    pub fn child(mut self, child: impl Into<Html>) -> Self {
        self.content.push_str(&child.into().0);
        self
    }
}

impl From<Element> for Html {
    fn from(element: Element) -> Self {
        let Element {
            name,
            open,
            content,
        } = element;
        Self(format!("{open}>{content}</{name}>"))
    }
}

/// `text` with the five characters that mean something in HTML and XML replaced,
/// and those that XML forbids shown as U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_backticks_are_code() {
        assert_eq!(
            Html::prose("`a<b` grows").as_str(),
            "<code>a&lt;b</code> grows"
        );
        assert_eq!(Html::prose("a ` b").as_str(), "a ` b");
    }

    #[test]
    fn text_from_outside_cannot_become_markup() {
        let element = Element::new("p")
            .attribute("title", "\" onclick=\"x")
            .text("<script>1 & 2</script>\u{0}");
        assert_eq!(
            Html::from(element).as_str(),
            "<p title=\"&quot; onclick=&quot;x\">&lt;script&gt;1 &amp; 2&lt;/script&gt;\u{fffd}</p>"
        );
    }
}
