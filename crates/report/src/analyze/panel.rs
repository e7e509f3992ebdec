//! The assumption panel and the method to trust.

use super::json::Numbers;
use super::{anova, estimates};
use crate::number::{p_value, significant};
use crate::page::{Heading, HtmlTable};
use crate::text::{Column, Style, Table, paragraph};
use paceline_stats::analysis::{
    Assumption, AssumptionKind, CheckResult, Method, PermutationResult, Recommendation,
    RobustResult, RobustTest, TermEvidence, Verdict,
};
use serde_json::{Value, json};

/// The assumption in words.
fn title(kind: AssumptionKind) -> &'static str {
    match kind {
        AssumptionKind::Normality => "residuals are normal",
        AssumptionKind::EqualVariances => "cells vary equally",
        AssumptionKind::ConstantSpread => "spread does not follow the terms",
        AssumptionKind::Independence => "runs are independent",
        AssumptionKind::Collinearity => "terms can be told apart",
        AssumptionKind::Influence => "no single run decides",
        AssumptionKind::Form => "the model's form is right",
        _ => "another assumption",
    }
}

/// The key of the assumption in JSON.
fn key(kind: AssumptionKind) -> &'static str {
    match kind {
        AssumptionKind::Normality => "normality",
        AssumptionKind::EqualVariances => "equal_variances",
        AssumptionKind::ConstantSpread => "constant_spread",
        AssumptionKind::Independence => "independence",
        AssumptionKind::Collinearity => "collinearity",
        AssumptionKind::Influence => "influence",
        AssumptionKind::Form => "form",
        _ => "other",
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Doubtful => "doubtful",
        Verdict::Violated => "VIOLATED",
        Verdict::NotChecked => "not checked",
    }
}

fn tests(results: &[CheckResult]) -> String {
    let results: Vec<String> = results
        .iter()
        .map(|result| {
            let statistic = significant(result.statistic, 4);
            match result.p {
                Some(p) => format!("{} {statistic}, p {}", result.test, p_value(p)),
                None => format!("{} {statistic}", result.test),
            }
        })
        .collect();
    results.join("; ")
}

/// One paragraph per assumption: verdict, evidence, meaning, advice.
pub(super) fn text(assumptions: &[Assumption], width: usize, style: Style) -> String {
    let mut out = String::new();
    for assumption in assumptions {
        let mark = format!("  {:<12}", verdict(assumption.verdict));
        let found = tests(&assumption.results);
        let heading = match found.is_empty() {
            true => title(assumption.kind).to_owned(),
            false => format!("{}: {found}", title(assumption.kind)),
        };
        let first = paragraph(&mark, &heading, width);
        match assumption.verdict {
            Verdict::Violated => {
                // Emphasis must not be interrupted by the end of a line.
                for line in first.lines() {
                    out.push_str(&style.strong(line));
                    out.push('\n');
                }
            }
            _ => out.push_str(&first),
        }
        let words = sentences(&[&assumption.meaning, &assumption.advice]);
        out.push_str(&paragraph(&" ".repeat(14), &words, width));
    }
    out
}

pub(super) fn html(assumptions: &[Assumption], caption: &str) -> HtmlTable {
    let headings = ["assumption", "verdict", "evidence", "what it means"].map(Heading::words);
    let mut table = HtmlTable::new(caption, headings);
    for assumption in assumptions {
        table.row([
            title(assumption.kind),
            verdict(assumption.verdict),
            &tests(&assumption.results),
            &sentences(&[&assumption.meaning, &assumption.advice]),
        ]);
    }
    table
}

/// Fragments as sentences: each begins with a capital and ends with a period.
pub(super) fn sentences(parts: &[&str]) -> String {
    let whole: Vec<String> = parts
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| sentence(part))
        .collect();
    whole.join(" ")
}

pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters
        .next()
        .map(|c| c.to_uppercase().collect())
        .unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{first}{}{end}", letters.as_str())
}

