//! Checks of the runs: independent, and none decisive.

use super::super::wording::{p_value, percent, short};
use super::{
    Assumption, AssumptionKind, BASIS_WORK, CheckResult, Evidence, Verdict, estimated_columns,
    judged, not_checked,
};
use crate::checks::durbin_watson;

/// Durbin–Watson in the order the runs were made.
pub(super) fn independence(evidence: &Evidence<'_>) -> Assumption {
    let kind = AssumptionKind::Independence;
    let Some(order) = evidence.run_order else {
        return not_checked(
            kind,
            "independence of the runs was not checked: the order in which they were made is not \
             known"
                .to_owned(),
            "name the column of the run order; a drifting machine is otherwise invisible",
        );
    };
    let fit = evidence.fit;
    let rows = fit.matrix().frame().table_rows();
    let mut sequence: Vec<usize> = (0..rows.len()).collect();
    sequence.sort_by(|&a, &b| order[rows[a] as usize].total_cmp(&order[rows[b] as usize]));
    let sorted = |values: &[f64]| -> Vec<f64> { sequence.iter().map(|&k| values[k]).collect() };
    let work = fit.observations().saturating_mul(fit.rank().pow(2));
    let columns: Vec<Vec<f64>> = match work <= BASIS_WORK {
        true => estimated_columns(fit).iter().map(|c| sorted(c)).collect(),
        // In so many runs the model's columns do not move the statistic.
        false => vec![vec![1.0; fit.observations()]],
    };
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let test = match durbin_watson(&sorted(fit.residuals()), &slices) {
        Ok(test) => test,
        Err(error) => {
            return not_checked(
                kind,
                format!("independence of the runs was not checked: {error}"),
                "",
            );
        }
    };
    let p = test.p();
    let verdict = judged(p, evidence.level);
    let d = short(test.statistic);
    let (meaning, advice) = match (verdict, test.statistic < 2.0) {
        (Verdict::Holds | Verdict::NotChecked, _) => (
            format!("neighbouring runs are no more alike than distant ones (d = {d})"),
            "",
        ),
        (_, true) => (
            format!(
                "runs made after each other resemble each other (d = {d}, {}); something drifts, \
                 and the runs count for less than their number",
                p_value(p)
            ),
            "look for warm-up or drift, randomise the order, or add the run order to the model",
        ),
        (_, false) => (
            format!(
                "runs made after each other alternate (d = {d}, {})",
                p_value(p)
            ),
            "look for something that switches between runs",
        ),
    };
    Assumption {
        kind,
        results: vec![CheckResult {
            test: "Durbin–Watson",
            statistic: test.statistic,
            p: Some(p),
        }],
        verdict,
        meaning,
        advice: advice.to_owned(),
    }
}

pub(super) fn influence(evidence: &Evidence<'_>) -> Assumption {
    let kind = AssumptionKind::Influence;
    let influence = evidence.influence;
    let rows = evidence.fit.matrix().frame().table_rows();
    let largest = influence
        .cooks_distance
        .iter()
        .enumerate()
        .filter(|(_, distance)| distance.is_finite())
        .max_by(|a, b| a.1.total_cmp(b.1));
    let Some((row, &distance)) = largest else {
        return not_checked(
            kind,
            "single runs were not examined: every run has a parameter of its own".to_owned(),
            "",
        );
    };
    let mut results = vec![CheckResult {
        test: "largest Cook's distance",
        statistic: distance,
        p: None,
    }];
    if let Some(outlier) = evidence.outliers.first() {
        results.push(CheckResult {
            test: "largest studentised residual",
            statistic: outlier.studentized,
            p: Some(outlier.p),
        });
    }
    let place = rows[row] as usize + 1;
    let count = evidence.outliers.len();
    let (verdict, meaning, advice) = if let Some(decisive) = evidence.decisive {
        let place = decisive.row;
        (
            Verdict::Violated,
            match decisive.share > 0.5 {
                true => format!(
                    "row {place} alone makes {} of the unexplained variation",
                    percent(100.0 * decisive.share)
                ),
                false => format!(
                    "row {place} alone moves the result (Cook's distance {})",
                    short(decisive.cooks_distance)
                ),
            },
            "repeat that run, and analyse with and without it",
        )
    } else if let Some(outlier) = evidence.outliers.first() {
        let place = rows[outlier.row] as usize + 1;
        let share = percent(100.0 * count as f64 / rows.len() as f64);
        (
            Verdict::Doubtful,
            match count {
                1 => format!(
                    "row {place} is an outlier (studentised residual {}), though its Cook's \
                     distance of {} moves the result little",
                    short(outlier.studentized),
                    short(influence.cooks_distance[outlier.row])
                ),
                _ => format!(
                    "{count} rows ({share}) are outliers, the largest in row {place} (studentised \
                     residual {})",
                    short(outlier.studentized)
                ),
            },
            "look at these runs for a cause; do not drop them without one",
        )
    } else {
        (
            Verdict::Holds,
            format!(
                "no single run moves the result much (largest Cook's distance {}, row {place})",
                short(distance)
            ),
            "",
        )
    };
    Assumption {
        kind,
        results,
        verdict,
        meaning,
        advice: advice.to_owned(),
    }
}
