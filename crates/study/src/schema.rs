//! The JSON Schema for editors, from the table of keys.

use crate::job::JobKind;
use crate::keys::{
    COMMAND_JOB, DESIGN, ENGINE, FACTOR, Key, POLICY, RESPONSE, SECTIONS, SPARK_JOB, SectionKeys,
    Shape, TOP, TRAIN_JOB,
};
use paceline_model::quantity;
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 7) of `study.toml`, with a final line break.
///
/// An editor with a TOML language server uses it when the file begins with
/// `#:schema` and the schema's path. It knows types, words and bounds; what
/// depends on several keys is left to the check.
#[must_use]
pub fn schema() -> String {
    let mut properties = Map::new();
    for key in TOP.keys {
        properties.insert(key.name.to_owned(), property(key));
    }
    for (name, doc) in SECTIONS {
        let mut section = match *name {
            "job" => json!({ "oneOf": [
                job(JobKind::Command), job(JobKind::Train), job(JobKind::SparkSubmit)
            ] }),
            "fixed" => named(scalar()),
            "factors" => named(json!({ "oneOf": [levels(), object(&FACTOR)] })),
            "design" => object(&DESIGN),
            "responses" => named(json!({
                "oneOf": [{ "type": ["string", "number"] }, object(&RESPONSE)]
            })),
            "policy" => object(&POLICY),
            "engine" => object(&ENGINE),
            other => unreachable!("section {other} has a schema of its own"),
        };
        section["description"] = json!(doc);
        properties.insert((*name).to_owned(), section);
    }
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Paceline study",
        "description": TOP.doc,
        "type": "object",
        "properties": properties,
        "required": ["job", "factors"],
        "additionalProperties": false,
    });
    let text = serde_json::to_string_pretty(&schema).expect("a JSON value has a text");
    text + "\n"
}

fn job(kind: JobKind) -> Value {
    let keys = match kind {
        JobKind::Command => &COMMAND_JOB,
        JobKind::Train => &TRAIN_JOB,
        JobKind::SparkSubmit => &SPARK_JOB,
    };
    let mut schema = object(keys);
    schema["properties"]["kind"]["enum"] = json!([kind.word()]);
    match kind {
        JobKind::Command => schema["required"] = json!(["command"]),
        JobKind::Train => {
            schema["required"] = json!(["kind"]);
            schema["additionalProperties"] = scalar();
        }
        JobKind::SparkSubmit => {
            schema["required"] = json!(["kind", "application"]);
            schema["patternProperties"] = json!({ "^spark\\.": scalar() });
        }
    }
    schema
}

fn object(keys: &SectionKeys) -> Value {
    let properties: Map<String, Value> = keys
        .keys
        .iter()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    json!({
        "type": "object",
        "description": keys.doc,
        "properties": properties,
        "additionalProperties": false,
    })
}

/// A table whose keys the user invents.
fn named(value: Value) -> Value {
    json!({
        "type": "object",
        "propertyNames": { "pattern": "^([A-Za-z][A-Za-z0-9_]{0,63}|spark\\.[A-Za-z0-9_.-]+)$" },
        "additionalProperties": value,
    })
}

fn property(key: &Key) -> Value {
    let mut schema = shape(key.shape);
    let only: Vec<_> = key
        .only
        .iter()
        .map(|kind| format!("`{}`", kind.word()))
        .collect();
    schema["description"] = json!(if only.is_empty() {
        key.doc.to_owned()
    } else {
        format!("{} Only with kind {}.", key.doc, only.join(", "))
    });
    schema
}

fn shape(shape: Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Switch => json!({ "type": "boolean" }),
        Shape::Whole { min, max: i64::MAX } => json!({ "type": "integer", "minimum": min }),
        Shape::Whole { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        Shape::Number => json!({ "type": "number" }),
        Shape::OneOf(words) => json!({ "type": "string", "enum": words }),
        Shape::NumberOrOneOf(words) => json!({ "oneOf": [
            { "type": "number", "exclusiveMinimum": 0 },
            { "type": "string", "enum": words },
        ] }),
        Shape::Duration => json!({ "oneOf": [
            { "type": "number", "exclusiveMinimum": 0 },
            { "type": "string", "pattern": quantity::TIME_PATTERN },
        ] }),
        Shape::Size => json!({ "oneOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": quantity::SIZE_PATTERN },
        ] }),
        Shape::Command => json!({ "oneOf": [
            { "type": "string", "minLength": 1 },
            { "type": "array", "items": { "type": ["string", "number"] }, "minItems": 1 },
        ] }),
        Shape::TextList => json!({ "oneOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" } },
        ] }),
        Shape::TextTable | Shape::LevelTable => {
            json!({ "type": "object", "additionalProperties": scalar() })
        }
        Shape::Levels => levels(),
        Shape::Expression => json!({ "type": ["string", "number"] }),
    }
}

fn scalar() -> Value {
    json!({ "type": ["string", "number", "boolean"] })
}

fn levels() -> Value {
    json!({ "type": "array", "items": scalar(), "minItems": 2, "uniqueItems": true })
}
