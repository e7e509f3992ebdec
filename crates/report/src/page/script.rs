//! A program inside the page, and the data it shows.

use crate::base64;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A program of this crate with its data. The page's content security policy
/// names the program by its hash: no other can run, whatever a name in the data
/// looks like.
#[derive(Debug, Clone)]
pub struct Script {
    code: &'static str,
    data: Value,
}

impl Script {
    pub(crate) fn new(code: &'static str, data: Value) -> Self {
        Self { code, data }
    }

    /// The source that a policy allows.
    pub(super) fn source(&self) -> String {
        let hash = Sha256::digest(self.code.as_bytes());
        format!("'sha256-{}'", base64::encode(&hash))
    }

    /// The data as a block that no browser executes, then the program.
    pub(super) fn markup(&self) -> String {
        format!(
            "<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n",
            harmless(&self.data),
            self.code
        )
    }
}

/// JSON in which no character can end the element that holds it. These three
/// stand in strings only, where an escape means the same.
fn harmless(data: &Value) -> String {
    let text = data.to_string();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_cannot_end_the_data() {
        let data = json!({ "</script><script>alert(1)</script>": "<!--&" });
        let text = harmless(&data);
        assert!(!text.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), data);
    }

    #[test]
    fn the_policy_names_the_program_by_its_hash() {
        // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
        let script = Script::new("alert(1)", json!(null));
        assert_eq!(
            script.source(),
            "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
        );
    }
}
