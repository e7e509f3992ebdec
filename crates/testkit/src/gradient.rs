//! Whether a model's gradient is the derivative of its loss.
//!
//! More than 600 lines: one contract for every model, in one place.

use std::fmt;

use paceline_nets::{Batch, Gradient, Model, Segment, SegmentKind};

/// Single parameters tried in each segment, half of them those with the
/// largest gradient.
const COORDINATES: usize = 16;

/// Random directions through each segment.
const DIRECTIONS: usize = 2;

/// The first step along a direction of length one. Steps shrink by
/// [`SHRINK`] while the differences disagree with the gradient.
const STEP: f64 = 1.0 / 32.0;
const SHRINK: f64 = 4.0;
const ATTEMPTS: u32 = 4;

/// What a comparison tolerates. The loss is computed in float32: the mean loss
/// of a row, of some units, carries an error of about 1e-6, which the quotient
/// divides by the step.
const RELATIVE: f64 = 0.01;
const ABSOLUTE: f64 = 3e-4;
const LOSS_ERROR: f64 = 1e-6;

/// Compares a model's gradient with central differences of its loss, summed in
/// float64, at parameters and along directions that depend on `seed` alone.
///
/// In every segment it tries the direction of the gradient itself, random
/// directions, and single parameters. A kink of the loss (a ReLU, a pool) near
/// the point spoils a difference, so shorter steps are tried before a derivative
/// counts as wrong. Where even the shortest disagree with each other it is
/// undecided, which is counted, not passed over.
///
/// It also checks the rest of the contract: the gradient is written over what
/// was there, scales with `scale`, and is zero in padding and untouched rows;
/// `gradient`, `evaluate` and `scores` agree with each other.
pub fn gradient_check(model: &dyn Model, batch: &Batch<'_>, seed: u64) -> GradientReport {
    let layout = model.layout();
    let mut random = Random(seed);
    let mut parameters = vec![0.0; layout.len()];
    model.initialize(seed, &mut parameters);
    let live: Vec<usize> = layout.segments().iter().flat_map(live_indexes).collect();
    for index in &live {
        // Biases start at zero, where the gradient of a wrong model may be right.
        parameters[*index] += 0.05 * random.even() as f32;
    }
    let mut check = Check {
        model,
        batch,
        scratch: vec![f32::NAN; model.scratch_len(batch.rows())],
        parameters,
        report: GradientReport::default(),
    };
    let gradient = check.contract(&live);
    for segment in layout.segments() {
        let indexes: Vec<usize> = live_indexes(segment)
            .filter(|index| segment.kind == SegmentKind::Dense || gradient[*index] != 0.0)
            .collect();
        check.segment(segment, &indexes, &gradient, &mut random);
    }
    check.report
}

/// What [`gradient_check`] found. Its text names every failure.
#[derive(Clone, Debug, Default)]
pub struct GradientReport {
    /// How many derivatives were compared.
    pub checked: usize,
    /// How many of them a kink of the loss left undecided.
    pub undecided: usize,
    /// The largest relative difference among those that agree.
    pub worst: f64,
    /// Derivatives that differ.
    pub mismatches: Vec<Mismatch>,
    /// Other promises of the contract that do not hold.
    pub breaches: Vec<Breach>,
}

/// A derivative that is not the gradient's.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The segment's name.
    pub segment: String,
    /// The parameter's place in the flat buffer; none for a direction.
    pub index: Option<usize>,
    /// What the model says.
    pub analytic: f64,
    /// What differences of the loss say.
    pub numeric: f64,
}

/// A promise of the `Model` contract that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// A second call gives another gradient: old values or scratch leak in.
    NotOverwritten,
    /// Twice the scale is not twice the gradient.
    NotScaled,
    /// Padding or an untouched row has a gradient.
    OutsideTouched,
    /// `evaluate` and `gradient` disagree on loss, hits or rows.
    EvaluateDiffers,
    /// The largest score is not the answer that `evaluate` counts.
    ScoresDiffer,
    /// Loss or gradient is not finite.
    NotFinite,
}