pub(super) fn as_json(assumptions: &[Assumption], numbers: &mut Numbers) -> Value {
    let rows: Vec<Value> = assumptions
        .iter()
        .map(|assumption| {
            let tests: Vec<Value> = assumption
                .results
                .iter()
                .map(|result| {
                    json!({
                        "test": result.test,
                        "statistic": numbers.put(result.test, result.statistic),
                        "p": result.p.map(|p| numbers.put(&format!("p of {}", result.test), p)),
                    })
                })
                .collect();
            json!({
                "assumption": key(assumption.kind),
                "verdict": verdict(assumption.verdict).to_lowercase().replace(' ', "_"),
                "tests": tests,
                "meaning": assumption.meaning,
                "advice": assumption.advice,
            })
        })
        .collect();
    Value::Array(rows)
}

/// The method in words.
pub(super) fn method(recommendation: &Recommendation) -> String {
    if let Some(RobustResult::Transformed(result)) = &recommendation.result {
        return format!("least squares of {}", result.response);
    }
    match recommendation.method {
        Method::LeastSquares => "least squares, as above",
        Method::Transformed(_) => "least squares of a transformed response",
        Method::Welch => "Welch's analysis of variance",
        Method::KruskalWallis => "Kruskal and Wallis' test on ranks",
        Method::Permutation => "permutation tests",
        Method::Robust => "least squares with errors that allow for unequal spread",
        Method::Lenth => "Lenth's method",
        _ => "another method",
    }
    .to_owned()
}

fn method_key(method: Method) -> &'static str {
    match method {
        Method::LeastSquares => "least_squares",
        Method::Transformed(_) => "transformed",
        Method::Welch => "welch",
        Method::KruskalWallis => "kruskal_wallis",
        Method::Permutation => "permutation",
        Method::Robust => "robust",
        Method::Lenth => "lenth",
        _ => "other",
    }
}

/// The result of the method to trust, where it is not the plain fit.
pub(super) fn result_text(
    result: &RobustResult,
    evidence: &[TermEvidence],
    level: f64,
    width: usize,
    style: Style,
) -> String {
    match result {
        RobustResult::Transformed(result) => {
            let mut out = anova::text(&result.anova, evidence, level, width, style);
            if let Some(words) = anova::adjustment(evidence) {
                out.push_str(&paragraph("", &words, width));
            }
            out.push_str(&format!(
                "R² {} for {}\n",
                significant(result.r_squared, 4),
                result.response
            ));
            for assumption in &result.assumptions {
                let mut line = format!(
                    "{}: {}",
                    title(assumption.kind),
                    verdict(assumption.verdict)
                );
                let found = tests(&assumption.results);
                if !found.is_empty() {
                    line += &format!(" ({found})");
                }
                out.push_str(&paragraph("", &line, width));
            }
            if let Some(tests) = &result.permutation {
                out.push_str(&permutation_table(tests).render(width, style));
            }
            if let Some(tests) = &result.robust {
                out.push_str(&robust_table(tests).render(width, style));
            }
            out
        }
        RobustResult::Welch(test) => format!(
            "F {}, p {}\n",
            significant(test.statistic, 4),
            p_value(test.p)
        ),
        RobustResult::KruskalWallis(test) => format!(
            "H {}, p {}\n",
            significant(test.statistic, 4),
            p_value(test.p)
        ),
        RobustResult::Permutation(tests) => permutation_table(tests).render(width, style),
        RobustResult::Robust(tests) => robust_table(tests).render(width, style),
    }
}

fn robust_table(tests: &[RobustTest]) -> Table {
    let mut table = Table::new([
        Column::words("term"),
        Column::decimals("F"),
        Column::decimals(ROBUST_P),
    ]);
    for test in tests {
        table.row([&test.name, &significant(test.f, 4), &p_value(test.p)]);
    }
    table
}

/// The heading of p-values that allow for unequal spread.
const ROBUST_P: &str = "p, unequal spread allowed";

fn permutation_table(tests: &[PermutationResult]) -> Table {
    let mut table = Table::new([
        Column::words("term"),
        Column::decimals("F"),
        Column::decimals("p by permutation"),
    ]);
    for test in tests {
        table.row([&test.name, &significant(test.f, 4), &p_value(test.p)]);
    }
    table
}

