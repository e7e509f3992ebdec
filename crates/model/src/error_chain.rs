//! An error with everything that led to it.

use std::error::Error;

/// An error with its causes, on one line: `cannot read a.csv: permission denied`.
#[must_use]
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Some errors say their source's text themselves.
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1
                .as_ref()
                .map(|inner| inner.as_ref() as &(dyn Error + 'static))
        }
    }

    #[test]
    fn every_cause_is_said_once() {
        let io = || Some(Box::new(Layer("no space left", None)));
        let plain = Layer("cannot write a", io());
        assert_eq!(error_chain(&plain), "cannot write a: no space left");
        let repeats = Layer("cannot write a: no space left", io());
        assert_eq!(error_chain(&repeats), "cannot write a: no space left");
    }
}
