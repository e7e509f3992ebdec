//! Runs that something disturbed, and what to do about them.

use crate::results::Results;
use paceline_stats::table::{ColumnData, Table};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many of a study's runs were disturbed.
#[derive(Debug, Clone, PartialEq)]
pub struct Disturbed {
    /// Runs that count.
    pub runs: usize,
    /// Those of them that were disturbed.
    pub disturbed: usize,
    /// What disturbed the first of them, as its record says it.
    pub example: String,
    /// The response for which a steadier measure was looked for, with what was
    /// found.
    pub steadier: Option<Steadier>,
}

/// CPU time where it tells settings apart better than wall time does.
#[derive(Debug, Clone, PartialEq)]
pub struct Steadier {
    /// The response, a time.
    pub response: String,
    /// The share of its variation that lies between settings.
    pub explained: f64,
    /// The same of the CPU time.
    pub by_cpu: f64,
}

/// The column of what disturbed a run.
const NOISE: &str = "noise";
/// The column of CPU time that is compared with times.
pub const CPU: &str = "cpu_user_s";
/// CPU time is named if what settings leave unexplained of it is less than this
/// share of what they leave of the response.
const MUCH_LESS: f64 = 0.7;

impl Disturbed {
    /// What the runs of a study say; nothing for a plain table.
    #[must_use]
    pub fn among(results: &Results, response: Option<&str>) -> Option<Self> {
        let plan = &results.study()?.state.plan;
        Self::of(results.table(), &plan.factors, response)
    }

    /// What the done runs of a study's table say; nothing if none was disturbed, or
    /// the table does not tell.
    #[must_use]
    pub fn of(table: &Table, factors: &[String], response: Option<&str>) -> Option<Self> {
        let reasons: Vec<&str> = match table.column(NOISE)?.data() {
            ColumnData::Numeric(_) => Vec::new(),
            ColumnData::Categorical { levels, codes, .. } => codes
                .iter()
                .filter_map(|&code| levels.get(code as usize))
                .map(String::as_str)
                .filter(|text| !text.is_empty())
                .collect(),
        };
        let example = (*reasons.first()?).to_owned();
        Some(Self {
            runs: table.rows(),
            disturbed: reasons.len(),
            example,
            steadier: response.and_then(|name| Steadier::than(table, factors, name)),
        })
    }

    /// In sentences. `flag` is how this command names a response.
    #[must_use]
    pub fn sentence(&self, flag: &str) -> String {
        let mut text = format!(
            "{} of {} {} {} disturbed{}: times say less. Run the study on a quiet machine, or \
             have disturbed runs repeated: noise = \"repeat\" under [policy].",
            self.disturbed,
            self.runs,
            if self.runs == 1 { "run" } else { "runs" },
            if self.disturbed == 1 { "was" } else { "were" },
            match self.disturbed {
                1 => format!(" ({})", self.example),
                _ => format!(" (the first: {})", self.example),
            },
        );
        if let Some(steadier) = &self.steadier {
            text += &format!(
                " CPU time is less affected: of {CPU} the settings explain {:.0}%, of {} {:.0}%; \
                 {flag} {CPU}.",
                100.0 * steadier.by_cpu,
                steadier.response,
                100.0 * steadier.explained
            );
        }
        text
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "runs": self.runs,
            "disturbed": self.disturbed,
            "example": self.example,
            "cpu_time_is_steadier": self.steadier.as_ref().map(|one| json!({
                "response": one.response,
                "explained": one.explained,
                "explained_of_cpu_time": one.by_cpu,
            })),
        })
    }
}

impl Steadier {
    /// Compares a time with CPU time; nothing unless CPU time is clearly steadier.
    fn than(table: &Table, factors: &[String], response: &str) -> Option<Self> {
        let numbers = |name: &str| table.column(name)?.as_numeric();
        let (values, cpu) = (numbers(response)?, numbers(CPU)?);
        let durations = numbers("duration_s")?;
        // What is not about as long as the run is no time of it.
        let mut pairs = values.iter().zip(durations);
        let is_time = pairs.all(|(value, duration)| (value / duration - 1.0).abs() <= 0.5);
        if response == CPU || !is_time {
            return None;
        }
        let groups = groups(table, factors)?;
        let explained = between(values, &groups)?;
        let by_cpu = between(cpu, &groups)?;
        (1.0 - by_cpu < MUCH_LESS * (1.0 - explained)).then(|| Self {
            response: response.to_owned(),
            explained,
            by_cpu,
        })
    }
}

