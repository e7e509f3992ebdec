//! Every sentence is true of the data: the tables of reported mistakes, and
//! random tables whose claims are held against the fit.
//!
//! More than 600 lines: one table and its sentence after another.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use paceline_stats::analysis::{
    Analysis, AnalysisOptions, AnalyzeError, AssumptionKind, Basis, ClaimKind, FindingKind, Method,
    Verdict, analyze,
};
use paceline_stats::anova::AnovaType;
use paceline_stats::formula::TermOrder;
use paceline_stats::table::{Column, Table};
use proptest::prelude::*;
use serde_json::Value;

fn oracle(name: &str) -> Table {
    let path = format!("{}/oracle/margins.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let columns = all["datasets"][name].as_object().unwrap();
    let columns = columns.iter().map(|(name, values)| {
        let values = values.as_array().unwrap();
        match values[0].is_string() {
            true => {
                let labels: Vec<&str> = values.iter().map(|v| v.as_str().unwrap()).collect();
                Column::from_labels(name, &labels)
            }
            false => Column::numeric(name, values.iter().map(|v| v.as_f64().unwrap()).collect()),
        }
    });
    Table::new(columns.collect()).unwrap()
}

fn analysed(table: &Table, response: &str, formula: &str) -> Analysis {
    let options = AnalysisOptions {
        formula: Some(formula),
        permutations: 49,
        ..AnalysisOptions::default()
    };
    analyze(table, response, &options).unwrap()
}

fn text(analysis: &Analysis) -> String {
    let texts: Vec<&str> = analysis.findings.iter().map(|f| f.text.as_str()).collect();
    texts.join("\n")
}

fn contains(analysis: &Analysis, wanted: &str) {
    let text = text(analysis);
    assert!(text.contains(wanted), "`{wanted}` is not in\n{text}");
}

fn lacks(analysis: &Analysis, unwanted: &str) {
    let text = text(analysis);
    assert!(!text.contains(unwanted), "`{unwanted}` is in\n{text}");
}

/// Numbers that look like noise and are the same in every run.
fn noise(index: usize) -> f64 {
    let mut z = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let unit = |bits: u64| (bits & 0xFFFF) as f64 / 65_536.0 - 0.5;
    // A sum of four uniform numbers is normal enough.
    unit(z) + unit(z >> 16) + unit(z >> 32) + unit(z >> 48)
}

#[test]
fn means_are_adjusted_where_raw_ones_say_the_opposite() {
    // Raw means put z highest (168) and x lowest (113); z is lowest at equal b.
    let analysis = analysed(&oracle("simpson"), "y", "y ~ a + b");
    contains(&analysis, "`y` differs between the levels of `a`: from 131");
    contains(&analysis, "(95% interval 130 to 132) at z to 150");
    contains(&analysis, "at x, adjusted for the other terms");
    let means = &analysis.main_means[0];
    assert_eq!(means.factors, ["a"]);
    let lowest = means
        .cells
        .iter()
        .min_by(|a, b| a.mean.unwrap().total_cmp(&b.mean.unwrap()))
        .unwrap();
    assert_eq!(lowest.values, ["z"]);
}

#[test]
fn a_slope_is_that_of_the_data_and_not_of_zero() {
    // The coefficient of temp is its slope at conc = 0, which nobody ran: −1.4.
    let table = oracle("tempconc");
    let analysis = analysed(&table, "y", "y ~ temp * conc");
    let coefficient = analysis
        .coefficients
        .iter()
        .find(|c| c.name == "temp")
        .unwrap();
    assert!((coefficient.estimate + 1.395).abs() < 0.001);
    contains(
        &analysis,
        "`y` rises by 2 for each unit of `temp` on average over the data (95% interval 1.98 to \
         2.02, p < 0.001); it depends on `conc`: from 0.301 (95% interval 0.267 to 0.335) at \
         conc = 10 to 3.69 (95% interval 3.66 to 3.73) at conc = 30",
    );
    lacks(&analysis, "-1.4");
    lacks(&analysis, "-1.39");
    // The same holds where the table shown is of type III, which tests at zero.
    let options = AnalysisOptions {
        formula: Some("y ~ temp * conc"),
        kind: AnovaType::III,
        ..AnalysisOptions::default()
    };
    contains(
        &analyze(&table, "y", &options).unwrap(),
        "`y` rises by 2 for each unit of `temp`",
    );
}

#[test]
fn a_logarithm_gives_factors_and_elasticities() {
    let table = oracle("scaling");
    let analysis = analysed(&table, "log(time)", "log(time) ~ log(workers) + cpu");
    contains(&analysis, "`time` grows ×1.33 for each unit of `cpu`");
    contains(&analysis, "`time` shrinks ×0.57");
    contains(&analysis, "with each doubling of `workers`");
    contains(
        &analysis,
        "(elasticity -0.8; 95% interval ×0.568 to ×0.581, p < 0.001)",
    );
    let claim = |kind| {
        let mut claims = analysis.findings.iter().flat_map(|f| &f.claims);
        claims.find(|claim| claim.kind == kind).unwrap().clone()
    };
    // R's slope of cpu in log(time): 0.286.
    let factor = claim(ClaimKind::FactorPerUnit);
    assert!((factor.estimate.ln() - 0.286).abs() < 1e-9, "{factor:?}");
    assert!((claim(ClaimKind::Elasticity).estimate + 0.8).abs() < 0.02);
}

fn curve(place: f64) -> Table {
    let x: Vec<f64> = (0..40).map(|k| f64::from(k % 20) / 2.0).collect();
    let y = (0..40)
        .map(|k| 3.0 + (x[k] - place).powi(2) + 0.3 * noise(k))
        .collect();
    Table::new(vec![Column::numeric("x", x), Column::numeric("y", y)]).unwrap()
}

#[test]
fn a_square_is_told_as_a_curve_with_its_optimum() {
    let inside = analysed(&curve(4.0), "y", "y ~ x + I(x^2)");
    contains(&inside, "`y` follows a curve along `x`: lowest ");
    contains(&inside, "inside the data");
    lacks(&inside, "for each unit");
    // One sentence for both terms of the curve.
    let effects = inside
        .findings
        .iter()
        .filter(|f| f.kind == FindingKind::Effect);
    assert_eq!(effects.count(), 1);
    let edge = analysed(&curve(-3.0), "y", "y ~ x + I(x^2)");
    contains(&edge, "`y` rises along `x`, not in a straight line");
    contains(&edge, "the edges of the data, without an optimum between");
}

#[test]
fn a_bend_is_found_without_replicates_and_named_before_a_transformation() {
    let x: Vec<f64> = (0..30).map(|k| f64::from(k) / 3.0).collect();
    let y = (0..30)
        .map(|k| 1.0 + (x[k] - 4.0).powi(2) + 0.2 * noise(k))
        .collect();
    let table = Table::new(vec![Column::numeric("x", x), Column::numeric("y", y)]).unwrap();
    let analysis = analysed(&table, "y", "y ~ x");
    let form = analysis
        .assumptions
        .iter()
        .find(|a| a.kind == AssumptionKind::Form)
        .unwrap();
    assert_eq!(form.verdict, Verdict::Doubtful);
    assert!(
        form.meaning.contains("below a straight line in the middle"),
        "{}",
        form.meaning
    );
    assert!(form.advice.contains("I(x^2)"), "{}", form.advice);
    let reason = &analysis.recommendation.reason;
    let transformed = matches!(analysis.recommendation.method, Method::Transformed(_));
    assert!(
        !transformed || reason.starts_with("the response bends"),
        "{reason}"
    );
}

#[test]
fn centre_points_show_a_bend() {
    // A 2^2 with five centre points, where the middle is far below the corners.
    let a = [-1.0, 1.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let b = [-1.0, -1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let y =
        (0..9).map(|k| 10.0 + 2.0 * a[k] + b[k] - if k > 3 { 5.0 } else { 0.0 } + 0.1 * noise(k));
    let table = Table::new(vec![
        Column::numeric("a", a.to_vec()),
        Column::numeric("b", b.to_vec()),
        Column::numeric("y", y.collect()),
    ])
    .unwrap();
    let analysis = analyze(&table, "y", &AnalysisOptions::default()).unwrap();
    assert_eq!(analysis.formula, "y ~ (a + b)^2");
    let bends = &analysis.curvature.as_ref().unwrap().bends;
    assert_eq!(bends[0].columns, ["a", "b"]);
    let form = analysis
        .assumptions
        .iter()
        .find(|a| a.kind == AssumptionKind::Form)
        .unwrap();
    assert!(
        form.meaning.contains("at the centre points"),
        "{}",
        form.meaning
    );
}

#[test]
fn one_wild_row_of_a_hundred_thousand_is_named_first() {
    let rows = 100_000;
    let group: Vec<&str> = (0..rows).map(|k| ["p", "q", "r"][k % 3]).collect();
    let x: Vec<f64> = (0..rows).map(|k| (k % 997) as f64).collect();
    let y: Vec<f64> = (0..rows)
        .map(|k| match k {
            70_001 => 1e9,
            k => x[k] + if k % 3 == 0 { 5.0 } else { 0.0 } + noise(k),
        })
        .collect();
    let table = Table::new(vec![
        Column::from_labels("g", &group),
        Column::numeric("x", x),
        Column::numeric("y", y),
    ])
    .unwrap();
    let analysis = analysed(&table, "y", "y ~ g + x");
    assert!(
        analysis.findings[0]
            .text
            .starts_with("Row 70002 makes 100% of the unexplained")
    );
    contains(&analysis, "without it `g` and `x` would count");
    assert_eq!(analysis.decisive.as_ref().unwrap().row, 70_002);
}

#[test]
fn a_formula_names_its_own_response() {
    let analysis = analysed(&curve(-3.0), "log( y )", "log(y) ~ x");
    assert_eq!(analysis.response, "log(y)");
    assert_eq!(analysis.spoken_response, "y");
}

/// An unreplicated two-level design of `factors`, the last `generated` of them
/// products of the first three.
fn two_level(runs: usize, generators: &[(&str, &[usize])], y: impl Fn(&[f64]) -> f64) -> Table {
    let base = runs.trailing_zeros() as usize;
    let bit = |run: usize, k: usize| if run >> k & 1 == 1 { 1.0 } else { -1.0 };
    let mut columns: Vec<(String, Vec<f64>)> = (0..base)
        .map(|k| {
            let name = ["a", "b", "c", "d", "e"][k].to_owned();
            (name, (0..runs).map(|run| bit(run, k)).collect())
        })
        .collect();
    for (name, of) in generators {
        let values = (0..runs).map(|run| of.iter().map(|&k| bit(run, k)).product());
        columns.push(((*name).to_owned(), values.collect()));
    }
    let response = (0..runs).map(|run| {
        let row: Vec<f64> = columns.iter().map(|(_, values)| values[run]).collect();
        y(&row) + 0.1 * noise(run)
    });
    let response = Column::numeric("y", response.collect());
    let columns = columns
        .into_iter()
        .map(|(name, values)| Column::numeric(name, values));
    Table::new(columns.chain([response]).collect()).unwrap()
}

#[test]
fn a_saturated_model_is_judged_by_lenth() {
    let table = two_level(8, &[("d", &[0, 1, 2])], |row| 10.0 + 3.0 * row[0]);
    let formula = "y ~ a + b + c + d + a:b + a:c + a:d";
    let analysis = analysed(&table, "y", formula);
    assert_eq!(analysis.summary.residual_df, 0);
    assert_eq!(analysis.recommendation.method, Method::Lenth);
    contains(&analysis, "Taking `a` from -1 to 1 raises `y` by 6.0");
    assert!(
        analysis
            .evidence
            .iter()
            .all(|term| term.basis == Basis::Lenth)
    );
    // A saturated model of anything else is refused, with what is missing.
    let groups = Table::new(vec![
        Column::from_labels("g", &["p", "q", "r"]),
        Column::numeric("y", vec![1.0, 2.0, 4.0]),
    ])
    .unwrap();
    let options = AnalysisOptions {
        formula: Some("y ~ g"),
        ..AnalysisOptions::default()
    };
    let error = analyze(&groups, "y", &options).unwrap_err();
    assert!(matches!(error, AnalyzeError::Fit(_)), "{error}");
}

#[test]
fn an_unreplicated_fraction_does_not_contradict_itself() {
    let table = two_level(8, &[("d", &[0, 1, 2])], |row| {
        10.0 + 3.0 * row[0] + 2.0 * row[0] * row[1]
    });
    let analysis = analyze(&table, "y", &AnalysisOptions::default()).unwrap();
    let none = analysis
        .findings
        .iter()
        .find(|f| f.kind == FindingKind::NoEvidence);
    assert!(
        none.is_none_or(|f| !f.text.contains("`a`")),
        "{}",
        text(&analysis)
    );
    lacks(&analysis, "stand out");
    // a:b equals c:d in every run.
    let table = two_level(16, &[("e", &[0, 1, 2])], |row| 10.0 + 3.0 * row[0] * row[1]);
    let analysis = analysed(&table, "y", "y ~ (a + b + c + d + e)^2 - c:e - a:e - b:e");
    contains(&analysis, "it may as well be `c with e`");
}

#[test]
fn what_is_missing_for_equal_variances_is_said() {
    let g: Vec<&str> = (0..12)
        .map(|k| ["p", "q", "r", "s", "t", "u"][k % 6])
        .collect();
    let y = (0..12).map(|k| (k % 6) as f64 + noise(k)).collect();
    let table = Table::new(vec![Column::from_labels("g", &g), Column::numeric("y", y)]).unwrap();
    let analysis = analysed(&table, "y", "y ~ g");
    let equal = &analysis.assumptions[1];
    assert_eq!(equal.kind, AssumptionKind::EqualVariances);
    assert!(
        equal
            .meaning
            .contains("6 settings that were run more than once have two runs each")
    );
    assert!(
        equal.meaning.contains("at least one setting needs three"),
        "{}",
        equal.meaning
    );
}

#[test]
fn an_empty_cell_is_named_and_its_type_three_test_is_not_made() {
    let mut a = Vec::new();
    let mut b = Vec::new();
    let mut y = Vec::new();
    for k in 0..24 {
        let (i, j) = (k % 3, k / 3 % 3);
        if (i, j) == (2, 1) {
            continue;
        }
        a.push(["a1", "a2", "a3"][i]);
        b.push(["b1", "b2", "b3"][j]);
        y.push(i as f64 + 2.0 * j as f64 + noise(k));
    }
    let table = Table::new(vec![
        Column::from_labels("a", &a),
        Column::from_labels("b", &b),
        Column::numeric("y", y),
    ])
    .unwrap();
    let options = AnalysisOptions {
        formula: Some("y ~ a*b"),
        kind: AnovaType::III,
        ..AnalysisOptions::default()
    };
    let analysis = analyze(&table, "y", &options).unwrap();
    let row = |name: &str| analysis.anova.row(name).unwrap();
    assert!(!row("a").estimable && row("a").test.is_none());
    assert!(row("a:b").estimable && row("a:b").test.is_some());
    let notes = analysis.notes.join("\n");
    assert!(notes.contains("none has a = a3 with b = b2"), "{notes}");
    assert!(
        notes.contains("the type III test of `a` is not estimable"),
        "{notes}"
    );
    assert!(analysis.evidence.iter().all(|term| term.term == "a:b"));
}

#[test]
fn type_one_goes_by_degree_unless_written_order_is_asked_for() {
    let table = oracle("tempconc");
    let terms = |order| {
        let options = AnalysisOptions {
            formula: Some("y ~ temp:conc + temp + conc"),
            kind: AnovaType::I,
            order,
            ..AnalysisOptions::default()
        };
        let analysis = analyze(&table, "y", &options).unwrap();
        let rows = analysis.anova.rows.iter();
        rows.map(|row| row.term.clone()).collect::<Vec<_>>()
    };
    assert_eq!(terms(TermOrder::ByDegree), ["temp", "conc", "temp:conc"]);
    assert_eq!(terms(TermOrder::Written), ["temp:conc", "temp", "conc"]);
}

#[test]
fn an_enormous_response_is_analysed_in_its_own_units() {
    for scale in [1.0, 1e300, 1e-300] {
        let g: Vec<&str> = (0..12).map(|k| ["p", "q"][k % 2]).collect();
        let y = (0..12).map(|k| scale * (1.0 + (k % 2) as f64 + 0.1 * noise(k)));
        let table = Table::new(vec![
            Column::from_labels("g", &g),
            Column::numeric("y", y.collect()),
        ])
        .unwrap();
        let analysis = analysed(&table, "y", "y ~ g");
        let p = analysis.anova.rows[0].test.unwrap().p;
        assert!(p < 1e-8, "at {scale:e}: {p}");
        assert!(analysis.summary.r_squared > 0.9);
    }
    let wild = Table::new(vec![
        Column::numeric("x", (0..9).map(|k| f64::from(k) * 1e300).collect()),
        Column::numeric("y", (0..9).map(noise).collect()),
    ])
    .unwrap();
    let options = AnalysisOptions {
        formula: Some("y ~ x"),
        ..AnalysisOptions::default()
    };
    let error = analyze(&wild, "y", &options).unwrap_err();
    assert!(error.to_string().contains("`x` reaches 8e300"), "{error}");
}

#[test]
fn many_two_level_columns_do_not_take_for_ever() {
    let runs = 32;
    let mut columns: Vec<Column> = (0..22)
        .map(|k| {
            let values = (0..runs).map(|run| f64::from(u8::from(noise(run * 31 + k) > 0.0)));
            Column::numeric(format!("f{k}"), values.collect())
        })
        .collect();
    columns.push(Column::numeric(
        "y",
        (0..runs).map(|run| noise(run * 7)).collect(),
    ));
    let table = Table::new(columns).unwrap();
    assert!(analyze(&table, "y", &AnalysisOptions::default()).is_ok());
}

#[test]
fn names_are_peoples_words() {
    let batch: Vec<f64> = (0..24).map(|k| [32.0, 64.0, 128.0][k % 3]).collect();
    let workers: Vec<f64> = (0..24).map(|k| [1.0, 2.0][k / 3 % 2]).collect();
    let y = (0..24)
        .map(|k| batch[k] * workers[k] / 10.0 + noise(k))
        .collect();
    let table = Table::new(vec![
        Column::numeric("batch_size", batch),
        Column::numeric("workers", workers),
        Column::numeric("duration_s", y),
    ])
    .unwrap();
    let analysis = analyze(&table, "duration_s", &AnalysisOptions::default()).unwrap();
    assert!(analysis.formula.contains("C(batch_size)"));
    lacks(&analysis, "C(");
    lacks(&analysis, ":workers");
    let names: Vec<&str> = analysis
        .anova
        .rows
        .iter()
        .map(|row| row.name.as_str())
        .collect();
    assert_eq!(names, ["batch_size", "workers", "batch_size with workers"]);
    assert!(text(&analysis).contains(" s "), "{}", text(&analysis));
    assert!(
        analysis
            .coefficients
            .iter()
            .any(|c| c.label == "batch_size 64 vs 32")
    );
}

/// Columns of a random table: unbalanced, with gaps, any scale.
#[derive(Clone, Debug)]
struct RandomTable {
    rows: Vec<(usize, usize, f64, f64)>,
    effect: (f64, f64, f64),
    scale: f64,
    positive: bool,
}

fn random_table() -> impl Strategy<Value = RandomTable> {
    let row = (0_usize..4, 0_usize..3, 0.0..10.0_f64, -2.0..2.0_f64);
    let scale = prop_oneof![Just(1.0), Just(1e-9), Just(1e12)];
    (
        proptest::collection::vec(row, 8..60),
        (-3.0..3.0_f64, -3.0..3.0_f64, -1.0..1.0_f64),
        scale,
        any::<bool>(),
    )
        .prop_map(|(rows, effect, scale, positive)| RandomTable {
            rows,
            effect,
            scale,
            positive,
        })
}

impl RandomTable {
    fn table(&self) -> Table {
        let (a, b, slope) = self.effect;
        let y = self.rows.iter().map(|&(g, h, x, e)| {
            let mean = a * g as f64 + b * h as f64 + slope * x * (1.0 + h as f64);
            let value = mean + e;
            self.scale
                * if self.positive {
                    (0.3 * value).exp()
                } else {
                    value
                }
        });
        let label = |index: usize, names: [&'static str; 4]| names[index];
        let g: Vec<&str> = self
            .rows
            .iter()
            .map(|r| label(r.0, ["p", "q", "r", "s"]))
            .collect();
        let h: Vec<&str> = self
            .rows
            .iter()
            .map(|r| label(r.1, ["u", "v", "w", ""]))
            .collect();
        Table::new(vec![
            Column::from_labels("g", &g),
            Column::from_labels("h", &h),
            Column::numeric(
                "x",
                self.rows
                    .iter()
                    .map(|r| (r.2 * 4.0).round() / 4.0)
                    .collect(),
            ),
            Column::numeric("y", y.collect()),
        ])
        .unwrap()
    }
}

/// What must hold of every analysis, whatever the table.
fn hold(analysis: &Analysis) -> Result<(), TestCaseError> {
    let level = 0.05;
    let all = text(analysis);
    let odd = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        matches!(bare, "NaN" | "inf")
    };
    prop_assert!(!all.split_whitespace().any(odd), "{}", all);
    prop_assert!(analysis.findings.len() <= 10);
    for finding in &analysis.findings {
        for claim in &finding.claims {
            let Some(p) = claim.p else {
                prop_assert!(claim.lower <= claim.estimate && claim.estimate <= claim.upper);
                continue;
            };
            // Interval and p-value are of the same number.
            let none = claim.kind.none().unwrap();
            let excluded = claim.lower > none || claim.upper < none;
            if (p - level).abs() > 1e-9 {
                prop_assert_eq!(excluded, p < level, "{:?} in {}", claim, finding.text);
            }
            // A direction is claimed only with its own evidence.
            let directed = ["raises", "lowers", "rises", "falls", "grows", "shrinks"]
                .iter()
                .any(|verb| finding.text.contains(&format!(" {verb} ")));
            if directed && finding.claims[0] == *claim && claim.at.is_empty() {
                prop_assert!(p < level, "{}", finding.text);
            }
        }
        // No term is told to matter and not to matter.
        if let (FindingKind::Effect, Some(term)) = (finding.kind, &finding.term) {
            let known = analysis.evidence.iter().find(|e| e.term == *term).unwrap();
            prop_assert!(known.adjusted < level);
            let quoted = format!("`{}`", known.name);
            let denied = analysis
                .findings
                .iter()
                .filter(|other| other.kind == FindingKind::NoEvidence)
                .any(|other| other.text.contains(&quoted));
            prop_assert!(!denied, "{}", all);
        }
    }
    // The claimed lowest and highest means are the lowest and highest of the fit.
    for means in &analysis.main_means {
        let Some(finding) = analysis.findings.iter().find(|f| {
            let own = f
                .claims
                .iter()
                .any(|c| c.kind == ClaimKind::Mean && c.subject == means.factors[0]);
            own && f.text.contains("differs between the levels")
        }) else {
            continue;
        };
        let known: Vec<f64> = means.cells.iter().filter_map(|cell| cell.mean).collect();
        let low = known.iter().copied().fold(f64::INFINITY, f64::min);
        let high = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let told: Vec<f64> = finding.claims.iter().map(|c| c.estimate).collect();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        prop_assert!(
            close(told[0], low) && close(told[1], high),
            "{} {:?}",
            finding.text,
            known
        );
    }
    // Pairs are called apart exactly where their simultaneous interval is.
    for comparisons in &analysis.comparisons {
        for pair in &comparisons.pairs {
            let apart = pair.lower > 0.0 || pair.upper < 0.0;
            if (pair.p - level).abs() > 1e-6 {
                prop_assert_eq!(apart, pair.p < level, "{:?}", pair);
            }
        }
    }
    for term in &analysis.evidence {
        prop_assert!(term.adjusted + 1e-12 >= term.p || term.basis == Basis::Permutation);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_sentence_about_a_random_table_is_false(
        random in random_table(),
        model in 0_usize..7,
        kind in prop_oneof![Just(AnovaType::I), Just(AnovaType::II), Just(AnovaType::III)],
    ) {
        let table = random.table();
        let formula = [
            None,
            Some("y ~ g"),
            Some("y ~ g + h"),
            Some("y ~ g * h"),
            Some("y ~ g + x"),
            Some("y ~ h * x"),
            Some("y ~ x + I(x^2) + h"),
        ][model];
        let options = AnalysisOptions {
            formula,
            kind,
            permutations: 19,
            ..AnalysisOptions::default()
        };
        if let Ok(analysis) = analyze(&table, "y", &options) {
            hold(&analysis)?;
        }
    }
}
