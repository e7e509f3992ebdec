//! Tables as HTML: a caption, scoped headings, numbers to the right.

use crate::html::{Element, Html};

/// The heading of a column.
#[derive(Debug, Clone)]
pub struct Heading {
    text: String,
    number: bool,
}

impl Heading {
    /// A column of words.
    #[must_use]
    pub fn words(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            number: false,
        }
    }

    /// A column of numbers.
    #[must_use]
    pub fn numbers(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            number: true,
        }
    }
}

/// A table under construction. The first cell of each row is its heading.
#[derive(Debug, Clone)]
pub struct HtmlTable {
    caption: String,
    headings: Vec<Heading>,
    rows: Vec<Html>,
}

impl HtmlTable {
    /// A table without rows.
    #[must_use]
    pub fn new(caption: &str, headings: impl IntoIterator<Item = Heading>) -> Self {
        Self {
            caption: caption.to_owned(),
            headings: headings.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row of texts; names between backticks are set as code.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        let mut row = Element::new("tr");
        for (i, (cell, heading)) in cells.into_iter().zip(&self.headings).enumerate() {
            let mut element = if i == 0 {
                Element::new("th").attribute("scope", "row")
            } else {
                Element::new("td")
            };
            if heading.number {
                element = element.attribute("class", "n");
            }
            row = row.child(element.child(Html::prose(cell.as_ref())));
        }
        self.rows.push(row.into());
        self
    }
}

impl From<HtmlTable> for Html {
    fn from(table: HtmlTable) -> Self {
        let mut head = Element::new("tr");
        for heading in &table.headings {
            let mut element = Element::new("th").attribute("scope", "col");
            if heading.number {
                element = element.attribute("class", "n");
            }
            head = head.child(element.text(&heading.text));
        }
        let markup = Element::new("table")
            .child(Element::new("caption").text(&table.caption))
            .child(Element::new("thead").child(head))
            .child(Element::new("tbody").child(Self::join(table.rows)));
        // A wide table scrolls by itself, also by keyboard.
        Element::new("div")
            .attribute("class", "scroll")
            .attribute("role", "region")
            .attribute("aria-label", &table.caption)
            .attribute("tabindex", "0")
            .child(markup)
            .into()
    }
}