/// The rows of each setting; nothing if no setting was run twice.
fn groups(table: &Table, factors: &[String]) -> Option<Vec<Vec<usize>>> {
    let columns: Vec<&ColumnData> = factors
        .iter()
        .map(|name| table.column(name).map(|column| column.data()))
        .collect::<Option<_>>()?;
    let mut groups: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
    for row in 0..table.rows() {
        let key = columns.iter().map(|column| match column {
            ColumnData::Numeric(values) => values[row].to_bits(),
            ColumnData::Categorical { codes, .. } => u64::from(codes[row]),
        });
        groups.entry(key.collect()).or_default().push(row);
    }
    let groups: Vec<Vec<usize>> = groups.into_values().collect();
    groups.iter().any(|rows| rows.len() > 1).then_some(groups)
}

/// The share of the variation of logarithms that lies between groups.
fn between(values: &[f64], groups: &[Vec<usize>]) -> Option<f64> {
    if values
        .iter()
        .any(|value| !(*value > 0.0 && value.is_finite()))
    {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let squares = |rows: &[usize]| {
        let mean = rows.iter().map(|&row| logs[row]).sum::<f64>() / rows.len() as f64;
        rows.iter()
            .map(|&row| (logs[row] - mean).powi(2))
            .sum::<f64>()
    };
    let all: Vec<usize> = (0..logs.len()).collect();
    let total = squares(&all);
    let within: f64 = groups.iter().map(|rows| squares(rows)).sum();
    (total > 0.0).then(|| 1.0 - within / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two settings, run four times each: CPU time repeats, wall time as given.
    fn table(times: [f64; 8], noise: &[usize], cpu: [f64; 2]) -> Table {
        let names = ["workers", "time", "duration_s", "cpu_user_s", "noise"];
        let mut builder = Table::builder(names);
        for (row, time) in times.iter().enumerate() {
            let setting = row / 4;
            let why = if noise.contains(&row) {
                "others used 1.0 cpus"
            } else {
                ""
            };
            let scatter = 1.0 + 0.01 * (row % 4) as f64;
            let cells = [
                (1 + setting).to_string(),
                time.to_string(),
                (time * 1.05).to_string(),
                (cpu[setting] * scatter).to_string(),
                why.to_owned(),
            ];
            builder.push_row(cells.iter().map(String::as_str)).unwrap();
        }
        builder.finish().unwrap()
    }

    const SCATTERED: [f64; 8] = [1.0, 2.2, 1.1, 1.9, 2.0, 3.1, 1.2, 2.6];
    const STEADY: [f64; 8] = [1.0, 1.02, 1.01, 1.0, 2.0, 2.01, 2.02, 2.0];

    fn workers() -> Vec<String> {
        vec!["workers".to_owned()]
    }

    #[test]
    fn undisturbed_runs_are_not_spoken_of() {
        let quiet = table(SCATTERED, &[], [0.5, 0.9]);
        assert_eq!(Disturbed::of(&quiet, &workers(), Some("time")), None);
    }

    #[test]
    fn cpu_time_is_advised_only_where_it_is_steadier() {
        let said = |times, cpu| {
            let table = table(times, &[1, 5, 6], cpu);
            let found = Disturbed::of(&table, &workers(), Some("time")).unwrap();
            found.sentence("--response")
        };
        let steadier = said(SCATTERED, [0.5, 0.9]);
        assert!(
            steadier
                .starts_with("3 of 8 runs were disturbed (the first: others used 1.0 cpus): times"),
            "{steadier}"
        );
        assert!(steadier.contains("--response cpu_user_s"), "{steadier}");
        // Wall time is as steady: there is nothing to advise.
        assert!(!said(STEADY, [0.5, 0.9]).contains("cpu_user_s"));
        // CPU time does not differ between the settings at all.
        assert!(!said(SCATTERED, [0.5, 0.5]).contains("cpu_user_s"));
    }

    #[test]
    fn what_is_no_time_of_the_run_has_no_steadier_measure() {
        let mut builder =
            Table::builder(["workers", "accuracy", "duration_s", "cpu_user_s", "noise"]);
        for row in 0..4 {
            let cells = [
                (row / 2).to_string(),
                "0.9".into(),
                "5".into(),
                "4".into(),
                "x".into(),
            ];
            builder.push_row(cells.iter().map(String::as_str)).unwrap();
        }
        let table = builder.finish().unwrap();
        let found = Disturbed::of(&table, &workers(), Some("accuracy")).unwrap();
        assert_eq!((found.disturbed, found.steadier), (4, None));
    }
}
