//! The names of the models, before the data is known.

use std::fmt;
use std::str::FromStr;

/// A model by its name and options.
///
/// Written as in [`ClassicSpec::LIST`]; what is written is read back as the
/// same.
///
/// ```
/// use paceline_train::ClassicSpec;
///
/// let spec: ClassicSpec = "svm-rbf:C=5,gamma=0.02".parse()?;
/// assert_eq!(spec, ClassicSpec::RbfSvm { cost: 5.0, gamma: Some(0.02) });
/// # Ok::<(), paceline_train::ParseClassicError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClassicSpec {
    /// A support vector machine with the kernel `exp(−gamma·‖x − z‖²)`.
    RbfSvm {
        /// The cost C of a unit of slack.
        cost: f64,
        /// Without it, one over the width times the variance of all values, so
        /// that the kernel fits data of any scale.
        gamma: Option<f64>,
    },
    /// A linear support vector machine with the squared hinge loss.
    LinearSvm {
        /// Which of the two problems is solved. They have one optimum.
        duality: Duality,
        /// The cost C of a unit of squared slack.
        cost: f64,
    },
    /// Logistic regression with a squared penalty, solved to the optimum.
    Logistic {
        /// The weight C of the losses against the penalty.
        cost: f64,
    },
    /// A random forest.
    Forest {
        /// How many trees.
        trees: usize,
        /// Whether a node may cut between any two values rather than between
        /// 256 bins.
        exact: bool,
    },
}

/// The two forms of the problem that a linear support vector machine solves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duality {
    /// In the weights, by truncated Newton: quick for many rows of few columns.
    Primal,
    /// In one variable per row, by coordinate descent: quick for sparse rows.
    Dual,
}

/// No forest has more trees: a typing error of some digits is refused instead
/// of growing for days.
const MOST_TREES: usize = 100_000;

/// The options where none is given; `tests/mnist.rs` says what the machines and
/// the forest reach with them. Logistic regression has scikit-learn's.
const RBF_COST: f64 = 5.0;
const LINEAR_COST: f64 = 0.05;
const LOGISTIC_COST: f64 = 1.0;
const TREES: usize = 100;

impl ClassicSpec {
    /// Every form with a line on what it is, for `--list`.
    pub const LIST: [(&'static str, &'static str); 6] = [
        (
            "svm-rbf[:C=X][,gamma=X]",
            "support vector machine with a Gaussian kernel, solved by SMO; up to some 10,000 rows",
        ),
        (
            "svm-linear[:C=X]",
            "linear SVM, solved by coordinate descent on the dual; dense or sparse rows",
        ),
        (
            "svm-linear-primal[:C=X]",
            "the same SVM, solved by Newton's method on the primal",
        ),
        (
            "logistic-exact[:C=X]",
            "logistic regression, solved to the optimum; dense or sparse rows, any classes",
        ),
        (
            "forest[:TREES]",
            "random forest that cuts between 256 bins; dense or sparse rows",
        ),
        (
            "forest-exact[:TREES]",
            "random forest that cuts between any two values",
        ),
    ];

    /// The name without options: `forest` for `forest:100`.
    pub const fn family(&self) -> &'static str {
        match self {
            Self::RbfSvm { .. } => "svm-rbf",
            Self::LinearSvm {
                duality: Duality::Dual,
                ..
            } => "svm-linear",
            Self::LinearSvm {
                duality: Duality::Primal,
                ..
            } => "svm-linear-primal",
            Self::Logistic { .. } => "logistic-exact",
            Self::Forest { exact: false, .. } => "forest",
            Self::Forest { exact: true, .. } => "forest-exact",
        }
    }

    /// Whether a name, without options, is of one of these models. Tells a
    /// model with a mistake in its options from a model of another kind.
    pub fn is_family(name: &str) -> bool {
        family_default(name).is_some()
    }
}

/// A family with its usual options.
fn family_default(name: &str) -> Option<ClassicSpec> {
    Some(match name {
        "svm-rbf" => ClassicSpec::RbfSvm {
            cost: RBF_COST,
            gamma: None,
        },
        "svm-linear" => ClassicSpec::LinearSvm {
            duality: Duality::Dual,
            cost: LINEAR_COST,
        },
        "svm-linear-primal" => ClassicSpec::LinearSvm {
            duality: Duality::Primal,
            cost: LINEAR_COST,
        },
        "logistic-exact" => ClassicSpec::Logistic {
            cost: LOGISTIC_COST,
        },
        "forest" => ClassicSpec::Forest {
            trees: TREES,
            exact: false,
        },
        "forest-exact" => ClassicSpec::Forest {
            trees: TREES,
            exact: true,
        },
        _ => return None,
    })
}

