//! More than 600 lines: a line of the grammar per model, with its errors and their tests.

use std::fmt;
use std::str::FromStr;

use paceline_kernels::Kernels;

use crate::{
    Cell, DenseLinear, Input, LeNet, LeNetSizeError, LeNetVariant, MarginLoss, Mlp, Model, Reading,
    RecurrentClassifier, RecurrentShape, Sequence, SparseLinear, SparseSoftmax,
};

/// No layer is wider: a typing error of some digits is refused instead of
/// asking for all memory.
const LARGEST_SIZE: usize = 1 << 16;

/// Hidden units where none are given.
const USUAL_SIZE: usize = 128;

/// A model by its name and sizes, before the data is known.
///
/// Written as in [`ModelSpec::list`]; what is written is read back as the same.
///
/// ```
/// use paceline_kernels::Kernels;
/// use paceline_nets::{Input, ModelSpec};
///
/// let spec: ModelSpec = "mlp:128,64".parse()?;
/// let model = spec.build(Input::Dense { width: 784 }, 10, Kernels::detect())?;
/// assert_eq!(model.layout().parameters(), 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSpec {
    /// Binary logistic regression, for dense or sparse rows.
    Logistic,
    /// The same for sparse rows only.
    SparseLogistic,
    /// A linear support vector machine by gradient, for dense or sparse rows.
    LinearSvm {
        /// The hinge loss squared, which has a gradient everywhere.
        squared: bool,
    },
    /// Multinomial logistic regression, for dense or sparse rows.
    Softmax,
    /// Fully connected layers with ReLU.
    Mlp {
        /// Units of each hidden layer.
        hidden: Vec<usize>,
    },
    /// One hidden layer of 128 units for images of 28 × 28.
    SimpleNet,
    /// A convolutional network for square images.
    LeNet {
        /// Which of the networks of that name.
        variant: LeNetVariant,
    },
    /// A recurrent network over tokens or over the lines of an image.
    Recurrent(RecurrentSpec),
}

/// A recurrent model's sizes, before the data is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecurrentSpec {
    /// How a state follows from the one before.
    pub cell: Cell,
    /// From which ends a sequence is read.
    pub reading: Reading,
    /// Hidden units of each direction.
    pub hidden: usize,
    /// Values of a token's vector; as many as hidden units if not given.
    pub embedding: Option<usize>,
    /// Into how many steps a dense row is cut; as many as its square root if
    /// not given.
    pub steps: Option<usize>,
}

