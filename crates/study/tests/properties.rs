//! No text makes the check panic, and every study reads back from its canonical form.

use paceline_study::{Capabilities, RawStudy, Study};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn check(text: &str) -> Option<Study> {
    RawStudy::parse("study.toml", text)
        .ok()?
        .check(&Capabilities::ALL)
        .ok()
}

/// Texts that resemble a study: pieces that are right, wrong or misplaced.
fn resembling_a_study() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("[job]"),
        Just("[factors]"),
        Just("[design]"),
        Just("[responses]"),
        Just("[policy]"),
        Just("[fixed]"),
        Just("[engine]"),
        Just("command = [\"x\", \"{a}\"]"),
        Just("command = \"x {a} {\""),
        Just("a = [1, 2]"),
        Just("b = [\"x\", 1, true]"),
        Just("c = { low = 1, high = 9, steps = 3 }"),
        Just("d = { low = 0, high = 1, scale = \"log\" }"),
        Just("kind = \"fractional\""),
        Just("kind = \"optimal\""),
        Just("kind = \"train\""),
        Just("kind = \"one-at-a-time\""),
        Just("generators = [\"C = A*B\", \"=\", \"-\"]"),
        Just("model = \"a*b + c^2\""),
        Just("runs = 8"),
        Just("forbid = [\"a == 1 and not b\", \"a > 'x'\", \"a / a < c\"]"),
        Just("control = { a = 2, z = 1 }"),
        Just("t = \"a + t / u\""),
        Just("u = \"t\""),
        Just("v = { regex = \"(\" }"),
        Just("w = { metric = 1 }"),
        Just("timeout = \"5 years\""),
        Just("memory = -1"),
        Just("cpus = 99999999999"),
        Just("a = 1979-05-27"),
        Just("cost_per_run = \"a\""),
        Just("budget = nan"),
        Just("alpha = []"),
        Just("env = { A = [] }"),
    ];
    proptest::collection::vec(pieces, 0..14).prop_map(|pieces| pieces.join("\n"))
}

fn word() -> impl Strategy<Value = String> {
    // Quotes, backslashes, braces and letters beyond ASCII must survive.
    proptest::string::string_regex("[a-zA-Z0-9 \"'\\\\{}$#=é→.:-]{1,8}")
        .expect("the pattern is one")
}

/// A JSON string, which TOML reads as well.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn level() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i32>().prop_map(|i| i.to_string()),
        (-1e12..1e12).prop_map(|x: f64| format!("{x:?}")),
        any::<bool>().prop_map(|b| b.to_string()),
        word().prop_map(|word| quoted(&word)),
    ]
}

fn factor() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(level(), 2..5)
            .prop_map(|levels| format!("[{}]", levels.join(", "))),
        (1..100_i64, 100..10_000_i64, 2..6_u8, any::<bool>()).prop_map(
            |(low, high, steps, log)| {
                let scale = if log { "log" } else { "linear" };
                format!("{{ low = {low}, high = {high}, steps = {steps}, scale = \"{scale}\" }}")
            }
        ),
        (1..100_i64)
            .prop_map(|low| format!("{{ levels = [{low}, {low}.5], type = \"categorical\" }}")),
    ]
}

fn design() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("kind = \"one-at-a-time\"".to_owned()),
        (8..40_u32).prop_map(|runs| format!("kind = \"latin-hypercube\"\nruns = {runs}")),
        (8..40_u32).prop_map(|runs| format!("kind = \"optimal\"\nruns = {runs}\nmodel = \"a*b + b\"\ncost_per_run = \"2^-n\"\nbudget = 5")),
        Just("forbid = [\"not (n == 1 or n > 3) and -n < 2^3\"]".to_owned()),
        (2..5_u32).prop_map(|blocks| format!("blocks = {blocks}\nblock_by = \"node\"\nwarmup = 1\norder = \"standard\"")),
    ]
}

/// Studies of which nearly all are valid.
fn likely_study() -> impl Strategy<Value = String> {
    (factor(), factor(), design(), word(), 1..5_000_u32, any::<bool>()).prop_map(
        |(a, b, design, word, millis, repeat)| {
            let text = quoted(&word.replace(['{', '}'], ""));
            let noise = if repeat { "noise = \"repeat\"\nnoise_repeats = 2" } else { "" };
            format!(
                "name = {text}\n[job]\ncommand = [\"x\", \"{{{{}}}}{{a}}{{b}}\"]\nenv = {{ E = {text} }}\n\
                 [fixed]\nn = 3\n[factors]\na = {a}\nb = {b}\n[design]\n{design}\n\
                 [responses]\nt = \"duration_s ^ -2 / (1 - n)\"\nr = {{ regex = {text}, take = \"min\" }}\nm = {{ metric = {text} }}\n\
                 [policy]\ntimeout = \"{millis}ms\"\nmemory = \"1.5GiB\"\n{noise}\n"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(20_261_115),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_text_makes_the_check_panic(text in ".{0,200}") {
        check(&text);
    }

    #[test]
    fn nothing_resembling_a_study_makes_the_check_panic(text in resembling_a_study()) {
        if let Ok(raw) = RawStudy::parse("study.toml", &text) {
            if let Err(problems) = raw.check(&Capabilities::LOCAL_COMMANDS) {
                prop_assert!(!problems.to_string().is_empty());
            }
            check(&text);
        }
    }

    #[test]
    fn no_argument_makes_the_check_panic(arguments in proptest::collection::vec("[a-z.=,\"0-9{} -]{0,20}", 0..4)) {
        let raw = RawStudy::parse("study.toml", "job.command = \"x {a}\"\nfactors.a = [1, 2]\n").unwrap();
        if let Ok(raw) = raw.with_arguments(arguments.iter().map(String::as_str)) {
            let _ = raw.check(&Capabilities::ALL);
        }
    }

    #[test]
    fn every_study_reads_back_from_its_canonical_form(text in likely_study()) {
        if let Some(study) = check(&text) {
            let canonical = study.to_toml();
            let again = RawStudy::parse("canonical", &canonical)
                .and_then(|raw| raw.check(&Capabilities::ALL));
            let again = match again {
                Ok(again) => again,
                Err(problems) => return Err(TestCaseError::fail(format!("{problems}\n{canonical}"))),
            };
            prop_assert_eq!(&again, &study);
            prop_assert_eq!(again.to_toml(), canonical);
            prop_assert_eq!(again.fingerprint(), study.fingerprint());
        }
    }
}

#[test]
fn most_of_the_likely_studies_are_studies() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let valid = (0..200)
        .filter(|_| check(&likely_study().new_tree(&mut runner).unwrap().current()).is_some())
        .count();
    assert!(
        valid > 60,
        "only {valid} of 200 are valid, so the property above shows little"
    );
}
