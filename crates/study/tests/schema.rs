//! The schema that editors use is the one that the parser's keys make.

use paceline_study::{DesignKind, schema};

#[test]
fn the_committed_schema_is_the_generated_one() {
    let committed = include_str!("../../../docs/reference/study.schema.json");
    assert_eq!(
        committed,
        schema(),
        "run `cargo run -p paceline-study --example schema > docs/reference/study.schema.json`"
    );
}

#[test]
fn the_schema_names_every_design() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let words = &schema["properties"]["design"]["properties"]["kind"]["enum"];
    assert_eq!(words.as_array().unwrap().len(), DesignKind::ALL.len());
}

#[test]
fn the_committed_reference_is_the_generated_one() {
    let committed = include_str!("../../../docs/reference/study.md");
    assert_eq!(
        committed,
        paceline_study::reference(),
        "run `cargo run -p paceline-study --example reference > docs/reference/study.md`"
    );
}
