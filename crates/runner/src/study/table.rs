//! The study's table: one row per run, made from plan and journal alone.

use super::progress::{Progress, RunState};
use paceline_model::Level;
use paceline_model::RunValue;
use paceline_records::study::{Cell, ColumnKind, Plan, RunResult, StudyTable};

/// One row per planned run: who it is, its factors, coded levels, responses,
/// how it ended, what it used.
#[must_use]
pub fn table(plan: &Plan, progress: &Progress) -> StudyTable {
    let mut columns: Vec<(String, ColumnKind)> = Vec::new();
    let mut column = |name: &str, kind| columns.push((name.to_owned(), kind));
    column("run", ColumnKind::Text);
    for name in ["trial", "replicate", "block", "order"] {
        column(name, ColumnKind::Integer);
    }
    let kinds: Vec<ColumnKind> = (0..plan.factors.len())
        .map(|i| kind_of_factor(plan, i))
        .collect();
    for (name, &kind) in plan.factors.iter().zip(&kinds) {
        column(name, kind);
    }
    for name in &plan.factors {
        column(&format!("{name}_coded"), ColumnKind::Number);
    }
    for name in &plan.responses {
        column(name, ColumnKind::Number);
    }
    column("outcome", ColumnKind::Text);
    column("noise", ColumnKind::Text);
    column("attempt", ColumnKind::Integer);
    // A response may have the name, and so the value, of what Paceline measures.
    let measured: Vec<&str> = RunValue::ALL
        .iter()
        .map(|value| value.name())
        .filter(|name| {
            !plan
                .responses
                .iter()
                .chain(&plan.factors)
                .any(|own| own == name)
        })
        .collect();
    for name in &measured {
        column(name, ColumnKind::Number);
    }

    let mut table = StudyTable::new(columns);
    for (position, run) in plan.runs.iter().enumerate() {
        let trial = &plan.trials[run.trial as usize];
        let mut row = vec![Cell::Text(run.id.to_string())];
        let numbers = [
            run.trial + 1,
            run.replicate + 1,
            run.block + 1,
            position as u32 + 1,
        ];
        row.extend(numbers.map(|number| Cell::Integer(number.into())));
        row.extend(trial.levels.iter().map(cell));
        row.extend(trial.coded.iter().map(|&x| Cell::Number(x)));
        let (mut outcome, result) = ending(progress.state(position));
        // Whoever reads the table must not take it for a replicate.
        for (name, level) in &run.constants {
            outcome.push_str(&format!(" with {name}={level}"));
        }
        let value = |value: Option<&f64>| value.map_or(Cell::Missing, |&x| Cell::Number(x));
        for name in &plan.responses {
            row.push(value(
                result.and_then(|(_, result)| result.responses.get(name)),
            ));
        }
        row.push(Cell::Text(outcome));
        row.push(match result.and_then(|(_, result)| result.noise.as_ref()) {
            Some(noise) => Cell::Text(noise.evidence.join("; ")),
            None => Cell::Missing,
        });
        row.push(result.map_or(Cell::Missing, |(attempt, _)| Cell::Integer(attempt.into())));
        for &name in &measured {
            row.push(value(
                result.and_then(|(_, result)| result.resources.get(name)),
            ));
        }
        table.push(row);
    }
    table
}

/// A run that is done but lacks a response is not simply `done`: whoever reads
/// the table must see why a cell is empty.
fn ending(state: &RunState) -> (String, Option<(u32, &RunResult)>) {
    match state {
        RunState::Pending => ("pending".to_owned(), None),
        RunState::Leased { .. } => ("running".to_owned(), None),
        RunState::Done { attempt, result } if result.stopped.is_some() => {
            (result.outcome.clone(), Some((*attempt, result)))
        }
        RunState::Done { attempt, result } if result.absent.is_empty() => {
            ("done".to_owned(), Some((*attempt, result)))
        }
        RunState::Done { attempt, result } => {
            let missing: Vec<String> = result
                .absent
                .iter()
                .map(|(name, why)| format!("{name}: {why}"))
                .collect();
            (
                format!("incomplete ({})", missing.join("; ")),
                Some((*attempt, result)),
            )
        }
        RunState::Failed { attempt, result } => (result.outcome.clone(), Some((*attempt, result))),
    }
}

/// Whole numbers if all are, numbers if all are, else words.
fn kind_of_factor(plan: &Plan, factor: usize) -> ColumnKind {
    let levels = || plan.trials.iter().map(|trial| &trial.levels[factor]);
    if levels().all(|level| matches!(level, Level::Integer(_))) {
        ColumnKind::Integer
    } else if levels().all(|level| level.as_number().is_some()) {
        ColumnKind::Number
    } else {
        ColumnKind::Text
    }
}

fn cell(level: &Level) -> Cell {
    match level {
        Level::Integer(i) => Cell::Integer(*i),
        Level::Number(x) => Cell::Number(*x),
        Level::Switch(_) | Level::Word(_) => Cell::Text(level.to_string()),
    }
}
