use std::fmt;
use std::str::FromStr;

/// How the learning rate changes over the epochs.
///
/// Written as `constant`, `step:10,0.5`, `exponential:0.95`, `inverse:0.1`,
/// `cosine:30` or any of them after `warmup:5+`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Over so many epochs the rate rises from zero, in a straight line.
    pub warmup: f64,
    /// What follows.
    pub shape: Shape,
}

/// The form of a [`Schedule`], `t` being epochs since the start, fractions
/// included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// η.
    Constant,
    /// η · factor^⌊t / every⌋.
    Step {
        /// Epochs between two drops.
        every: f64,
        /// What each drop multiplies with.
        factor: f64,
    },
    /// η · factor^t.
    Exponential {
        /// What each epoch multiplies with.
        factor: f64,
    },
    /// η / (1 + decay · t).
    Inverse {
        /// How fast it falls.
        decay: f64,
    },
    /// η · (1 + cos(π t / over)) / 2, zero from there on (Loshchilov & Hutter 2017).
    Cosine {
        /// Epochs until zero.
        over: f64,
    },
}

impl Schedule {
    /// The rate never changes.
    pub const CONSTANT: Self = Self {
        warmup: 0.0,
        shape: Shape::Constant,
    };

    /// Every form, for `--list`.
    pub const LIST: [(&'static str, &'static str); 6] = [
        ("constant", "the rate stays"),
        ("step:N,F", "times F every N epochs"),
        ("exponential:F", "times F every epoch"),
        ("inverse:D", "divided by 1 + D·epochs"),
        ("cosine:N", "half a cosine, zero after N epochs"),
        ("warmup:N+…", "rises over N epochs, then any of the others"),
    ];

    /// What the base rate is multiplied with after `epochs` epochs.
    pub fn factor(self, epochs: f64) -> f64 {
        let rising = if self.warmup > 0.0 {
            (epochs / self.warmup).min(1.0)
        } else {
            1.0
        };
        rising
            * match self.shape {
                Shape::Constant => 1.0,
                Shape::Step { every, factor } => factor.powf((epochs / every).floor()),
                Shape::Exponential { factor } => factor.powf(epochs),
                Shape::Inverse { decay } => 1.0 / (1.0 + decay * epochs),
                Shape::Cosine { over } => {
                    let turn = (epochs / over).min(1.0) * std::f64::consts::PI;
                    (1.0 + turn.cos()) / 2.0
                }
            }
    }
}

/// Why a text is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseScheduleError {
    /// The word is not known.
    #[error(
        "`{0}` is no schedule of the learning rate; known are constant, step:N,F, exponential:F, inverse:D, cosine:N and warmup:N+…"
    )]
    Unknown(String),
    /// The numbers after the word do not fit it.
    #[error("`{given}` does not fit {form}, whose numbers are above zero")]
    Numbers {
        /// What was written.
        given: String,
        /// What is expected.
        form: &'static str,
    },
}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (warmup, rest) = match text.strip_prefix("warmup:") {
            None => (0.0, text),
            Some(rest) => {
                let (epochs, rest) = rest.split_once('+').unwrap_or((rest, "constant"));
                let [epochs] = numbers(epochs, text, "warmup:N+…")?;
                (epochs, rest)
            }
        };
        let (word, given) = rest.split_once(':').unwrap_or((rest, ""));
        let shape = match word {
            "constant" if given.is_empty() => Shape::Constant,
            "step" => {
                let [every, factor] = numbers(given, text, "step:N,F")?;
                Shape::Step { every, factor }
            }
            "exponential" => {
                let [factor] = numbers(given, text, "exponential:F")?;
                Shape::Exponential { factor }
            }
            "inverse" => {
                let [decay] = numbers(given, text, "inverse:D")?;
                Shape::Inverse { decay }
            }
            "cosine" => {
                let [over] = numbers(given, text, "cosine:N")?;
                Shape::Cosine { over }
            }
            _ => return Err(ParseScheduleError::Unknown(rest.to_owned())),
        };
        Ok(Self { warmup, shape })
    }
}

fn numbers<const N: usize>(
    given: &str,
    whole: &str,
    form: &'static str,
) -> Result<[f64; N], ParseScheduleError> {
    let parsed: Option<Vec<f64>> = given
        .split(',')
        .map(|part| {
            part.trim()
                .parse()
                .ok()
                .filter(|x: &f64| x.is_finite() && *x > 0.0)
        })
        .collect();
    parsed
        .and_then(|parsed| parsed.try_into().ok())
        .ok_or_else(|| ParseScheduleError::Numbers {
            given: whole.to_owned(),
            form,
        })
}

impl fmt::Display for Schedule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.warmup > 0.0 {
            write!(formatter, "warmup:{}+", self.warmup)?;
        }
        match self.shape {
            Shape::Constant => formatter.write_str("constant"),
            Shape::Step { every, factor } => write!(formatter, "step:{every},{factor}"),
            Shape::Exponential { factor } => write!(formatter, "exponential:{factor}"),
            Shape::Inverse { decay } => write!(formatter, "inverse:{decay}"),
            Shape::Cosine { over } => write!(formatter, "cosine:{over}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_written_as_it_is_read() {
        for text in [
            "constant",
            "step:10,0.5",
            "exponential:0.95",
            "inverse:0.1",
            "cosine:30",
            "warmup:5+cosine:30",
        ] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_factor_follows_the_form() {
        for (text, epochs, expected) in [
            ("constant", 7.5, 1.0),
            ("step:10,0.5", 9.99, 1.0),
            ("step:10,0.5", 20.0, 0.25),
            ("exponential:0.5", 2.0, 0.25),
            ("inverse:0.5", 2.0, 0.5),
            ("cosine:30", 15.0, 0.5),
            ("cosine:30", 31.0, 0.0),
            ("warmup:4+step:10,0.5", 1.0, 0.25),
        ] {
            let found = text.parse::<Schedule>().unwrap().factor(epochs);
            assert!(
                (found - expected).abs() < 1e-12,
                "{text} at {epochs}: {found}"
            );
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for text in [
            "",
            "linear",
            "step:10",
            "step:0,0.5",
            "cosine:x",
            "constant:1",
            "warmup:0+constant",
        ] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }
}
