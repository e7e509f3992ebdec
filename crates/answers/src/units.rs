//! The units of a study's responses.

use paceline_stats::analysis::Unit;
use paceline_study::{ResponseSource, Study};

/// The unit of every response that the study gives one, or that is one of
/// Paceline's own values under another name. Other names say their unit
/// themselves, or have none.
#[must_use]
pub fn of(study: &Study) -> Vec<(String, Unit)> {
    let units = study.responses().iter().filter_map(|response| {
        let unit = match (&response.unit, &response.source) {
            (Some(unit), _) => Unit::written(unit),
            (None, ResponseSource::Expression(expression)) => renamed(&expression.to_string())?,
            (None, _) => return None,
        };
        Some((response.name.clone(), unit))
    });
    units.collect()
}

/// The unit of an expression that is nothing but a name with a unit in it.
fn renamed(text: &str) -> Option<Unit> {
    let name = text.chars().all(|c| c.is_alphanumeric() || c == '_');
    // Whether a share is one depends on its values, which its own name is held
    // against.
    let unit = Unit::of_name(text, (f64::NEG_INFINITY, f64::INFINITY));
    (name && unit != Unit::Unknown).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_unit_keeps_it_under_another_name() {
        assert_eq!(renamed("duration_s"), Some(Unit::written("s")));
        assert_eq!(renamed("mem_peak_bytes"), Some(Unit::Bytes));
        assert_eq!(renamed("duration_s * 2"), None);
        assert_eq!(renamed("loss"), None);
    }
}