impl GradientReport {
    /// Whether every derivative agrees and at most one in five is undecided.
    pub fn passed(&self) -> bool {
        self.mismatches.is_empty()
            && self.breaches.is_empty()
            && self.checked > 0
            && self.undecided * 5 <= self.checked
    }
}

impl fmt::Display for GradientReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} derivatives compared, {} undecided, worst relative difference {:.1e}",
            self.checked, self.undecided, self.worst
        )?;
        for breach in &self.breaches {
            write!(f, "; {breach:?}")?;
        }
        for mismatch in &self.mismatches {
            let Mismatch {
                segment,
                index,
                analytic,
                numeric,
            } = mismatch;
            write!(f, "; {segment}")?;
            match index {
                Some(index) => write!(f, "[{index}]")?,
                None => write!(f, " (direction)")?,
            }
            write!(f, ": gradient {analytic:.5}, differences {numeric:.5}")?;
        }
        Ok(())
    }
}

struct Check<'a> {
    model: &'a dyn Model,
    batch: &'a Batch<'a>,
    scratch: Vec<f32>,
    parameters: Vec<f32>,
    report: GradientReport,
}

impl Check<'_> {
    /// Checks everything but the derivatives; returns the gradient of the mean
    /// loss.
    fn contract(&mut self, live: &[usize]) -> Vec<f32> {
        let (model, batch) = (self.model, self.batch);
        let scale = 1.0 / batch.rows() as f32;
        let mut gradient = Gradient::new(model.layout());
        gradient.dense_mut().fill(7.0);
        let mut call = |scale: f32, gradient: &mut Gradient| {
            // A model may neither read what scratch held nor leave what the
            // gradient held.
            self.scratch.fill(f32::NAN);
            gradient.begin();
            model.gradient(&self.parameters, batch, scale, gradient, &mut self.scratch)
        };
        let tally = call(scale, &mut gradient);
        let first = gradient.values().to_vec();
        let mut breaches = Vec::new();
        if call(scale, &mut gradient) != tally || gradient.values() != first {
            breaches.push(Breach::NotOverwritten);
        }
        call(2.0 * scale, &mut gradient);
        let close = |a: f32, b: f32| (a - b).abs() <= 1e-5 * (a.abs() + b.abs()) + 1e-9;
        if !first
            .iter()
            .zip(gradient.values())
            .all(|(one, two)| close(2.0 * one, *two))
        {
            breaches.push(Breach::NotScaled);
        }
        let mut outside = vec![true; first.len()];
        for index in live {
            outside[*index] = false;
        }
        if let Some(table) = model.layout().table() {
            for row in 0..table.rows {
                if !gradient.touched().contains(&(row as u32)) {
                    let start = table.offset + row * table.stride;
                    outside[start..start + table.stride].fill(true);
                }
            }
        }
        if first
            .iter()
            .zip(&outside)
            .any(|(value, out)| *out && *value != 0.0)
        {
            breaches.push(Breach::OutsideTouched);
        }
        if !tally.loss.is_finite() || !first.iter().all(|value| value.is_finite()) {
            breaches.push(Breach::NotFinite);
        }
        self.scratch.fill(f32::NAN);
        let evaluated = model.evaluate(&self.parameters, batch, &mut self.scratch);
        if evaluated.hits != tally.hits
            || evaluated.rows != tally.rows
            || (evaluated.loss - tally.loss).abs() > 1e-5 * tally.loss.abs()
        {
            breaches.push(Breach::EvaluateDiffers);
        }
        let mut scores = vec![f32::NAN; batch.rows() * model.classes()];
        self.scratch.fill(f32::NAN);
        model.scores(&self.parameters, batch, &mut scores, &mut self.scratch);
        // With its own answers as labels, a model hits every row.
        let answers: Vec<u32> = scores
            .chunks_exact(model.classes())
            .map(|row| {
                let best = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                row.iter().position(|score| *score == best).unwrap_or(0) as u32
            })
            .collect();
        let relabelled = Batch {
            inputs: batch.inputs,
            labels: &answers,
        };
        let agreed = model.evaluate(&self.parameters, &relabelled, &mut self.scratch);
        if agreed.hits != batch.rows() as u64 {
            breaches.push(Breach::ScoresDiffer);
        }
        self.report.breaches = breaches;
        first
    }

    fn segment(
        &mut self,
        segment: &Segment,
        indexes: &[usize],
        gradient: &[f32],
        random: &mut Random,
    ) {
        if indexes.is_empty() {
            return;
        }
        let own: Vec<f64> = indexes.iter().map(|i| f64::from(gradient[*i])).collect();
        self.direction(segment, indexes, gradient, &own);
        for _ in 0..DIRECTIONS {
            let direction: Vec<f64> = indexes.iter().map(|_| random.even()).collect();
            self.direction(segment, indexes, gradient, &direction);
        }
        let mut largest = indexes.to_vec();
        largest.sort_by(|a, b| gradient[*b].abs().total_cmp(&gradient[*a].abs()));
        largest.truncate(COORDINATES / 2);
        let others = (0..COORDINATES / 2).map(|_| indexes[random.below(indexes.len())]);
        for index in largest.into_iter().chain(others) {
            self.compare(
                segment,
                Some(index),
                f64::from(gradient[index]),
                &[(index, 1.0)],
            );
        }
    }

    fn direction(
        &mut self,
        segment: &Segment,
        indexes: &[usize],
        gradient: &[f32],
        direction: &[f64],
    ) {
        let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
        if length == 0.0 {
            return;
        }
        let steps: Vec<(usize, f64)> = indexes
            .iter()
            .zip(direction)
            .map(|(index, d)| (*index, d / length))
            .collect();
        let analytic = steps
            .iter()
            .map(|(index, d)| f64::from(gradient[*index]) * d)
            .sum();
        self.compare(segment, None, analytic, &steps);
    }

    fn compare(
        &mut self,
        segment: &Segment,
        index: Option<usize>,
        analytic: f64,
        steps: &[(usize, f64)],
    ) {
        self.report.checked += 1;
        let mut mismatch = None;
        let mut step = STEP;
        for _ in 0..ATTEMPTS {
            let (coarse, fine) = (
                self.difference(steps, step),
                self.difference(steps, step / 2.0),
            );
            // Richardson: the error of a central difference falls with the
            // square of the step, so this combination has none of that order.
            let numeric = (4.0 * fine - coarse) / 3.0;
            let size = analytic.abs().max(numeric.abs());
            let tolerance = RELATIVE * size + ABSOLUTE + LOSS_ERROR / step;
            let difference = (numeric - analytic).abs();
            if difference <= tolerance {
                if size > ABSOLUTE {
                    self.report.worst = self.report.worst.max(difference / size);
                }
                return;
            }
            // A step across a kink looks like a wrong gradient, so the shortest
            // one has the last word.
            mismatch = ((coarse - fine).abs() <= tolerance).then(|| Mismatch {
                segment: segment.name.clone(),
                index,
                analytic,
                numeric,
            });
            step /= SHRINK;
        }
        match mismatch {
            Some(mismatch) => self.report.mismatches.push(mismatch),
            None => self.report.undecided += 1,
        }
    }

    /// `(loss(p + h·d) - loss(p - h·d)) / 2h` of the mean loss, with the step
    /// that the float32 parameters really take.
    fn difference(&mut self, steps: &[(usize, f64)], step: f64) -> f64 {
        let before: Vec<f32> = steps.iter().map(|(i, _)| self.parameters[*i]).collect();
        let mut losses = [0.0; 2];
        let mut taken = [0.0; 2];
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            for ((index, d), old) in steps.iter().zip(&before) {
                let new = (f64::from(*old) + sign * step * d) as f32;
                taken[side] += (f64::from(new) - f64::from(*old)) * d;
                self.parameters[*index] = new;
            }
            let tally = self
                .model
                .evaluate(&self.parameters, self.batch, &mut self.scratch);
            losses[side] = tally.mean_loss();
        }
        for ((index, _), old) in steps.iter().zip(&before) {
            self.parameters[*index] = *old;
        }
        (losses[0] - losses[1]) / (taken[0] - taken[1])
    }
}

