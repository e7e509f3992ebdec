//! The reference page, from the same table as the schema.

use crate::builtin::{BuiltInFactor, FactorOwner};
use crate::expression::Function;
use crate::keys::{
    COMMAND_JOB, DESIGN, ENGINE, FACTOR, Key, POLICY, RESPONSE, SECTIONS, SPARK_JOB, SectionKeys,
    Shape, TOP, TRAIN_JOB,
};
use crate::words::Word as _;
use paceline_model::RunValue;
use std::fmt::Write as _;

/// The reference of `study.toml` in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    let mut add = |text: &str| {
        page += text;
        page.push('\n');
    };
    add(&rows(&TOP));
    for (name, doc) in SECTIONS {
        add(&format!("## `[{name}]`\n\n{doc}\n"));
        match *name {
            "job" => {
                add(&format!(
                    "With `kind = \"command\"`:\n\n{}",
                    rows(&COMMAND_JOB)
                ));
                add(&format!(
                    "With `kind = \"train\"`; every other key is an option of the trainer:\n\n{}",
                    rows(&TRAIN_JOB)
                ));
                add(&format!(
                    "With `kind = \"spark-submit\"`; every other key begins with `spark.`, in quotes, and is a setting of Spark:\n\n{}",
                    rows(&SPARK_JOB)
                ));
            }
            "factors" => {
                add(&format!("A factor may be a table:\n\n{}", rows(&FACTOR)));
                add(&format!(
                    "Paceline itself acts on these factors:\n\n{}",
                    built_in_factors()
                ));
            }
            "design" => add(&rows(&DESIGN)),
            "responses" => {
                add(&format!(
                    "A response may be a table:\n\n{}",
                    rows(&RESPONSE)
                ));
                add(&format!("{EXPRESSIONS}\n\n{}", functions()));
                add(&format!(
                    "Values that Paceline measures for every run:\n\n{}",
                    run_values()
                ));
            }
            "policy" => add(&rows(&POLICY)),
            "engine" => add(&rows(&ENGINE)),
            _ => {}
        }
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

const INTRODUCTION: &str = "\
# `study.toml`

This page is generated from the table of keys that the parser uses.

For completion and checks while typing, begin the file with the path of the schema;
editors with a TOML language server (Taplo, Even Better TOML) read it:

```toml
#:schema ./study.schema.json
```

Most values can be given on the command line as well: `batch_size=64,128` replaces or adds a
factor, `rate=0.001..0.1` makes it a range, `fixed.epochs=3` a constant, and
`design.replicates=5` sets a key.

";

const EXPRESSIONS: &str = "\
Expressions know numbers, names, `+ - * / ^`, unary minus, parentheses and the functions below.
A name is another response, a value that Paceline measures, a factor, a constant, or a metric
that the run reports, in this order; its own name in a response's expression is the metric. A
value that is missing or not finite is recorded as such, never as a zero. Conditions (`forbid`)
add `== != < <= > >=`, `and`, `or`, `not`, `true`, `false` and words in quotes.";

fn rows(section: &SectionKeys) -> String {
    let mut table = String::from("| Key | Value | Meaning |\n|---|---|---|\n");
    for key in section.keys {
        writeln!(
            table,
            "| `{}` | {} | {} |",
            key.name,
            value(key),
            meaning(key)
        )
        .expect("writing to a string succeeds");
    }
    table
}

fn meaning(key: &Key) -> String {
    let kinds: Vec<_> = key
        .only
        .iter()
        .map(|kind| format!("`{}`", kind.word()))
        .collect();
    let text = if kinds.is_empty() {
        key.doc.to_owned()
    } else {
        format!("{} Only with kind {}.", key.doc, kinds.join(", "))
    };
    text.replace('|', "\\|")
}

fn value(key: &Key) -> String {
    let words = |words: &[&str]| {
        let quoted: Vec<_> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
        quoted.join(", ")
    };
    match key.shape {
        Shape::Text => "text".to_owned(),
        Shape::Switch => "`true` or `false`".to_owned(),
        Shape::Whole { min, max: i64::MAX } => format!("whole number from {min}"),
        Shape::Whole { min, max } => format!("whole number from {min} to {max}"),
        Shape::Number => "number".to_owned(),
        Shape::OneOf(list) => words(list),
        Shape::NumberOrOneOf(list) => format!("number above zero, {}", words(list)),
        Shape::Duration => "`\"90s\"`, `\"1h30m\"` or seconds: a [time](quantities.md)".to_owned(),
        Shape::Size => "`\"4GiB\"`, `\"512MB\"` or bytes: a [size](quantities.md)".to_owned(),
        Shape::Command => "list of texts, or text".to_owned(),
        Shape::TextList => "list of texts".to_owned(),
        Shape::TextTable => "names with texts".to_owned(),
        Shape::LevelTable => "names with levels".to_owned(),
        Shape::Levels => "list of levels".to_owned(),
        Shape::Expression => "expression".to_owned(),
    }
}

fn built_in_factors() -> String {
    let rows = BuiltInFactor::ALL.iter().map(|factor| {
        let owner = match factor.owner {
            FactorOwner::Trainer => "the trainer",
            FactorOwner::Runner => "every job",
            FactorOwner::Cluster => "cluster engines",
            FactorOwner::Spark if factor.name == "executor_memory" => "`spark-submit`",
            FactorOwner::Spark => "`spark-submit`; engine `spark`",
        };
        format!("| `{}` | {owner} | {} |\n", factor.name, factor.describe)
    });
    format!(
        "| Factor | Acts on | Meaning |\n|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn functions() -> String {
    let words: Vec<_> = Function::WORDS
        .iter()
        .map(|word| format!("`{word}`"))
        .collect();
    format!(
        "Functions: {}. `log` is the natural logarithm.\n",
        words.join(", ")
    )
}

fn run_values() -> String {
    let rows = RunValue::ALL
        .iter()
        .map(|value| format!("| `{}` | {} |\n", value.name(), value.describe()));
    format!(
        "| Value | Meaning |\n|---|---|\n{}",
        rows.collect::<String>()
    )
}
