//! How the analysis of paper 002's runs looks in all three forms.

mod markup;

use markup::{assert_described, assert_self_contained, assert_well_formed};
use paceline_report::analyze::AnalysisReport;
use paceline_report::text::{Style, columns};
use paceline_stats::analysis::{Analysis, AnalysisOptions, analyze};
use paceline_stats::anova::AnovaType;
use paceline_stats::table::Table;

const CSV: &str = include_str!("../../stats/oracle/spark_bigdl_cost.csv");
const PAPER: &str = "cost ~ nodes + executors + cores + epochs + learning_rate \
    + epochs:learning_rate + batch_size + epochs:batch_size + learning_rate:batch_size \
    + epochs:learning_rate:batch_size";

fn table(csv: &str) -> Table {
    let mut lines = csv.lines();
    let header = lines.next().expect("a table has a header");
    let mut builder = Table::builder(header.split(','));
    for line in lines {
        builder
            .push_row(line.split(','))
            .expect("rows are complete");
    }
    builder.finish().expect("the table is whole")
}

fn analysis(table: &Table, response: &str, formula: Option<&str>) -> Analysis {
    let options = AnalysisOptions {
        formula,
        kind: AnovaType::I,
        // Enough to see how the results look, and quick without optimisation.
        permutations: 99,
        ..AnalysisOptions::default()
    };
    analyze(table, response, &options).expect("the table can be analysed")
}

fn with_report<T>(
    csv: &str,
    response: &str,
    formula: Option<&str>,
    check: impl Fn(&AnalysisReport<'_>) -> T,
) -> T {
    let table = table(csv);
    let analysis = analysis(&table, response, formula);
    check(&AnalysisReport {
        analysis: &analysis,
        confidence: 0.95,
        source: "spark_bigdl_cost.csv".to_owned(),
        remarks: vec!["1 run that is not done was left out".to_owned()],
    })
}

/// An unreplicated 2^3 with a strong factor, a weak one and an interaction, and
/// a name that must be escaped.
const UNREPLICATED: &str = "a,b,c<d,y\n0,0,0,10.1\n1,0,0,20.2\n0,1,0,10.4\n1,1,0,21.0\n\
    0,0,1,12.3\n1,0,1,25.1\n0,1,1,11.9\n1,1,1,25.8\n";

#[test]
fn the_papers_runs_as_text() {
    with_report(CSV, "cost", Some(PAPER), |report| {
        insta::assert_snapshot!(report.text(100, Style::Plain));
    });
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (csv, response, formula) in [
        (CSV, "cost", Some(PAPER)),
        (CSV, "cost", None),
        (UNREPLICATED, "y", None),
    ] {
        with_report(csv, response, formula, |report| {
            for width in [60, 80, 100] {
                for line in report.text(width, Style::Plain).lines() {
                    assert!(columns(line) <= width, "{line:?} at {width}");
                }
            }
        });
    }
}

#[test]
fn the_page_stands_alone_and_describes_every_plot() {
    for (csv, response, formula) in [
        (CSV, "cost", Some(PAPER)),
        (CSV, "cost", None),
        (UNREPLICATED, "y", None),
    ] {
        with_report(csv, response, formula, |report| {
            let html = report.html();
            assert_well_formed(&html);
            assert_self_contained(&html);
            assert_described(&html);
        });
    }
}

#[test]
fn the_page_of_a_replicated_two_level_design_has_every_plot() {
    with_report(CSV, "cost", Some(PAPER), |report| {
        let html = report.html();
        for plot in [
            "Main effects on cost",
            "Interactions on cost",
            "Half-normal plot of the effects on cost",
            "Residuals against fitted values",
            "Normal Q–Q plot of the residuals",
            "Cook&#39;s distance",
            "Variation of cost explained by each term",
        ] {
            assert!(html.contains(&format!("<title>{plot}</title>")), "{plot}");
        }
        assert!(html.len() < 300_000, "{} bytes", html.len());
    });
}

#[test]
fn json_keeps_every_digit_and_its_keys() {
    with_report(CSV, "cost", Some(PAPER), |report| {
        let json = report.json();
        let keys: Vec<&str> = json
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(
            keys,
            [
                "response",
                "formula",
                "formula_chosen",
                "source",
                "confidence",
                "observations",
                "dropped",
                "notes",
                "summary",
                "anova",
                "coefficients",
                "aliased",
                "effects",
                "lenth",
                "variance_inflation",
                "outliers",
                "lack_of_fit",
                "box_cox",
                "assumptions",
                "recommendation",
                "findings",
                "claims",
                "means",
                "interaction_means",
                "comparisons",
                "decisive",
                "curvature",
                "unit",
                "rows",
                "number_notes",
            ]
        );
        let row = report.analysis.anova.row("learning_rate").expect("a term");
        let written = &json["anova"]["terms"][4];
        assert_eq!(written["term"], "learning_rate");
        assert_eq!(written["sum_of_squares"].as_f64(), Some(row.sum_of_squares));
        assert_eq!(json["assumptions"][0]["verdict"], "violated");
        assert_eq!(json["rows"].as_array().map(Vec::len), Some(300));
        let text = json.to_string();
        let read: serde_json::Value = serde_json::from_str(&text).expect("valid JSON");
        assert_eq!(read, json);
    });
}
