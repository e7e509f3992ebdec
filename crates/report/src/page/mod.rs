//! The one-file HTML page: no script, no font, no image from anywhere else.
//! A page that has a program of its own carries it inside, and its policy lets
//! no other run.
//!
//! The document forbids all network access by its content security policy, so
//! that a report that is passed around cannot call home. It follows the
//! reader's light or dark preference, prints on white, and can be read with a
//! keyboard and a screen reader.

mod script;
mod table;

pub use script::Script;
pub use table::{Heading, HtmlTable};

use crate::chart::{self, Chart};
use crate::html::{Element, Html, escape};

const CSS: &str = include_str!("page.css");
const PRINT: &str = include_str!("print.css");
const DARK: &str = "--line:#303945;--soft:#191f27;--link:#7db8f5";

/// Nothing may be loaded, sent or embedded; styles are those in the document.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A document under construction: a title, a lead, sections and a foot.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    lead: String,
    sections: Vec<Section>,
    foot: String,
    style: &'static str,
    script: Option<Script>,
}

/// A section with its heading, which also names its anchor.
#[derive(Debug, Clone)]
pub struct Section {
    anchor: &'static str,
    heading: String,
    content: Html,
}

impl Page {
    /// A page without sections.
    #[must_use]
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            lead: String::new(),
            sections: Vec::new(),
            foot: String::new(),
            style: "",
            script: None,
        }
    }

    /// A line under the title: of what the page speaks.
    #[must_use]
    pub fn lead(mut self, text: &str) -> Self {
        self.lead = text.to_owned();
        self
    }

    /// Adds a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// A line at the end: who made the page from what.
    #[must_use]
    pub fn foot(mut self, text: &str) -> Self {
        self.foot = text.to_owned();
        self
    }

    /// Adds a style of this crate.
    #[must_use]
    pub(crate) fn style(mut self, css: &'static str) -> Self {
        self.style = css;
        self
    }

    /// Adds a program, which runs when the document has been read.
    #[must_use]
    pub fn script(mut self, script: Script) -> Self {
        self.script = Some(script);
        self
    }

    /// The whole document.
    #[must_use]
    pub fn render(&self) -> String {
        let title = escape(&self.title);
        let dark = chart::DARK;
        let chart_css = chart::CSS;
        let mut header = Element::new("header").child(Element::new("h1").text(&self.title));
        if !self.lead.is_empty() {
            let lead = Element::new("p")
                .attribute("class", "lead")
                .text(&self.lead);
            header = header.child(lead);
        }
        if self.sections.len() > 2 {
            header = header.child(self.contents());
        }
        let mut main = Element::new("main").attribute("id", "main");
        for section in &self.sections {
            let heading = Element::new("h2")
                .attribute("id", section.anchor)
                .text(&section.heading);
            main = main.child(
                Element::new("section")
                    .attribute("aria-labelledby", section.anchor)
                    .child(heading)
                    .child(section.content.clone()),
            );
        }
        let skip = Element::new("a")
            .attribute("class", "skip")
            .attribute("href", "#main")
            .text("Skip to the content");
        let body = Html::join([
            skip.into(),
            header.into(),
            main.into(),
            Element::new("footer").text(&self.foot).into(),
        ]);
        let style = self.style;
        let (mut policy, mut script) = (POLICY.to_owned(), String::new());
        if let Some(program) = &self.script {
            policy.push_str(&format!("; script-src {}", program.source()));
            script = program.markup();
        }
        // The dark colours are for screens only: paper is white.
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"referrer\" content=\"no-referrer\">\
             <title>{title}</title>\n<style>\n{CSS}{chart_css}{style}\
             @media screen and (prefers-color-scheme:dark){{:root{{{DARK};{dark}}}}}\n\
             {PRINT}</style></head>\n<body>{body}{script}</body></html>\n"
        )
    }

    fn contents(&self) -> Html {
        let mut list = Element::new("ul");
        for section in &self.sections {
            let link = Element::new("a")
                .attribute("href", &format!("#{}", section.anchor))
                .text(&section.heading);
            list = list.child(Element::new("li").child(link));
        }
        Element::new("nav")
            .attribute("aria-label", "Contents")
            .child(list)
            .into()
    }
}

impl Section {
    /// An empty section; `anchor` is its address within the page and must be
    /// unique in it.
    #[must_use]
    pub fn new(anchor: &'static str, heading: &str) -> Self {
        Self {
            anchor,
            heading: heading.to_owned(),
            content: Html::default(),
        }
    }

    /// The heading and the content, for another page's structure.
    pub(crate) fn into_parts(self) -> (String, Html) {
        (self.heading, self.content)
    }

    /// Adds markup.
    #[must_use]
    pub fn push(mut self, content: impl Into<Html>) -> Self {
        self.content = Html::join([self.content, content.into()]);
        self
    }

    /// Adds a heading below the section's.
    #[must_use]
    pub fn subheading(self, text: &str) -> Self {
        self.push(Element::new("h3").text(text))
    }

    /// Adds a paragraph; names between backticks are set as code.
    #[must_use]
    pub fn paragraph(self, text: &str) -> Self {
        self.push(Element::new("p").child(Html::prose(text)))
    }

    /// Adds a chart with a caption.
    #[must_use]
    pub fn figure(self, chart: &Chart, caption: &str) -> Self {
        self.push(figure(chart, caption))
    }

    /// Adds charts that stand side by side where there is room.
    #[must_use]
    pub fn figures<'a>(self, figures: impl IntoIterator<Item = (&'a Chart, &'a str)>) -> Self {
        let mut grid = Element::new("div").attribute("class", "pair");
        for (chart, caption) in figures {
            grid = grid.child(figure(chart, caption));
        }
        self.push(grid)
    }

    /// Adds a list of sentences, numbered if the order says something.
    #[must_use]
    pub fn list<T: AsRef<str>>(self, ordered: bool, items: impl IntoIterator<Item = T>) -> Self {
        let mut list = Element::new(if ordered { "ol" } else { "ul" });
        for item in items {
            list = list.child(Element::new("li").child(Html::prose(item.as_ref())));
        }
        self.push(list)
    }
}

fn figure(chart: &Chart, caption: &str) -> Html {
    let mut figure = Element::new("figure").child(chart.inline());
    if !caption.is_empty() {
        figure = figure.child(Element::new("figcaption").text(caption));
    }
    figure.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_its_sections_and_forbids_the_network() {
        let page = Page::new("A & B")
            .lead("three runs")
            .section(Section::new("one", "One").paragraph("<b>text</b>"))
            .section(Section::new("two", "Two").list(true, ["x"]))
            .section(Section::new("three", "Three"))
            .foot("Paceline");
        let html = page.render();
        assert!(html.contains("<title>A &amp; B</title>"));
        assert!(html.contains("default-src 'none'"));
        assert!(html.contains("<a href=\"#two\">Two</a>"));
        assert!(html.contains("&lt;b&gt;text&lt;/b&gt;"));
        assert!(html.contains("<h2 id=\"one\">One</h2>"));
        assert!(!html.contains("<script"));
    }
}