impl ModelSpec {
    /// Every form with a line on what it is, for `--list`.
    pub fn list() -> &'static [(&'static str, &'static str)] {
        &[
            (
                "logistic",
                "logistic regression, two classes; dense or sparse rows",
            ),
            ("sparse-logistic", "the same, for sparse rows only"),
            (
                "softmax",
                "logistic regression of many classes; dense or sparse rows",
            ),
            (
                "linear-svm[:squared]",
                "linear SVM by gradient, two classes; hinge loss, or squared hinge",
            ),
            (
                "mlp:H[,H…]",
                "fully connected layers of H units with ReLU; dense rows",
            ),
            (
                "simplenet",
                "one hidden layer of 128 units; images of 28×28",
            ),
            ("lenet5", "LeNet-5, 6 and 16 maps, ReLU; square images"),
            (
                "lenet5-bigdl",
                "LeNet-5 as in BigDL, 6 and 12 maps, tanh; square images",
            ),
            (
                "lstm:H[,embedding=E][,steps=S]",
                "LSTM of H units; tokens with vectors of E values, or dense rows in S steps (an image's lines)",
            ),
            (
                "bilstm:H[,…]",
                "LSTM that reads from both ends, H units each; as lstm",
            ),
            ("rnn:H[,…]", "recurrent network of H tanh units; as lstm"),
            (
                "birnn:H[,…]",
                "recurrent network that reads from both ends; as lstm",
            ),
        ]
    }

    /// The name without sizes: `mlp` for `mlp:128,64`.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Logistic => "logistic",
            Self::SparseLogistic => "sparse-logistic",
            Self::LinearSvm { .. } => "linear-svm",
            Self::Softmax => "softmax",
            Self::Mlp { .. } => "mlp",
            Self::SimpleNet => "simplenet",
            Self::LeNet {
                variant: LeNetVariant::Classic,
            } => "lenet5",
            Self::LeNet {
                variant: LeNetVariant::BigDl,
            } => "lenet5-bigdl",
            Self::Recurrent(spec) => match (spec.cell, spec.reading) {
                (Cell::Lstm, Reading::Forward) => "lstm",
                (Cell::Lstm, Reading::BothWays) => "bilstm",
                (Cell::Tanh, Reading::Forward) => "rnn",
                (Cell::Tanh, Reading::BothWays) => "birnn",
            },
        }
    }

    /// The model for rows of this kind in so many classes.
    ///
    /// # Errors
    ///
    /// If the model cannot read such rows or tell so many classes apart.
    pub fn build(
        &self,
        input: Input,
        classes: usize,
        kernels: Kernels,
    ) -> Result<Box<dyn Model>, BuildModelError> {
        let unreadable = |reads| BuildModelError::Rows {
            model: self.family(),
            reads,
            given: RowKind(input),
        };
        if classes < 2 {
            return Err(BuildModelError::OneClass { classes });
        }
        match self {
            Self::Logistic => self.binary(MarginLoss::Logistic, input, classes, kernels),
            Self::SparseLogistic => match input {
                Input::Sparse { .. } => self.binary(MarginLoss::Logistic, input, classes, kernels),
                _ => Err(unreadable("sparse rows; `logistic` reads dense ones")),
            },
            Self::LinearSvm { squared } => {
                let loss = if *squared {
                    MarginLoss::SquaredHinge
                } else {
                    MarginLoss::Hinge
                };
                self.binary(loss, input, classes, kernels)
            }
            Self::Softmax => match input {
                Input::Dense { width } => Ok(Box::new(Mlp::softmax(width, classes, kernels))),
                Input::Sparse { width } => Ok(Box::new(SparseSoftmax::new(width, classes))),
                Input::Tokens { .. } => Err(unreadable("dense or sparse rows")),
            },
            Self::Mlp { hidden } => match input {
                Input::Dense { width } => Ok(Box::new(Mlp::new(width, hidden, classes, kernels))),
                _ => Err(unreadable("dense rows")),
            },
            Self::SimpleNet => match input {
                Input::Dense { width: 784 } => {
                    Ok(Box::new(Mlp::new(784, &[128], classes, kernels)))
                }
                _ => Err(unreadable("images of 28 x 28; `mlp:128` reads other rows")),
            },
            Self::LeNet { variant } => {
                let side = match input {
                    Input::Dense { width } => square_side(width),
                    _ => None,
                };
                let side = side.ok_or_else(|| unreadable("square images, such as 28 x 28"))?;
                Ok(Box::new(LeNet::new(*variant, side, classes, kernels)?))
            }
            Self::Recurrent(spec) => {
                let sequence = spec.sequence(input).map_err(|refusal| match refusal {
                    Refusal::Rows(reads) => unreadable(reads),
                    Refusal::Option(option, why) => BuildModelError::Option {
                        model: self.family(),
                        option,
                        why,
                    },
                    Refusal::Steps { width, steps } => BuildModelError::Steps { width, steps },
                })?;
                Ok(Box::new(RecurrentClassifier::new(
                    RecurrentShape {
                        sequence,
                        cell: spec.cell,
                        reading: spec.reading,
                        hidden: spec.hidden,
                        classes,
                    },
                    kernels,
                )))
            }
        }
    }

    fn binary(
        &self,
        loss: MarginLoss,
        input: Input,
        classes: usize,
        kernels: Kernels,
    ) -> Result<Box<dyn Model>, BuildModelError> {
        if classes != 2 {
            return Err(BuildModelError::ManyClasses {
                model: self.family(),
                classes,
            });
        }
        match input {
            Input::Dense { width } => Ok(Box::new(DenseLinear::new(width, loss, kernels))),
            Input::Sparse { width } => Ok(Box::new(SparseLinear::new(width, loss))),
            Input::Tokens { .. } => Err(BuildModelError::Rows {
                model: self.family(),
                reads: "dense or sparse rows",
                given: RowKind(input),
            }),
        }
    }
}

