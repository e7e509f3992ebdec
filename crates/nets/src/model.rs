use paceline_kernels::CrossEntropy;

use crate::{Batch, Gradient, Layout};

/// What a model is from outside: its parameters, its rows, its classes.
#[derive(Clone, Debug)]
pub struct ModelBase {
    /// Where the parameters lie.
    pub layout: Layout,
    /// What kind of rows the model reads.
    pub input: Input,
    /// How many classes it tells apart. A binary model with one score has two.
    pub classes: usize,
}

/// A model that learns by gradient.
///
/// A model holds shapes, never parameters or state. Every call works on the
/// caller's thread, in the caller's memory: `scratch` has at least
/// [`Model::scratch_len`] values and its contents mean nothing before or after.
pub trait Model: Send + Sync {
    /// Its parameters, rows and classes.
    fn base(&self) -> &ModelBase;

    /// Where the parameters lie.
    fn layout(&self) -> &Layout {
        &self.base().layout
    }

    /// What kind of rows the model reads.
    fn input(&self) -> Input {
        self.base().input
    }

    /// How many classes it tells apart.
    fn classes(&self) -> usize {
        self.base().classes
    }

    /// Fills `parameters` (zeroed, `layout().len()` long) with starting values
    /// that depend on `seed` alone.
    ///
    /// Left at zero unless a model says otherwise: where the problem is convex,
    /// no start is better than another.
    fn initialize(&self, seed: u64, parameters: &mut [f32]) {
        let _ = (seed, parameters);
    }

    /// How many scratch values a call on `rows` rows needs.
    fn scratch_len(&self, rows: usize) -> usize;

    /// Writes `scale` times the sum over the rows of the gradient of the loss,
    /// after [`Gradient::begin`]. `scale` is one over the rows of the *whole*
    /// batch, of which this call may see a shard.
    fn gradient(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scale: f32,
        gradient: &mut Gradient,
        scratch: &mut [f32],
    ) -> Tally;

    /// As [`Model::gradient`], and hands over the dense part on the way:
    /// `part` is called with a place in it and the values from there to the
    /// place before, as soon as they are final. Parts come from the end to the
    /// beginning and cover the dense part; a network whose last layers are done
    /// first has them sent while it computes the others.
    fn gradient_in_parts(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scale: f32,
        gradient: &mut Gradient,
        scratch: &mut [f32],
        part: &mut dyn FnMut(usize, &[f32]),
    ) -> Tally {
        let tally = self.gradient(parameters, batch, scale, gradient, scratch);
        part(0, gradient.dense());
        tally
    }

    /// Loss and hits of the rows, without a gradient.
    fn evaluate(&self, parameters: &[f32], batch: &Batch<'_>, scratch: &mut [f32]) -> Tally;

    /// Writes the score of each class for each row: `rows × classes` values,
    /// of which the largest in a row is the model's answer.
    fn scores(
        &self,
        parameters: &[f32],
        batch: &Batch<'_>,
        scores: &mut [f32],
        scratch: &mut [f32],
    );

    /// Floating-point operations of one row, forward and backward: what the
    /// benchmark divides by. For sparse rows, per entry.
    fn flops_per_row(&self) -> f64;

    /// Takes plain SGD steps, each on the next `batch` rows of `steps`, and
    /// returns what was found on each row before its step: the same as a
    /// [`Model::gradient`] and an update for each, without writing and reading
    /// back a gradient. `data` holds all rows that the steps name, so that a
    /// shuffled epoch copies none of them. Each step adds the gradient of
    /// `decay / 2` times the sum of all squared parameters. `scratch` has room
    /// for `batch` rows.
    ///
    /// `None`, and nothing is changed, if the model has no faster way than
    /// the gradient.
    fn descend(
        &self,
        parameters: &mut [f32],
        data: &Batch<'_>,
        steps: &[RowStep],
        batch: usize,
        decay: f32,
        scratch: &mut [f32],
    ) -> Option<Tally> {
        let _ = (parameters, data, steps, batch, decay, scratch);
        None
    }
}

/// A row that a descent takes, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowStep {
    /// Which row of the data.
    pub row: u32,
    /// The learning rate; of the rows of one step, that of the first counts.
    pub rate: f32,
}

/// What kind of rows a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Dense rows of this width.
    Dense {
        /// Values in a row.
        width: usize,
    },
    /// Sparse rows of this width.
    Sparse {
        /// Columns of a row.
        width: usize,
    },
    /// Sequences of indexes.
    Tokens {
        /// Tokens in a row.
        length: usize,
        /// One more than the largest index.
        vocabulary: usize,
    },
}

/// What a model found on some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// The sum of the rows' losses, in float64 because a data set has many rows.
    pub loss: f64,
    /// How many rows it would have classified rightly.
    pub hits: u64,
    /// How many rows it saw.
    pub rows: u64,
}

impl Tally {
    /// What a softmax found on so many rows.
    pub(crate) fn of(found: CrossEntropy, rows: usize) -> Self {
        Self {
            loss: found.loss,
            hits: found.hits,
            rows: rows as u64,
        }
    }

    /// Adds another shard's findings. They may have come over a network, so that
    /// no count of theirs may be too much.
    pub fn add(&mut self, other: Self) {
        self.loss += other.loss;
        self.hits = self.hits.saturating_add(other.hits);
        self.rows = self.rows.saturating_add(other.rows);
    }

    /// The mean loss of a row.
    pub fn mean_loss(&self) -> f64 {
        self.loss / self.rows as f64
    }

    /// The share of rows classified rightly.
    pub fn accuracy(&self) -> f64 {
        self.hits as f64 / self.rows as f64
    }
}
