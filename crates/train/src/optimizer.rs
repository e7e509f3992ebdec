use std::fmt;
use std::str::FromStr;

use paceline_kernels::{AdamStep, AlignedBuffer, Kernels, Slope};

/// How a gradient changes the parameters.
///
/// Written as `sgd`, `momentum:0.9`, `nesterov:0.9`, `adagrad`, `adam` or
/// `adam:0.9,0.999`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Optimizer {
    /// w ← w − η g.
    Sgd,
    /// v ← β v + g; w ← w − η v (Polyak 1964, as PyTorch and TensorFlow write it).
    Momentum {
        /// How much of the velocity stays, below 1.
        beta: f32,
    },
    /// v ← β v + g; w ← w − η (g + β v) (Nesterov 1983 in Sutskever's form).
    Nesterov {
        /// How much of the velocity stays, below 1.
        beta: f32,
    },
    /// s ← s + g²; w ← w − η g / (√s + ε) (Duchi, Hazan, Singer 2011).
    Adagrad,
    /// Kingma & Ba 2015, algorithm 1, with the bias corrections in the rate.
    Adam {
        /// Decay of the first moment.
        beta1: f32,
        /// Decay of the second moment.
        beta2: f32,
    },
}

/// Keeps the denominators of Adagrad and Adam from zero; the value of Adam's
/// authors, small against any gradient that matters in `f32`.
const EPSILON: f32 = 1e-8;

/// What is known of a step besides its gradient.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The learning rate of this step.
    pub(crate) rate: f32,
    /// The weight decay: the gradient of `decay / 2 · |w|²` is added.
    pub(crate) decay: f32,
    /// What clipping multiplies the gradient with; 1 without.
    pub(crate) shrink: f32,
    /// Which step it is, from 1.
    pub(crate) number: u64,
}

impl Optimizer {
    /// Every form, for `--list`: the word and what it does.
    pub const LIST: [(&'static str, &'static str); 5] = [
        ("sgd", "plain stochastic gradient descent"),
        ("momentum:B", "a velocity of which the share B stays (0.9)"),
        ("nesterov:B", "momentum that looks ahead (0.9)"),
        (
            "adagrad",
            "a rate per parameter that falls with its past gradients",
        ),
        ("adam:B1,B2", "two moments per parameter (0.9,0.999)"),
    ];

    /// How many values it keeps for each parameter.
    pub fn moments(self) -> usize {
        match self {
            Self::Sgd => 0,
            Self::Momentum { .. } | Self::Nesterov { .. } | Self::Adagrad => 1,
            Self::Adam { .. } => 2,
        }
    }

    /// Applies the sum of `gradients` to `parameters`. All slices are the same
    /// range of their flat buffers; the sum runs in the order given, so that a
    /// result depends on the number of shards but not on timing.
    pub(crate) fn apply(
        self,
        kernels: Kernels,
        step: Step,
        parameters: &mut [f32],
        gradients: &[&[f32]],
        moments: &mut [&mut [f32]],
    ) {
        let rate = step.rate;
        let slope = Slope {
            shards: gradients,
            shrink: step.shrink,
            decay: step.decay,
        };
        match (self, moments) {
            (Self::Sgd, []) => kernels.update_sgd(parameters, slope, rate),
            (Self::Momentum { beta }, [velocity]) => {
                kernels.update_momentum(parameters, velocity, slope, rate, beta);
            }
            (Self::Nesterov { beta }, [velocity]) => {
                kernels.update_nesterov(parameters, velocity, slope, rate, beta);
            }
            (Self::Adagrad, [squares]) => {
                kernels.update_adagrad(parameters, squares, slope, rate, EPSILON);
            }
            (Self::Adam { beta1, beta2 }, [first, second]) => {
                let power = i32::try_from(step.number).unwrap_or(i32::MAX);
                let left = |beta: f32| 1.0 - f64::from(beta).powi(power);
                let adam = AdamStep {
                    rate: (f64::from(rate) / left(beta1)) as f32,
                    root: left(beta2).sqrt() as f32,
                    beta1,
                    beta2,
                    epsilon: EPSILON,
                };
                kernels.update_adam(parameters, first, second, slope, adam);
            }
            _ => unreachable!("an optimizer gets as many moments as it asks for"),
        }
    }
}

/// An optimizer with what it remembers.
#[derive(Clone, Debug)]
pub struct OptimizerState {
    /// Which optimizer.
    pub optimizer: Optimizer,
    /// Flat buffers like the parameters', [`Optimizer::moments`] of them.
    pub moments: Vec<AlignedBuffer>,
    /// How many steps have been applied.
    pub steps: u64,
}

impl OptimizerState {
    /// Nothing remembered yet, for `len` parameters.
    pub fn new(optimizer: Optimizer, len: usize) -> Self {
        Self {
            optimizer,
            moments: (0..optimizer.moments())
                .map(|_| AlignedBuffer::zeroed(len))
                .collect(),
            steps: 0,
        }
    }
}

/// Why a text names no optimizer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseOptimizerError {
    /// The word is not known.
    #[error("`{0}` is no optimizer; known are sgd, momentum, nesterov, adagrad and adam")]
    Unknown(String),
    /// A coefficient is not a number in [0, 1).
    #[error("`{0}` is no coefficient of an optimizer: it takes numbers from 0 to below 1")]
    Coefficient(String),
    /// More coefficients than the optimizer has.
    #[error("{optimizer} takes at most {most} coefficients, not {given}")]
    TooMany {
        /// Its name.
        optimizer: String,
        /// How many it takes.
        most: usize,
        /// How many were given.
        given: usize,
    },
}