/// Why a recurrent model cannot read some rows.
enum Refusal {
    Rows(&'static str),
    Option(&'static str, &'static str),
    Steps { width: usize, steps: usize },
}

impl RecurrentSpec {
    fn sequence(&self, input: Input) -> Result<Sequence, Refusal> {
        match input {
            Input::Tokens { length, vocabulary } => match self.steps {
                Some(_) => Err(Refusal::Option("steps", "tokens are one step each")),
                None => Ok(Sequence::Tokens {
                    length,
                    vocabulary,
                    embedding: self.embedding.unwrap_or(self.hidden),
                }),
            },
            Input::Dense { width } => {
                if self.embedding.is_some() {
                    return Err(Refusal::Option("embedding", "only tokens have vectors"));
                }
                let steps = match self.steps {
                    Some(steps) => steps,
                    None => square_side(width).ok_or(Refusal::Rows(
                        "tokens, square images, or other dense rows with `steps=`",
                    ))?,
                };
                if width == 0 || !width.is_multiple_of(steps) {
                    return Err(Refusal::Steps { width, steps });
                }
                Ok(Sequence::Steps {
                    steps,
                    width: width / steps,
                })
            }
            Input::Sparse { .. } => Err(Refusal::Rows("tokens or dense rows")),
        }
    }
}

/// The side of a square image of so many pixels.
fn square_side(pixels: usize) -> Option<usize> {
    let side = pixels.isqrt();
    (side > 0 && side * side == pixels).then_some(side)
}

/// Why a model cannot be built for some data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildModelError {
    /// The rows are of a kind or size that the model does not read.
    #[error("{model} reads {reads}; the data has {given}")]
    Rows {
        /// The model's name.
        model: &'static str,
        /// What it reads.
        reads: &'static str,
        /// What the data has.
        given: RowKind,
    },
    /// A binary model is asked to tell more classes apart.
    #[error("{model} tells two classes apart and the data has {classes}; softmax takes any number")]
    ManyClasses {
        /// The model's name.
        model: &'static str,
        /// Classes of the data.
        classes: usize,
    },
    /// There is nothing to tell apart.
    #[error("a classifier needs at least two classes; the data has {classes}")]
    OneClass {
        /// Classes of the data.
        classes: usize,
    },
    /// An option does not apply to the data.
    #[error("{model} takes no `{option}` here: {why}")]
    Option {
        /// The model's name.
        model: &'static str,
        /// The option's name.
        option: &'static str,
        /// Why it does not apply.
        why: &'static str,
    },
    /// A row cannot be cut evenly.
    #[error("rows of {width} values cannot be cut into {steps} equal steps")]
    Steps {
        /// Values of a row.
        width: usize,
        /// Steps asked for.
        steps: usize,
    },
    /// The images are too small.
    #[error(transparent)]
    LeNet(#[from] LeNetSizeError),
}

/// A kind of rows in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowKind(
    /// The rows.
    pub Input,
);

impl fmt::Display for RowKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Input::Dense { width } => write!(formatter, "dense rows of {width} values"),
            Input::Sparse { width } => write!(formatter, "sparse rows of {width} columns"),
            Input::Tokens { length, .. } => write!(formatter, "sequences of {length} tokens"),
        }
    }
}

/// Why a text names no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseModelError {
    /// The word is not known.
    #[error(
        "`{0}` is no model that learns by gradient; known are logistic, sparse-logistic, softmax, \
         linear-svm, mlp, simplenet, lenet5, lenet5-bigdl, lstm, bilstm, rnn and birnn"
    )]
    Unknown(String),
    /// A size is not a whole number in range.
    #[error("`{0}` is no size of a layer: it takes whole numbers from 1 to {LARGEST_SIZE}")]
    Size(String),
    /// More follows the name than the model takes.
    #[error("{model} does not take `{given}`; it is written {form}")]
    Excess {
        /// The model's name.
        model: &'static str,
        /// What is too much.
        given: String,
        /// How it is written.
        form: &'static str,
    },
}

