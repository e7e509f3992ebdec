//! Service times estimated from runs.

use crate::commands::study::place;
use crate::failure::Failure;
use anyhow::anyhow;
use paceline_advise::queue::{Service, ServiceError};
use paceline_answers::results::Results;
use paceline_model::Level;
use paceline_stats::table::{Column, ColumnData, Table};
use std::path::Path;

/// A service with where it comes from.
pub(super) struct Estimate {
    pub(super) service: Service,
    pub(super) runs: usize,
    pub(super) source: String,
}

/// Mean and spread of a column of durations, over the rows that have the given
/// levels.
pub(super) fn estimate(
    path: &Path,
    column: &str,
    given: &[(String, String)],
) -> Result<Estimate, Failure> {
    let results = Results::open(&place::results(path)?)?;
    let table = results.table();
    let durations = find(table, "--service-column", column)?;
    let durations = durations.as_numeric().ok_or_else(|| {
        Failure::user(anyhow!(
            "--service-column: `{column}` does not hold numbers"
        ))
        .hint("name a column of times in seconds, such as duration_s")
    })?;
    let mut kept = vec![true; table.rows()];
    for (name, level) in given {
        let matches = rows_with(find(table, "--given", name)?, level);
        if !matches.contains(&true) {
            return Err(
                Failure::user(anyhow!("--given: no row has {name} = {level}"))
                    .hint(format!("`{name}` has {}", levels(table, name))),
            );
        }
        kept.iter_mut()
            .zip(matches)
            .for_each(|(kept, m)| *kept &= m);
    }
    let rows: Vec<usize> = (0..kept.len())
        .filter(|&row| kept[row] && !durations[row].is_nan())
        .collect();
    let values: Vec<f64> = rows.iter().map(|&row| durations[row]).collect();
    let service = Service::estimate(&values).map_err(|error| match error {
        ServiceError::NotADuration { index, value } => {
            let place = results.place_of(rows[index] + 1);
            Failure::user(anyhow!("{place}: `{column}` is {value}"))
                .hint("a time of service is finite and above zero")
        }
        ServiceError::TooFewDurations { found } => Failure::user(anyhow!(
            "the service time cannot be estimated from {found} of the runs; at least 2 are needed"
        ))
        .hint("name fewer levels with --given, or run more replicates"),
        other => Failure::user(other),
    })?;
    Ok(Estimate {
        service,
        runs: values.len(),
        source: results.source(),
    })
}

fn find<'a>(table: &'a Table, option: &str, name: &str) -> Result<&'a Column, Failure> {
    table.column(name).ok_or_else(|| {
        let failure = Failure::user(anyhow!("{option}: there is no column `{name}`"));
        match table.nearest_name(name) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => {
                let names: Vec<&str> = table.columns().iter().map(Column::name).collect();
                failure.hint(format!("the columns are {}", names.join(", ")))
            }
        }
    })
}

fn rows_with(column: &Column, level: &str) -> Vec<bool> {
    match column.data() {
        ColumnData::Numeric(values) => {
            let wanted = Level::parse(level).as_number();
            values.iter().map(|value| Some(*value) == wanted).collect()
        }
        ColumnData::Categorical { levels, codes, .. } => {
            let wanted = levels.iter().position(|own| own == level);
            let is_wanted = |&code: &u32| Some(code as usize) == wanted;
            codes.iter().map(is_wanted).collect()
        }
    }
}

/// The levels of a column in words, the first few of many.
fn levels(table: &Table, name: &str) -> String {
    const MOST: usize = 8;
    let mut all: Vec<String> = match table.column(name).map(Column::data) {
        Some(ColumnData::Numeric(values)) => {
            let mut values = values.clone();
            values.retain(|value| !value.is_nan());
            values.sort_by(f64::total_cmp);
            values.dedup();
            values.iter().map(f64::to_string).collect()
        }
        Some(ColumnData::Categorical { levels, .. }) => levels.clone(),
        None => Vec::new(),
    };
    if all.len() > MOST {
        all.truncate(MOST);
        all.push("…".to_owned());
    }
    all.join(", ")
}
