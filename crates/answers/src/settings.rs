//! Configurations as people and programs read them.

use paceline_model::Level;
use serde_json::Value;

/// A configuration as people write it.
#[must_use]
pub fn written(settings: &[(String, Level)]) -> String {
    let parts: Vec<String> = settings
        .iter()
        .map(|(name, level)| format!("{name}={level}"))
        .collect();
    parts.join(", ")
}

/// A configuration as a JSON object.
#[must_use]
pub fn settings_json(settings: &[(String, Level)]) -> Value {
    let entries = settings
        .iter()
        .map(|(name, level)| (name.clone(), level_json(level)));
    Value::Object(entries.collect())
}

/// A level as a JSON value.
#[must_use]
pub fn level_json(level: &Level) -> Value {
    match level {
        Level::Integer(value) => (*value).into(),
        Level::Number(value) => (*value).into(),
        Level::Switch(value) => (*value).into(),
        Level::Word(value) => value.clone().into(),
    }
}