impl FromStr for ModelSpec {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let text = text.trim();
        let (name, sizes) = match text.split_once(':') {
            Some((name, sizes)) => (name, Some(sizes)),
            None => (text, None),
        };
        let recurrent = |cell, reading| RecurrentSpec::parse(cell, reading, sizes);
        let spec = match name {
            "logistic" => Self::Logistic,
            "sparse-logistic" => Self::SparseLogistic,
            "softmax" => Self::Softmax,
            "simplenet" => Self::SimpleNet,
            "lenet5" => Self::LeNet {
                variant: LeNetVariant::Classic,
            },
            "lenet5-bigdl" => Self::LeNet {
                variant: LeNetVariant::BigDl,
            },
            "linear-svm" => match sizes {
                None => return Ok(Self::LinearSvm { squared: false }),
                Some("squared") => return Ok(Self::LinearSvm { squared: true }),
                Some(_) => Self::LinearSvm { squared: false },
            },
            "mlp" => {
                let hidden = match sizes {
                    None => vec![USUAL_SIZE],
                    Some(sizes) => sizes.split(',').map(size).collect::<Result<_, _>>()?,
                };
                return Ok(Self::Mlp { hidden });
            }
            "lstm" => return recurrent(Cell::Lstm, Reading::Forward),
            "bilstm" => return recurrent(Cell::Lstm, Reading::BothWays),
            "rnn" => return recurrent(Cell::Tanh, Reading::Forward),
            "birnn" => return recurrent(Cell::Tanh, Reading::BothWays),
            _ => return Err(ParseModelError::Unknown(text.to_owned())),
        };
        match sizes {
            None => Ok(spec),
            Some(sizes) => Err(spec.excess(sizes)),
        }
    }
}

impl RecurrentSpec {
    fn parse(
        cell: Cell,
        reading: Reading,
        sizes: Option<&str>,
    ) -> Result<ModelSpec, ParseModelError> {
        let mut spec = Self {
            cell,
            reading,
            hidden: USUAL_SIZE,
            embedding: None,
            steps: None,
        };
        let Some(sizes) = sizes else {
            return Ok(ModelSpec::Recurrent(spec));
        };
        for (index, part) in sizes.split(',').enumerate() {
            match part.trim().split_once('=') {
                None if index == 0 => spec.hidden = size(part)?,
                Some(("embedding", value)) => spec.embedding = Some(size(value)?),
                Some(("steps", value)) => spec.steps = Some(size(value)?),
                _ => return Err(ModelSpec::Recurrent(spec).excess(part)),
            }
        }
        Ok(ModelSpec::Recurrent(spec))
    }
}

impl ModelSpec {
    fn excess(&self, given: &str) -> ParseModelError {
        let model = self.family();
        ParseModelError::Excess {
            model,
            given: given.to_owned(),
            form: match self {
                Self::LinearSvm { .. } => "linear-svm or linear-svm:squared",
                Self::Recurrent(_) => {
                    "with its hidden units and options, as in lstm:128,embedding=64"
                }
                _ => model,
            },
        }
    }
}