/// The tables of the method to trust on a page.
pub(super) fn result_html(result: &RobustResult, evidence: &[TermEvidence]) -> Vec<HtmlTable> {
    let permutations = |tests: &[PermutationResult]| {
        let mut table = HtmlTable::new(
            "Permutation tests of the terms",
            [
                Heading::words("term"),
                Heading::numbers("F"),
                Heading::numbers("p by permutation"),
            ],
        );
        for test in tests {
            table.row([&test.name, &significant(test.f, 4), &p_value(test.p)]);
        }
        table
    };
    let robust = |tests: &[RobustTest]| {
        let mut table = HtmlTable::new(
            "Tests of the terms that allow for unequal spread (HC3)",
            [
                Heading::words("term"),
                Heading::numbers("F"),
                Heading::numbers(ROBUST_P),
            ],
        );
        for test in tests {
            table.row([&test.name, &significant(test.f, 4), &p_value(test.p)]);
        }
        table
    };
    match result {
        RobustResult::Transformed(result) => {
            let caption = format!("Analysis of variance of {}", result.response);
            let mut tables = vec![anova::html(&result.anova, evidence, &caption)];
            if !result.assumptions.is_empty() {
                let caption = format!("Assumptions checked again for {}", result.response);
                tables.push(html(&result.assumptions, &caption));
            }
            tables.extend(result.permutation.as_deref().map(permutations));
            tables.extend(result.robust.as_deref().map(robust));
            tables
        }
        RobustResult::Welch(test) => vec![single("Welch's test", test.statistic, test.p)],
        RobustResult::KruskalWallis(test) => {
            vec![single("Kruskal–Wallis test", test.statistic, test.p)]
        }
        RobustResult::Permutation(tests) => vec![permutations(tests)],
        RobustResult::Robust(tests) => vec![robust(tests)],
    }
}

fn single(name: &str, statistic: f64, p: f64) -> HtmlTable {
    let mut table = HtmlTable::new(
        name,
        [
            Heading::words("test"),
            Heading::numbers("statistic"),
            Heading::numbers("p"),
        ],
    );
    table.row([name, &significant(statistic, 4), &p_value(p)]);
    table
}

pub(super) fn recommendation_json(
    recommendation: &Recommendation,
    evidence: &[TermEvidence],
    numbers: &mut Numbers,
) -> Value {
    let robust = |tests: &[RobustTest], numbers: &mut Numbers| -> Vec<Value> {
        tests
            .iter()
            .map(|test| {
                json!({
                    "term": test.term,
                    "name": test.name,
                    "f": numbers.put("f with unequal spread", test.f),
                    "p": numbers.put("p with unequal spread", test.p),
                })
            })
            .collect()
    };
    let permutations = |tests: &[PermutationResult], numbers: &mut Numbers| -> Vec<Value> {
        tests
            .iter()
            .map(|test| {
                json!({
                    "term": test.term,
                    "name": test.name,
                    "f": numbers.put("f by permutation", test.f),
                    "p": numbers.put("p by permutation", test.p),
                })
            })
            .collect()
    };
    let result = recommendation.result.as_ref().map(|result| match result {
        RobustResult::Transformed(result) => json!({
            "response": result.response,
            "anova": anova::as_json(&result.anova, evidence, numbers),
            "coefficients": estimates::coefficients_json(&result.coefficients, numbers),
            "r_squared": numbers.put("r_squared", result.r_squared),
            "effects": result.effects.as_ref().map(|e| estimates::effects_json(e, numbers)),
            "assumptions": as_json(&result.assumptions, numbers),
            "permutation": result.permutation.as_ref().map(|tests| permutations(tests, numbers)),
            "robust": result.robust.as_ref().map(|tests| robust(tests, numbers)),
        }),
        RobustResult::Welch(test) => json!({
            "f": numbers.put("Welch's F", test.statistic),
            "df1": numbers.put("df1", test.df1),
            "df2": numbers.put("df2", test.df2),
            "p": numbers.put("p", test.p),
        }),
        RobustResult::KruskalWallis(test) => json!({
            "h": numbers.put("Kruskal and Wallis' H", test.statistic),
            "df": numbers.put("df", test.df),
            "p": numbers.put("p", test.p),
        }),
        RobustResult::Permutation(tests) => json!({ "terms": permutations(tests, numbers) }),
        RobustResult::Robust(tests) => json!({ "terms": robust(tests, numbers) }),
    });
    json!({
        "method": method_key(recommendation.method),
        "reason": recommendation.reason,
        "result": result,
    })
}
