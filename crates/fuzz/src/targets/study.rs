//! Study files that parse, and expressions over what runs report.

use crate::Source;
use paceline_study::{Capabilities, RawStudy};
use std::fmt::Write;
use std::path::Path;

const KINDS: [&str; 9] = [
    "full",
    "two-level",
    "fractional",
    "one-at-a-time",
    "plackett-burman",
    "central-composite",
    "box-behnken",
    "latin-hypercube",
    "optimal",
];

/// A study that mostly means something: it is checked, planned, and each of its
/// first runs gets a command; written out and read again it is the same study.
pub(super) fn study(case: u64, _: &Path) {
    let mut source = Source::new(case);
    let mut text = text(&mut source);
    if source.once_in(4) {
        let mut bytes = text.into_bytes();
        source.damage(&mut bytes);
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    let Ok(raw) = RawStudy::parse("study.toml", &text) else {
        return;
    };
    let Ok(study) = raw.check(&Capabilities::ALL) else {
        return;
    };
    let again = RawStudy::parse("study.toml", &study.to_toml())
        .and_then(|raw| raw.check(&Capabilities::ALL))
        .unwrap_or_else(|problems| panic!("what was written is not read: {problems:?}\n{text}"));
    assert_eq!(study.fingerprint(), again.fingerprint(), "{text}");
    let Ok((_, plan)) = paceline_runner::study::plan(&study) else {
        return;
    };
    for run in &plan.runs {
        assert_eq!(plan.levels(run).len(), plan.factors.len(), "{text}");
    }
    let facts = paceline_study::RunFacts {
        constants: Vec::new(),
        seed: 1,
        run_id: "r1".to_owned(),
        run_dir: "/tmp/run".to_owned(),
        replicate: 0,
        program: "paceline".to_owned(),
        checkpoint_dir: "/tmp/run/checkpoint".to_owned(),
        checkpoint: paceline_study::CheckpointUse::None,
        event_log_dir: "/tmp/run/spark".to_owned(),
    };
    for run in plan.runs.iter().take(3) {
        // A template may refuse a level; it may not panic.
        let _ = study.command_for(plan.levels(run), &facts);
    }
}

fn text(source: &mut Source) -> String {
    let mut text = String::new();
    let count = 1 + source.below(5);
    let names: Vec<String> = (0..count).map(|i| format!("f{i}")).collect();
    let words: String = names
        .iter()
        .map(|name| format!(", \"{{{name}}}\""))
        .collect();
    let _ = write!(
        text,
        "name = \"n\"\n[job]\nkind = \"command\"\ncommand = [\"true\"{words}]\n[factors]\n"
    );
    for name in &names {
        let levels = 1 + source.below(4);
        let numeric = !source.once_in(4);
        let list: Vec<String> = (0..levels)
            .map(|i| match numeric {
                true if source.once_in(10) => source.number(),
                true => format!("{}", i + 1),
                false => format!("\"{}\"", source.word().escape_default()),
            })
            .collect();
        let _ = writeln!(text, "{name} = [{}]", list.join(", "));
    }
    let kind = source.pick(&KINDS);
    let _ = writeln!(text, "[design]\nkind = \"{kind}\"");
    // Small designs: a plan of a thousand runs finds nothing more.
    if matches!(kind, "latin-hypercube" | "optimal" | "plackett-burman") {
        let _ = writeln!(text, "runs = {}", source.below(40));
    }
    if kind == "optimal" {
        let model = source.pick(&[
            "linear",
            "quadratic",
            "interactions",
            "f0*f1",
            "f0 + f0^2",
            "~",
        ]);
        let _ = writeln!(text, "model = \"{model}\"");
    }
    if kind == "fractional" {
        let by = source.pick(&[
            "resolution = 3",
            "resolution = 4",
            "fraction = 1",
            "generators = [\"D = A*B\"]",
        ]);
        let _ = writeln!(text, "{by}");
    }
    for (key, most) in [
        ("replicates", 4),
        ("blocks", 4),
        ("seed", 100),
        ("warmup", 3),
    ] {
        if source.once_in(3) {
            let _ = writeln!(text, "{key} = {}", source.below(most));
        }
    }
    text.push_str("[responses]\ntime = \"duration_s\"\n");
    for name in ["a", "b"] {
        if source.once_in(2) {
            let _ = writeln!(
                text,
                "{name} = \"{}\"",
                expression_text(source, 3).replace('"', "")
            );
        }
    }
    text
}

/// Expressions that people could write, over names that may not be there.
pub(super) fn expression(case: u64, _: &Path) {
    let mut source = Source::new(case);
    let text = expression_text(&mut source, 6).replace(['"', '\\'], "");
    let study = format!(
        "name = \"n\"\n[job]\nkind = \"command\"\ncommand = [\"true\", \"{{f}}\"]\n[factors]\nf = [1, 2]\n\
         [responses]\ntime = \"duration_s\"\nloss = \"loss\"\nx = \"{text}\"\n"
    );
    if let Ok(raw) = RawStudy::parse("study.toml", &study) {
        let _ = raw.check(&Capabilities::ALL);
    }
}

fn expression_text(source: &mut Source, depth: usize) -> String {
    if depth == 0 {
        return match source.below(3) {
            0 => source.number(),
            1 => source
                .pick(&["time", "loss", "f", "f0", "duration_s", "nothing"])
                .to_owned(),
            _ => source.word(),
        };
    }
    let mut inner = || expression_text(source, depth - 1);
    let (a, b) = (inner(), inner());
    match source.below(8) {
        0 => format!("({a})"),
        1 => format!("-{a}"),
        2 => format!("{a}^{b}"),
        3 => format!("log({a})"),
        4 => format!("min({a}, {b})"),
        5 => format!("{a} / {b}"),
        6 => format!("{a} * ({b} + {a})"),
        _ => format!("{a} - {b}"),
    }
}