/// Where a segment's meaningful values lie in the flat buffer.
fn live_indexes(segment: &Segment) -> impl Iterator<Item = usize> {
    let (offset, columns, stride) = (segment.offset, segment.columns, segment.stride);
    (0..segment.rows)
        .flat_map(move |row| (0..columns).map(move |column| offset + row * stride + column))
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Even between -1 and 1.
    fn even(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_nets::{Input, Inputs, Layout, ModelBase, Tally};

    /// Softmax regression in plain loops, with a mistake if wanted.
    struct Plain {
        base: ModelBase,
        mistake: Mistake,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Mistake {
        None,
        BiasSign,
        OneWeight,
        FivePercent,
        IgnoresScale,
        Accumulates,
        WritesPadding,
        CountsHitsTwice,
        ScoresNegated,
    }

    const WIDTH: usize = 5;
    const CLASSES: usize = 3;
    const STRIDE: usize = 4;

    impl Plain {
        fn new(mistake: Mistake) -> Self {
            let mut builder = Layout::builder();
            builder.matrix("weight", WIDTH, CLASSES, STRIDE);
            builder.vector("bias", CLASSES, STRIDE);
            Self {
                base: ModelBase {
                    layout: builder.build(),
                    input: Input::Dense { width: WIDTH },
                    classes: CLASSES,
                },
                mistake,
            }
        }

        fn logits(&self, parameters: &[f32], batch: &Batch<'_>, row: usize) -> [f64; CLASSES] {
            let Inputs::Dense { values, width } = batch.inputs else {
                panic!("a dense batch");
            };
            let bias = self.base.layout.segments()[1].offset;
            std::array::from_fn(|class| {
                let weighted: f64 = (0..width)
                    .map(|i| {
                        f64::from(values[row * width + i])
                            * f64::from(parameters[i * STRIDE + class])
                    })
                    .sum();
                weighted + f64::from(parameters[bias + class])
            })
        }

        fn shares(logits: [f64; CLASSES]) -> ([f64; CLASSES], usize) {
            let total: f64 = logits.iter().map(|z| z.exp()).sum();
            let best = (0..CLASSES)
                .max_by(|a, b| logits[*a].total_cmp(&logits[*b]))
                .expect("there are classes");
            (logits.map(|z| z.exp() / total), best)
        }
    }

    impl Model for Plain {
        fn base(&self) -> &ModelBase {
            &self.base
        }

        fn initialize(&self, seed: u64, parameters: &mut [f32]) {
            let mut random = Random(seed);
            for index in live_indexes(&self.base.layout.segments()[0]) {
                parameters[index] = random.even() as f32;
            }
        }

        fn scratch_len(&self, _: usize) -> usize {
            0
        }

        fn gradient(
            &self,
            parameters: &[f32],
            batch: &Batch<'_>,
            scale: f32,
            gradient: &mut Gradient,
            scratch: &mut [f32],
        ) -> Tally {
            let Inputs::Dense { values, width } = batch.inputs else {
                panic!("a dense batch");
            };
            let bias = self.base.layout.segments()[1].offset;
            let dense = gradient.dense_mut();
            if self.mistake != Mistake::Accumulates {
                dense.fill(0.0);
            }
            let scale = if self.mistake == Mistake::IgnoresScale {
                0.125
            } else {
                scale
            };
            for row in 0..batch.rows() {
                let (shares, _) = Self::shares(self.logits(parameters, batch, row));
                for (class, share) in shares.iter().enumerate() {
                    let hot = f64::from(u8::from(batch.labels[row] as usize == class));
                    let slope = scale * (share - hot) as f32;
                    let sign = if self.mistake == Mistake::BiasSign {
                        -1.0
                    } else {
                        1.0
                    };
                    dense[bias + class] += sign * slope;
                    for i in 0..width {
                        dense[i * STRIDE + class] += slope * values[row * width + i];
                    }
                }
            }
            match self.mistake {
                Mistake::OneWeight => dense[2 * STRIDE + 1] *= 0.9,
                Mistake::FivePercent => dense.iter_mut().for_each(|value| *value *= 1.05),
                Mistake::WritesPadding => dense[STRIDE - 1] = 0.5,
                _ => {}
            }
            self.evaluate(parameters, batch, scratch)
        }

        fn evaluate(&self, parameters: &[f32], batch: &Batch<'_>, _: &mut [f32]) -> Tally {
            let mut tally = Tally::default();
            for row in 0..batch.rows() {
                let (shares, best) = Self::shares(self.logits(parameters, batch, row));
                let label = batch.labels[row] as usize;
                tally.loss -= shares[label].ln();
                let weight = if self.mistake == Mistake::CountsHitsTwice {
                    2
                } else {
                    1
                };
                tally.hits += weight * u64::from(best == label);
                tally.rows += 1;
            }
            tally
        }

        fn scores(&self, parameters: &[f32], batch: &Batch<'_>, scores: &mut [f32], _: &mut [f32]) {
            let sign = if self.mistake == Mistake::ScoresNegated {
                -1.0
            } else {
                1.0
            };
            for (row, scores) in scores.chunks_exact_mut(CLASSES).enumerate() {
                for (score, logit) in scores.iter_mut().zip(self.logits(parameters, batch, row)) {
                    *score = sign * logit as f32;
                }
            }
        }

        fn flops_per_row(&self) -> f64 {
            (4 * WIDTH * CLASSES) as f64
        }
    }

    fn check(mistake: Mistake) -> GradientReport {
        let mut random = Random(5);
        let values: Vec<f32> = (0..8 * WIDTH).map(|_| random.even() as f32).collect();
        let batch = Batch {
            inputs: Inputs::Dense {
                values: &values,
                width: WIDTH,
            },
            labels: &[0, 1, 2, 0, 1, 2, 0, 1],
        };
        gradient_check(&Plain::new(mistake), &batch, 3)
    }

    #[test]
    fn a_right_model_passes() {
        let report = check(Mistake::None);
        assert!(report.passed(), "{report}");
        assert!(report.worst < 1e-3, "{report}");
        assert_eq!(report.undecided, 0);
    }

    #[test]
    fn a_wrong_gradient_is_found_in_its_segment() {
        let report = check(Mistake::BiasSign);
        assert!(!report.mismatches.is_empty());
        assert!(
            report
                .mismatches
                .iter()
                .all(|found| found.segment == "bias")
        );
        let report = check(Mistake::OneWeight);
        assert!(
            report
                .mismatches
                .iter()
                .any(|found| found.index == Some(2 * STRIDE + 1))
        );
        assert!(check(Mistake::FivePercent).mismatches.len() > 4);
    }

    #[test]
    fn each_breach_of_the_contract_is_named() {
        for (mistake, breach) in [
            (Mistake::IgnoresScale, Breach::NotScaled),
            (Mistake::Accumulates, Breach::NotOverwritten),
            (Mistake::WritesPadding, Breach::OutsideTouched),
            (Mistake::CountsHitsTwice, Breach::ScoresDiffer),
            (Mistake::ScoresNegated, Breach::ScoresDiffer),
        ] {
            let report = check(mistake);
            assert!(report.breaches.contains(&breach), "{mistake:?}: {report}");
            assert!(!report.passed());
        }
    }
}