impl FromStr for Optimizer {
    type Err = ParseOptimizerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (word, rest) = text
            .split_once(':')
            .map_or((text, None), |(w, r)| (w, Some(r)));
        let coefficients = rest
            .map(|rest| {
                rest.split(',')
                    .map(coefficient)
                    .collect::<Result<Vec<_>, _>>()
            })
            .transpose()?
            .unwrap_or_default();
        let most = match word {
            "sgd" | "adagrad" => 0,
            "momentum" | "nesterov" => 1,
            "adam" => 2,
            _ => return Err(ParseOptimizerError::Unknown(word.to_owned())),
        };
        if coefficients.len() > most {
            return Err(ParseOptimizerError::TooMany {
                optimizer: word.to_owned(),
                most,
                given: coefficients.len(),
            });
        }
        let get = |index: usize, default| coefficients.get(index).copied().unwrap_or(default);
        Ok(match word {
            "sgd" => Self::Sgd,
            "momentum" => Self::Momentum { beta: get(0, 0.9) },
            "nesterov" => Self::Nesterov { beta: get(0, 0.9) },
            "adagrad" => Self::Adagrad,
            _ => Self::Adam {
                beta1: get(0, 0.9),
                beta2: get(1, 0.999),
            },
        })
    }
}

fn coefficient(text: &str) -> Result<f32, ParseOptimizerError> {
    text.trim()
        .parse()
        .ok()
        .filter(|value| (0.0..1.0).contains(value))
        .ok_or_else(|| ParseOptimizerError::Coefficient(text.to_owned()))
}

impl fmt::Display for Optimizer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sgd => formatter.write_str("sgd"),
            Self::Momentum { beta } => write!(formatter, "momentum:{beta}"),
            Self::Nesterov { beta } => write!(formatter, "nesterov:{beta}"),
            Self::Adagrad => formatter.write_str("adagrad"),
            Self::Adam { beta1, beta2 } => write!(formatter, "adam:{beta1},{beta2}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optimizer_is_written_as_it_is_read() {
        for text in [
            "sgd",
            "momentum:0.9",
            "nesterov:0.5",
            "adagrad",
            "adam:0.9,0.999",
        ] {
            assert_eq!(text.parse::<Optimizer>().unwrap().to_string(), text);
        }
        assert_eq!(
            "adam".parse(),
            Ok(Optimizer::Adam {
                beta1: 0.9,
                beta2: 0.999
            })
        );
    }

    #[test]
    fn what_is_no_optimizer_is_refused_with_its_cause() {
        for (text, words) in [
            ("adamw", "known are"),
            ("momentum:1", "from 0 to below 1"),
            ("momentum:NaN", "from 0 to below 1"),
            ("sgd:0.9", "at most 0"),
            ("adam:0.9,0.9,0.9", "at most 2"),
        ] {
            let error = text.parse::<Optimizer>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    /// Two steps on f(w) = w²/2 from w = 1 with the given optimizer.
    fn two_steps(optimizer: Optimizer) -> f32 {
        let mut weight = [1.0];
        let mut state = OptimizerState::new(optimizer, 1);
        for number in 1..=2 {
            let slope = weight;
            let mut moments: Vec<&mut [f32]> =
                state.moments.iter_mut().map(|part| &mut part[..]).collect();
            let step = Step {
                rate: 0.1,
                decay: 0.0,
                shrink: 1.0,
                number,
            };
            optimizer.apply(
                Kernels::detect(),
                step,
                &mut weight,
                &[&slope],
                &mut moments,
            );
        }
        weight[0]
    }

    #[test]
    fn two_steps_of_each_are_as_by_hand() {
        // By hand in exact arithmetic: sgd 0.9 · 0.9; momentum v = 1, 1.8;
        // Nesterov w = 1 − 0.19 = 0.81, then v = 0.9 + 0.81, w −= 0.1 (0.81 + 0.9 v);
        // Adagrad w = 0.9, then 0.9 − 0.1 · 0.9/√1.81;
        // Adam w = 0.9, then m̂ = 0.19 · (0.9 + 0.9)/(1 − 0.81) …
        let adam = {
            let (m, v) = (0.9 * 0.1 + 0.1 * 0.9, 0.999 * 0.001 + 0.001 * 0.81);
            0.9 - 0.1 * (m / (1.0 - 0.81)) / f64::sqrt(v / (1.0 - 0.998_001))
        };
        for (text, expected) in [
            ("sgd", 0.81),
            ("momentum:0.9", 0.9 - 0.1 * 1.8),
            ("nesterov:0.9", 0.81 - 0.1 * (0.81 + 0.9 * 1.71)),
            ("adagrad", 0.9 - 0.1 * 0.9 / f64::sqrt(1.81)),
            ("adam", adam),
        ] {
            let found = f64::from(two_steps(text.parse().unwrap()));
            assert!(
                (found - expected).abs() < 1e-6,
                "{text}: {found}, not {expected}"
            );
        }
    }

    #[test]
    fn shards_are_summed_and_decay_is_a_gradient() {
        let mut weight = [2.0];
        let step = Step {
            rate: 0.5,
            decay: 0.1,
            shrink: 0.5,
            number: 1,
        };
        Optimizer::Sgd.apply(
            Kernels::detect(),
            step,
            &mut weight,
            &[&[1.0], &[2.0], &[3.0]],
            &mut [],
        );
        assert!((weight[0] - (2.0 - 0.5 * (0.5 * 6.0 + 0.1 * 2.0))).abs() < 1e-6);
    }
}
