//! What must hold for any markup this crate writes.

/// Panics unless every element is closed in order and every `&` is a reference.
pub(crate) fn assert_well_formed(markup: &str) {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = markup;
    while let Some(start) = rest.find('<') {
        assert_text(&rest[..start]);
        let end = rest[start..].find('>').expect("every tag ends") + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in order, before {rest:.80}");
            continue;
        }
        let name = tag.split([' ', '/']).next().expect("a tag has a name");
        if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        if name == "style" {
            let end = rest.find("</style>").expect("a style ends");
            rest = &rest[end..];
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

fn assert_text(text: &str) {
    for (at, _) in text.match_indices('&') {
        let reference = &text[at..text[at..].find(';').map_or(text.len(), |end| at + end + 1)];
        assert!(
            ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"].contains(&reference),
            "a bare ampersand: {reference}"
        );
    }
}

/// Panics if the markup names anything outside itself.
pub(crate) fn assert_self_contained(markup: &str) {
    let without_namespace = markup.replace("http://www.w3.org/2000/svg", "");
    for outside in [
        "http:", "https:", "//", "src=", "url(", "@import", "<script", "<link", "<iframe",
    ] {
        assert!(!without_namespace.contains(outside), "found {outside}");
    }
}

/// Panics unless every image says what it shows.
pub(crate) fn assert_described(markup: &str) {
    for svg in markup.split("<svg").skip(1) {
        assert!(svg.contains("role=\"img\""));
        let title = between(svg, "<title>", "</title>");
        let description = between(svg, "<desc>", "</desc>");
        assert!(!title.is_empty() && !description.is_empty());
    }
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).expect("it is there") + from.len();
    let end = text[start..].find(to).expect("it ends") + start;
    &text[start..end]
}
