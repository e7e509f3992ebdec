//! `docs/benchmarks.md`: one section for each benchmark, replaced by its next run.

use anyhow::{Context, Result};
use std::fs;

const PAGE: &str = "docs/benchmarks.md";

const OPENING: &str = "\
# Benchmarks

Measured by `cargo xtask bench train`, `distributed`, `promises` and `tune`, which write this page.
Each section names its machine and day. Both sides of a comparison run on the same machine in the
same run and take turns; a figure is the best turn, and within a turn the median over blocks of a
tenth of a second. Ratios above 1 say that Paceline is faster. Searches are compared by what they
find, not by their speed.
";

/// Puts a section in its place on the page.
pub(crate) fn write(name: &str, section: &str) -> Result<()> {
    let page = fs::read_to_string(PAGE).unwrap_or_else(|_| OPENING.to_owned());
    fs::write(PAGE, replaced(&page, name, section))
        .with_context(|| format!("cannot write {PAGE}"))?;
    println!("\nwritten to {PAGE}");
    Ok(())
}

fn replaced(page: &str, name: &str, section: &str) -> String {
    let (begin, end) = (
        format!("<!-- {name} -->"),
        format!("<!-- end of {name} -->"),
    );
    let whole = format!("{begin}\n\n{}\n\n{end}\n", section.trim());
    let (Some(from), Some(to)) = (page.find(&begin), page.find(&end)) else {
        return format!("{}\n\n{whole}", page.trim_end());
    };
    let after = page[to + end.len()..].trim_start_matches('\n');
    let gap = if after.is_empty() { "" } else { "\n" };
    format!("{}{whole}{gap}{after}", &page[..from])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_added_once_and_then_replaced_in_its_place() {
        let first = replaced("# Page\n", "train", "one");
        let both = replaced(&first, "distributed", "two");
        let again = replaced(&both, "train", "three");
        assert_eq!(
            again,
            "# Page\n\n<!-- train -->\n\nthree\n\n<!-- end of train -->\n\n\
             <!-- distributed -->\n\ntwo\n\n<!-- end of distributed -->\n"
        );
        assert_eq!(replaced(&again, "train", "three"), again);
    }
}
