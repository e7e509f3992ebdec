//! Training one machine per pair of classes.

use super::SvmKernel;
use super::cache::Source;
use super::model::KernelSvmModel;
use super::points::Points;
use super::smo::{Limits, Solution, solve};
use crate::learner::require_rows;
use crate::parameter::{require, require_count};
use crate::{FitError, Labelled, ParameterError, Threads};
use std::ops::Range;

/// Hyper-parameters of [`KernelSvm`] as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelSvmParams {
    /// How alike two rows are.
    pub kernel: SvmKernel,
    /// What a unit of slack costs, C: a large cost allows few errors.
    pub cost: f64,
    /// The largest violation of optimality at which training ends.
    pub tolerance: f64,
    /// How many bytes of kernel values are kept, over all threads. Training
    /// keeps at least two rows per machine whatever the bound.
    pub cache_bytes: usize,
    /// Whether variables that stay at a bound are set aside. The optimum is the
    /// same to within the tolerance.
    pub shrinking: bool,
    /// The most iterations of one machine.
    pub max_iterations: usize,
}

impl Default for KernelSvmParams {
    fn default() -> Self {
        Self {
            kernel: SvmKernel::Rbf { gamma: 1.0 },
            cost: 1.0,
            tolerance: 1e-3,
            cache_bytes: 256 << 20,
            shrinking: true,
            max_iterations: 10_000_000,
        }
    }
}

impl KernelSvmParams {
    /// Accepts a cost and a tolerance above zero and a kernel within its range.
    pub fn check(self) -> Result<KernelSvm, ParameterError> {
        self.kernel.check()?;
        require("cost", self.cost, self.cost > 0.0, "above 0")?;
        require("tolerance", self.tolerance, self.tolerance > 0.0, "above 0")?;
        require_count("max_iterations", self.max_iterations, 1)?;
        Ok(KernelSvm(self))
    }
}

/// A support vector classifier (C-SVC; Cortes and Vapnik 1995), with one machine
/// per pair of classes, which vote.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelSvm(KernelSvmParams);

impl KernelSvm {
    /// Trains a machine for each pair of classes that have rows.
    ///
    /// Features should be of moderate size (scaled to about one): kernel values
    /// are computed in single precision.
    pub fn fit(&self, data: &Labelled<'_>, threads: Threads) -> Result<KernelSvmModel, FitError> {
        require_rows(data.rows(), 2)?;
        let sorted = ByClass::new(data);
        let present: Vec<usize> = (0..data.classes())
            .filter(|&class| !sorted.ranges[class].is_empty())
            .collect();
        if present.len() < 2 {
            return Err(FitError::OneClass);
        }
        let points = Points::select(data.features(), &sorted.rows);
        if !points.has_moderate_squares() {
            return Err(FitError::Overflow);
        }
        let pairs: Vec<(usize, usize)> = present
            .iter()
            .enumerate()
            .flat_map(|(index, &first)| present[index + 1..].iter().map(move |&b| (first, b)))
            .collect();
        let at_once = threads.count().min(pairs.len());
        let limits = Limits {
            cost: self.0.cost,
            tolerance: self.0.tolerance,
            shrinking: self.0.shrinking,
            cache_bytes: self.0.cache_bytes / at_once,
            max_iterations: self.0.max_iterations,
        };
        let within = Threads::new(threads.count() / at_once);
        let machines = threads.map(pairs.len(), |pair| {
            let (first, second) = pairs[pair];
            self.train(&points, &sorted, first, second, within, &limits)
        });
        let machines = pairs.into_iter().zip(machines).collect();
        Ok(assemble(data, &sorted, self.0.kernel, machines))
    }

    fn train(
        &self,
        points: &Points,
        sorted: &ByClass,
        first: usize,
        second: usize,
        threads: Threads,
        limits: &Limits,
    ) -> Solution {
        let (positive, negative) = (sorted.members(first), sorted.members(second));
        let labels: Vec<f64> = positive
            .clone()
            .map(|_| 1.0)
            .chain(negative.clone().map(|_| -1.0))
            .collect();
        let members: Vec<u32> = positive.chain(negative).collect();
        let source = Source {
            points,
            kernel: self.0.kernel,
            members: &members,
            threads,
        };
        solve(source, &labels, limits)
    }
}

/// The rows in order of class.
struct ByClass {
    rows: Vec<u32>,
    ranges: Vec<Range<usize>>,
}

impl ByClass {
    fn new(data: &Labelled<'_>) -> Self {
        let mut end = 0;
        let ranges: Vec<Range<usize>> = data
            .class_sizes()
            .into_iter()
            .map(|size| {
                let start = end;
                end += size;
                start..end
            })
            .collect();
        let mut rows: Vec<u32> = (0..data.rows() as u32).collect();
        rows.sort_by_key(|&row| data.labels()[row as usize]);
        Self { rows, ranges }
    }

    /// The places of a class in the order of classes.
    fn members(&self, class: usize) -> Range<u32> {
        self.ranges[class].start as u32..self.ranges[class].end as u32
    }
}

/// Keeps the rows that support any machine.
fn assemble(
    data: &Labelled<'_>,
    sorted: &ByClass,
    kernel: SvmKernel,
    machines: Vec<((usize, usize), Solution)>,
) -> KernelSvmModel {
    let classes = data.classes();
    let mut supports = vec![false; sorted.rows.len()];
    for ((first, second), machine) in &machines {
        let (positive, negative) = (&sorted.ranges[*first], &sorted.ranges[*second]);
        let places = positive.clone().chain(negative.clone());
        for (place, &weight) in places.zip(&machine.weights) {
            supports[place] |= weight != 0.0;
        }
    }
    let kept: Vec<usize> = (0..supports.len()).filter(|&at| supports[at]).collect();
    let mut place_of = vec![0; supports.len()];
    for (place, &at) in kept.iter().enumerate() {
        place_of[at] = place;
    }
    let rows: Vec<u32> = kept.iter().map(|&at| sorted.rows[at]).collect();
    let counts = sorted.ranges.iter();
    let counts = counts.map(|range| supports[range.clone()].iter().filter(|&&s| s).count());
    let mut weights = vec![0.0; (classes - 1) * kept.len()];
    let mut thresholds = vec![0.0; classes * (classes - 1) / 2];
    let mut converged = true;
    for ((first, second), machine) in &machines {
        let positive = sorted.ranges[*first].clone().map(|at| (at, second - 1));
        let negative = sorted.ranges[*second].clone().map(|at| (at, *first));
        for ((at, line), &weight) in positive.chain(negative).zip(&machine.weights) {
            if supports[at] {
                weights[line * kept.len() + place_of[at]] = weight as f32;
            }
        }
        thresholds[pair_index(*first, *second, classes)] = machine.threshold as f32;
        converged &= machine.converged;
    }
    KernelSvmModel {
        vectors: Points::select(data.features(), &rows),
        counts: counts.collect(),
        kernel,
        weights,
        thresholds,
        converged,
    }
}

/// The place of a pair of classes, first below second, in their order.
pub(super) fn pair_index(first: usize, second: usize, classes: usize) -> usize {
    first * (2 * classes - first - 1) / 2 + second - first - 1
}
