//! Numbers in JSON, which knows neither NaN nor infinity.

use serde_json::Value;

/// Writes numbers and remembers those that JSON cannot hold.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    notes: Vec<String>,
}

impl Numbers {
    /// The number at full precision; `null` and a note if it is not finite.
    pub(super) fn put(&mut self, name: &str, value: f64) -> Value {
        match serde_json::Number::from_f64(value) {
            Some(number) => Value::Number(number),
            None => {
                let kind = if value.is_nan() {
                    "does not exist"
                } else if value > 0.0 {
                    "is infinite"
                } else {
                    "is minus infinity"
                };
                self.notes.push(format!("null: {name} {kind}"));
                Value::Null
            }
        }
    }

    /// What every `null` that stands for a number means.
    pub(super) fn notes(self) -> Vec<String> {
        self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_json_cannot_hold_is_null_with_a_note() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.put("f", 0.1), serde_json::json!(0.1));
        assert_eq!(numbers.put("condition_number", f64::INFINITY), Value::Null);
        assert_eq!(numbers.notes(), ["null: condition_number is infinite"]);
    }
}