/// Why a text names none of these models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseClassicError {
    /// The name is not known.
    #[error(
        "`{0}` is no model; known are svm-rbf, svm-linear, svm-linear-primal, logistic-exact, \
         forest and forest-exact"
    )]
    Unknown(String),
    /// The model has no such option.
    #[error("{model} has no option `{option}`; it has {known}")]
    Option {
        /// The model's name.
        model: &'static str,
        /// What was given.
        option: String,
        /// What there is.
        known: &'static str,
    },
    /// An option is given twice.
    #[error("`{option}` is given twice")]
    Twice {
        /// The option's name.
        option: String,
    },
    /// The value of an option is outside its range.
    #[error("`{option}` takes {expected}, not `{value}`")]
    Value {
        /// The option's name.
        option: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What was given.
        value: String,
    },
}

impl FromStr for ClassicSpec {
    type Err = ParseClassicError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, options) = match text.split_once(':') {
            Some((name, options)) => (name, Some(options)),
            None => (text, None),
        };
        let mut spec =
            family_default(name).ok_or_else(|| ParseClassicError::Unknown(name.to_owned()))?;
        let mut seen: Vec<&str> = Vec::new();
        for item in options.into_iter().flat_map(|options| options.split(',')) {
            // The number of trees needs no name.
            let (option, value) = match item.split_once('=') {
                Some((option, value)) => (option.trim(), value.trim()),
                None if matches!(spec, Self::Forest { .. }) => ("trees", item.trim()),
                None => (item.trim(), ""),
            };
            if seen.contains(&option) {
                return Err(ParseClassicError::Twice {
                    option: option.to_owned(),
                });
            }
            seen.push(option);
            spec.set(option, value)?;
        }
        Ok(spec)
    }
}

impl ClassicSpec {
    fn set(&mut self, option: &str, value: &str) -> Result<(), ParseClassicError> {
        let model = self.family();
        let unknown = |known| ParseClassicError::Option {
            model,
            option: option.to_owned(),
            known,
        };
        match self {
            Self::RbfSvm { cost, gamma } => match option {
                "C" => *cost = positive("C", value)?,
                "gamma" => *gamma = Some(positive("gamma", value)?),
                _ => return Err(unknown("C and gamma")),
            },
            Self::LinearSvm { cost, .. } | Self::Logistic { cost } => match option {
                "C" => *cost = positive("C", value)?,
                _ => return Err(unknown("C")),
            },
            Self::Forest { trees, .. } => match option {
                "trees" => *trees = tree_count(value)?,
                _ => return Err(unknown("a number of trees")),
            },
        }
        Ok(())
    }
}

fn positive(option: &'static str, value: &str) -> Result<f64, ParseClassicError> {
    value
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number > 0.0)
        .ok_or_else(|| ParseClassicError::Value {
            option,
            expected: "a number above 0",
            value: value.to_owned(),
        })
}

fn tree_count(value: &str) -> Result<usize, ParseClassicError> {
    value
        .parse()
        .ok()
        .filter(|trees| (1..=MOST_TREES).contains(trees))
        .ok_or_else(|| ParseClassicError::Value {
            option: "trees",
            expected: "a whole number from 1 to 100000",
            value: value.to_owned(),
        })
}

/// With every option that was chosen or has a fixed default.
impl fmt::Display for ClassicSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = self.family();
        match self {
            Self::RbfSvm { cost, gamma: None } => write!(formatter, "{family}:C={cost}"),
            Self::RbfSvm {
                cost,
                gamma: Some(gamma),
            } => write!(formatter, "{family}:C={cost},gamma={gamma}"),
            Self::LinearSvm { cost, .. } | Self::Logistic { cost } => {
                write!(formatter, "{family}:C={cost}")
            }
            Self::Forest { trees, .. } => write!(formatter, "{family}:{trees}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_written_as_it_is_read() {
        for text in [
            "svm-rbf:C=5",
            "svm-rbf:C=0.5,gamma=0.02",
            "svm-linear:C=1",
            "svm-linear-primal:C=0.25",
            "logistic-exact:C=2",
            "forest:100",
            "forest-exact:7",
        ] {
            assert_eq!(text.parse::<ClassicSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_name_alone_has_the_usual_options() {
        for (name, _) in ClassicSpec::LIST {
            let family = name.split('[').next().unwrap();
            let spec: ClassicSpec = family.parse().unwrap();
            assert_eq!(spec.family(), family);
            assert_eq!(spec.to_string().parse::<ClassicSpec>().unwrap(), spec);
        }
        assert_eq!(
            "forest:trees=3".parse(),
            Ok(ClassicSpec::Forest {
                trees: 3,
                exact: false
            })
        );
    }

    #[test]
    fn what_is_no_model_is_refused_with_its_cause() {
        for (text, words) in [
            ("svm", "known are svm-rbf"),
            ("svm-rbf:C=0", "`C` takes a number above 0, not `0`"),
            ("svm-rbf:C=NaN", "above 0"),
            ("svm-rbf:5", "svm-rbf has no option `5`; it has C and gamma"),
            ("svm-rbf:C=1,C=2", "`C` is given twice"),
            ("svm-linear:gamma=1", "it has C"),
            ("forest:0", "from 1 to 100000"),
            ("forest:depth=3", "a number of trees"),
            ("forest:", "from 1 to 100000"),
        ] {
            let error = text.parse::<ClassicSpec>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