fn size(text: &str) -> Result<usize, ParseModelError> {
    text.trim()
        .parse()
        .ok()
        .filter(|size| (1..=LARGEST_SIZE).contains(size))
        .ok_or_else(|| ParseModelError::Size(text.to_owned()))
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.family())?;
        match self {
            Self::LinearSvm { squared: true } => formatter.write_str(":squared"),
            Self::Mlp { hidden } => {
                for (index, units) in hidden.iter().enumerate() {
                    let mark = if index == 0 { ':' } else { ',' };
                    write!(formatter, "{mark}{units}")?;
                }
                Ok(())
            }
            Self::Recurrent(spec) => {
                write!(formatter, ":{}", spec.hidden)?;
                if let Some(embedding) = spec.embedding {
                    write!(formatter, ",embedding={embedding}")?;
                }
                if let Some(steps) = spec.steps {
                    write!(formatter, ",steps={steps}")?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: Input = Input::Dense { width: 784 };
    const TEXT: Input = Input::Tokens {
        length: 12,
        vocabulary: 100,
    };
    const SPARSE: Input = Input::Sparse { width: 50 };

    fn parsed(text: &str) -> ModelSpec {
        text.parse().unwrap()
    }

    #[test]
    fn a_model_is_written_as_it_is_read() {
        for text in [
            "logistic",
            "sparse-logistic",
            "softmax",
            "linear-svm",
            "linear-svm:squared",
            "mlp:128",
            "mlp:128,64",
            "simplenet",
            "lenet5",
            "lenet5-bigdl",
            "lstm:128",
            "lstm:128,embedding=64",
            "bilstm:64,steps=7",
            "rnn:5",
            "birnn:64",
        ] {
            assert_eq!(parsed(text).to_string(), text);
        }
        assert_eq!(parsed("mlp").to_string(), "mlp:128");
        assert_eq!(parsed(" lstm ").to_string(), "lstm:128");
    }

    #[test]
    fn every_listed_form_is_a_model() {
        for (form, _) in ModelSpec::list() {
            let name = form.split([':', '[']).next().unwrap();
            assert_eq!(parsed(name).family(), name);
        }
    }

    #[test]
    fn what_is_no_model_is_refused_with_its_cause() {
        for (text, words) in [
            ("lsmt:128", "known are"),
            ("", "known are"),
            ("mlp:", "whole numbers from 1"),
            ("mlp:0", "whole numbers from 1"),
            ("mlp:128,-3", "whole numbers from 1"),
            ("mlp:99999999", "whole numbers from 1 to 65536"),
            ("lstm:x", "whole numbers from 1"),
            ("lstm:128,64", "as in lstm:128,embedding=64"),
            ("lstm:128,depth=2", "as in lstm:128,embedding=64"),
            ("softmax:3", "softmax does not take `3`"),
            ("linear-svm:cubed", "linear-svm:squared"),
        ] {
            let error = text.parse::<ModelSpec>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn models_are_built_for_the_rows_they_read() {
        for (text, input, classes) in [
            ("logistic", IMAGE, 2),
            ("logistic", SPARSE, 2),
            ("sparse-logistic", SPARSE, 2),
            ("linear-svm", IMAGE, 2),
            ("linear-svm:squared", SPARSE, 2),
            ("softmax", IMAGE, 10),
            ("softmax", SPARSE, 10),
            ("mlp:16,8", IMAGE, 10),
            ("simplenet", IMAGE, 10),
            ("lenet5", IMAGE, 10),
            ("lenet5-bigdl", IMAGE, 10),
            ("lstm:8", TEXT, 2),
            ("lstm:8", IMAGE, 10),
            ("bilstm:8,embedding=3", TEXT, 2),
            ("rnn:8,steps=14", IMAGE, 10),
            ("birnn:8", IMAGE, 10),
        ] {
            let model = parsed(text).build(input, classes, Kernels::detect());
            let model = model.unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(model.input(), input, "{text}");
            assert_eq!(model.classes(), classes, "{text}");
        }
    }

    #[test]
    fn models_refuse_rows_they_cannot_read_and_say_what_they_read() {
        for (text, input, classes, words) in [
            ("logistic", IMAGE, 10, "softmax takes any number"),
            (
                "logistic",
                TEXT,
                2,
                "dense or sparse rows; the data has sequences of 12 tokens",
            ),
            ("sparse-logistic", IMAGE, 2, "`logistic` reads dense ones"),
            ("linear-svm", IMAGE, 3, "two classes"),
            ("softmax", TEXT, 2, "dense or sparse rows"),
            (
                "mlp:8",
                SPARSE,
                2,
                "mlp reads dense rows; the data has sparse rows of 50 columns",
            ),
            (
                "simplenet",
                Input::Dense { width: 10 },
                2,
                "images of 28 x 28",
            ),
            ("lenet5", Input::Dense { width: 10 }, 2, "square images"),
            ("lenet5", SPARSE, 2, "square images"),
            ("lenet5", Input::Dense { width: 4 }, 2, "too small"),
            ("lstm:8", Input::Dense { width: 10 }, 2, "`steps=`"),
            ("lstm:8", Input::Dense { width: 0 }, 2, "`steps=`"),
            (
                "lstm:8,steps=3",
                Input::Dense { width: 10 },
                2,
                "3 equal steps",
            ),
            ("lstm:8,steps=3", TEXT, 2, "tokens are one step each"),
            ("lstm:8,embedding=3", IMAGE, 2, "only tokens have vectors"),
            ("birnn:8", SPARSE, 2, "tokens or dense rows"),
            ("softmax", IMAGE, 1, "at least two classes"),
        ] {
            let Err(error) = parsed(text).build(input, classes, Kernels::detect()) else {
                panic!("{text} was built for {}", RowKind(input));
            };
            let error = error.to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_token_s_vector_is_as_long_as_the_state_unless_given() {
        for (text, columns) in [("lstm:8", 8), ("lstm:8,embedding=3", 3)] {
            let model = parsed(text).build(TEXT, 2, Kernels::detect()).unwrap();
            let table = model.layout().table().expect("tokens have vectors");
            assert_eq!((table.rows, table.columns), (100, columns));
        }
    }
}
