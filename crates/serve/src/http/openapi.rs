//! What can be asked, for programs.

use serde_json::{Map, Value, json};

/// Every route: its method, its path and what it is for.
pub const ROUTES: [(&str, &str, &str); 7] = [
    ("get", "/", "The live page."),
    (
        "get",
        "/view",
        "The page of a study or a run, by its path below the served directory.",
    ),
    (
        "get",
        "/api/state",
        "Jobs, promises, studies and runs as they are now.",
    ),
    (
        "post",
        "/api/jobs",
        "Ask for a job with a deadline: accepted with a promise, or refused with the nearest deadline that could be kept.",
    ),
    (
        "delete",
        "/api/jobs/{id}",
        "Cancel a job that waits or runs.",
    ),
    ("get", "/metrics", "For Prometheus."),
    ("get", "/openapi.json", "This description."),
];

/// The OpenAPI 3.1 description of the routes.
#[must_use]
pub fn openapi() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for (method, path, summary) in ROUTES {
        let entry = paths.entry(path.to_owned()).or_insert_with(|| json!({}));
        let mut operation = json!({
            "summary": summary,
            "responses": {
                "200": { "description": "done" },
                "401": { "description": "the token is missing or wrong" },
            },
        });
        if path.contains("{id}") {
            operation["parameters"] = json!([
                { "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }
            ]);
            operation["responses"]["404"] = json!({ "description": "no such job" });
        }
        if path == "/view" {
            operation["parameters"] = json!([
                { "name": "path", "in": "query", "required": true, "schema": { "type": "string" } }
            ]);
        }
        if method == "post" {
            operation["requestBody"] = json!({
                "required": true,
                "content": { "application/json": { "schema": request() } },
            });
            operation["responses"]["201"] = json!({ "description": "accepted" });
            operation["responses"]["422"] =
                json!({ "description": "it means nothing, or nothing is known of the job" });
        }
        entry[method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Paceline", "version": env!("CARGO_PKG_VERSION") },
        "security": [{ "token": [] }],
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } }
        },
        "paths": paths,
    })
}

fn request() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "study": { "type": "string", "description": "the directory of a study, absolute" },
            "command": { "type": "array", "items": { "type": "string" } },
            "cwd": { "type": "string" },
            "deadline_s": { "type": "number", "exclusiveMinimum": 0 },
            "confidence": { "type": "number", "minimum": 0.5, "maximum": 0.99, "default": 0.95 },
            "maximize": { "type": "string" },
            "minimize": { "type": "string" },
            "given": { "type": "array", "items": { "type": "array", "items": { "type": "string" } } },
            "epochs_free": { "type": "boolean", "default": false },
            "cpus": { "type": "integer", "minimum": 1 },
            "learn": { "type": "boolean", "default": false },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    #[test]
    fn the_description_has_every_key_of_a_request() {
        let known =
            serde_json::from_str::<Request>(r#"{"command": ["a"], "learn": true}"#).unwrap();
        let Value::Object(keys) = serde_json::to_value(known).unwrap() else {
            panic!("a request is an object");
        };
        let described = request();
        let mut names: Vec<&String> = described["properties"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        let mut keys: Vec<&String> = keys.keys().collect();
        names.sort();
        keys.sort();
        assert_eq!(names, keys);
    }
}
