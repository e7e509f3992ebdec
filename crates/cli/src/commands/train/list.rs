//! `paceline train --list`.

use crate::args::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use paceline_nets::ModelSpec;
use paceline_train::{ClassicSpec, Optimizer, Schedule};
use serde_json::{Map, Value};

const DATA: [(&str, &str); 6] = [
    (
        "mnist",
        "70,000 handwritten digits, 28×28, embedded; mnist:10000 for the first rows",
    ),
    (
        "tweets",
        "4,199 rated tweets, embedded; --text says how they become features",
    ),
    (
        "synthetic:dense,rows=N,width=N",
        "logistic regression with a known answer, dense",
    ),
    (
        "synthetic:sparse,rows=N,width=N",
        "the same, of which most features are zero",
    ),
    (
        "synthetic:blobs,rows=N,classes=N",
        "clouds of points, one for each class",
    ),
    (
        "a path",
        "IDX, CSV, LIBSVM, NumPy or text; a file or a directory",
    ),
];

pub(super) fn list(format: Format) -> Result<Exit, Failure> {
    let models = [ModelSpec::list(), &ClassicSpec::LIST[..]].concat();
    let sections = [
        ("models", models.as_slice()),
        ("data", &DATA[..]),
        ("optimizers", &Optimizer::LIST[..]),
        ("schedules", &Schedule::LIST[..]),
    ];
    match format {
        Format::Json => {
            let object: Map<String, Value> = sections
                .iter()
                .map(|(name, entries)| {
                    let entries: Vec<Value> = entries
                        .iter()
                        .map(|(word, says)| serde_json::json!({"name": word, "description": says}))
                        .collect();
                    ((*name).to_owned(), Value::Array(entries))
                })
                .collect();
            output::data(&output::json(&Value::Object(object)))?;
        }
        Format::Text => {
            let mut text = String::new();
            for (name, entries) in sections {
                text.push_str(&format!("{name}\n"));
                for (word, says) in entries {
                    text.push_str(&format!("  {word:<32} {says}\n"));
                }
                text.push('\n');
            }
            text.push_str("`paceline train --help` shows all options.\n");
            output::data(&text)?;
        }
    }
    Ok(Exit::Done)
}
