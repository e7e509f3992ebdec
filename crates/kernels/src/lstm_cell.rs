//! The element-wise part of a long short-term memory cell (Hochreiter &
//! Schmidhuber 1997, with the forget gate of Gers et al. 2000):
//!
//! ```text
//! i = σ(zᵢ)   f = σ(z_f)   g = tanh(z_g)   o = σ(zₒ)
//! c = f · c₋₁ + i · g      h = o · tanh(c)
//! ```

#![expect(
    unsafe_code,
    reason = "vectors over raw pointers, checked at the entry"
)]

use crate::Kernels;
use crate::activation::{sigmoid, tanh};
use crate::kernels::dispatch;
use crate::simd::Simd;

/// What one step of a layer of cells leaves for the way back. All are
/// row-major; rows are sequences.
#[derive(Debug)]
pub struct LstmStep<'a> {
    /// Four gates for each cell, in the order i, f, g, o: a row holds all i,
    /// then all f, and so on. Forward, the sums z become the gates; backward,
    /// the gates become the gradients by the sums.
    pub gates: &'a mut [f32],
    /// The cells' states before the step.
    pub before: &'a [f32],
}

impl Kernels {
    /// One step forward: turns the sums in `step.gates` into gates and writes
    /// the new `states`, their hyperbolic tangents `squashed` and the
    /// `outputs`. A row has `cells` cells.
    ///
    /// # Panics
    ///
    /// If the lengths do not agree.
    pub fn lstm_forward(
        self,
        cells: usize,
        step: LstmStep<'_>,
        states: &mut [f32],
        squashed: &mut [f32],
        outputs: &mut [f32],
    ) {
        let LstmStep { gates, before } = step;
        check(cells, gates, [before, states, squashed, outputs]);
        dispatch!(self => forward(
            cells: usize,
            gates: &mut [f32],
            before: &[f32],
            states: &mut [f32],
            squashed: &mut [f32],
            outputs: &mut [f32],
        ));
    }

    /// The same step backward: turns the gates into the gradients by their
    /// sums. `output_slopes` is the gradient by the outputs, `state_slopes`
    /// that by the new states, which becomes that by the states before.
    ///
    /// # Panics
    ///
    /// If the lengths do not agree.
    pub fn lstm_backward(
        self,
        cells: usize,
        step: LstmStep<'_>,
        squashed: &[f32],
        output_slopes: &[f32],
        state_slopes: &mut [f32],
    ) {
        let LstmStep { gates, before } = step;
        check(
            cells,
            gates,
            [before, squashed, output_slopes, state_slopes],
        );
        dispatch!(self => backward(
            cells: usize,
            gates: &mut [f32],
            before: &[f32],
            squashed: &[f32],
            output_slopes: &[f32],
            state_slopes: &mut [f32],
        ));
    }
}

/// The loops below rely on it: every other slice is a quarter of the gates,
/// which are whole rows.
fn check(cells: usize, gates: &[f32], others: [&[f32]; 4]) {
    assert!(
        cells > 0 && gates.len().is_multiple_of(4 * cells),
        "gates are whole rows of four for each cell"
    );
    for other in others {
        assert_eq!(4 * other.len(), gates.len(), "one value for four gates");
    }
}

/// # Safety
/// `count`, or else a vector of floats is readable at `from`.
#[inline(always)]
unsafe fn read<S: Simd>(simd: S, from: *const f32, count: Option<usize>) -> S::V {
    // SAFETY: the caller's promise.
    unsafe {
        match count {
            None => simd.load(from),
            Some(count) => simd.load_first(from, count),
        }
    }
}

/// # Safety
/// `count`, or else a vector of floats is writable at `to`.
#[inline(always)]
unsafe fn write<S: Simd>(simd: S, to: *mut f32, count: Option<usize>, value: S::V) {
    // SAFETY: the caller's promise.
    unsafe {
        match count {
            None => simd.store(to, value),
            Some(count) => simd.store_first(to, count, value),
        }
    }
}

/// One row of cells, either way. A trait and not a closure: only
/// `#[inline(always)]` makes a step part of the caller that has the
/// instructions.
trait Row {
    /// # Safety
    /// A vector, or `count` values, from `at` on lie within the row.
    unsafe fn step<S: Simd>(&self, simd: S, at: usize, count: Option<usize>);
}

/// Goes through a row: whole vectors, then what is left.
///
/// # Safety
/// The row has `cells` cells.
#[inline(always)]
unsafe fn each_vector<S: Simd>(simd: S, cells: usize, row: impl Row) {
    let mut at = 0;
    // SAFETY: `at` and the values that follow lie within the row.
    unsafe {
        while at + S::LANES <= cells {
            row.step(simd, at, None);
            at += S::LANES;
        }
        if at < cells {
            row.step(simd, at, Some(cells - at));
        }
    }
}

#[inline(always)]
fn forward<S: Simd>(
    simd: S,
    cells: usize,
    gates: &mut [f32],
    before: &[f32],
    states: &mut [f32],
    squashed: &mut [f32],
    outputs: &mut [f32],
) {
    for (row, gates) in gates.chunks_exact_mut(4 * cells).enumerate() {
        let from = row * cells;
        // SAFETY: a row has `cells` values, of which `gates` holds four and the
        // others, as `check` made sure, one at `from`.
        unsafe {
            let vectors = Forward {
                cells,
                gates: gates.as_mut_ptr(),
                before: before.as_ptr().add(from),
                states: states.as_mut_ptr().add(from),
                squashed: squashed.as_mut_ptr().add(from),
                outputs: outputs.as_mut_ptr().add(from),
            };
            each_vector(simd, cells, vectors);
        }
    }
}

/// One row on the way forward.
struct Forward {
    cells: usize,
    gates: *mut f32,
    before: *const f32,
    states: *mut f32,
    squashed: *mut f32,
    outputs: *mut f32,
}

impl Row for Forward {
    #[inline(always)]
    unsafe fn step<S: Simd>(&self, simd: S, at: usize, count: Option<usize>) {
        // SAFETY: the caller's promise.
        unsafe {
            let zi = self.gates.add(at);
            let zf = zi.add(self.cells);
            let zg = zf.add(self.cells);
            let zo = zg.add(self.cells);
            let i = sigmoid(simd, read(simd, zi, count));
            let f = sigmoid(simd, read(simd, zf, count));
            let g = tanh(simd, read(simd, zg, count));
            let o = sigmoid(simd, read(simd, zo, count));
            let old = read(simd, self.before.add(at), count);
            let state = simd.mul_add(f, old, simd.mul(i, g));
            let flat = tanh(simd, state);
            write(simd, zi, count, i);
            write(simd, zf, count, f);
            write(simd, zg, count, g);
            write(simd, zo, count, o);
            write(simd, self.states.add(at), count, state);
            write(simd, self.squashed.add(at), count, flat);
            write(simd, self.outputs.add(at), count, simd.mul(o, flat));
        }
    }
}

#[inline(always)]
fn backward<S: Simd>(
    simd: S,
    cells: usize,
    gates: &mut [f32],
    before: &[f32],
    squashed: &[f32],
    output_slopes: &[f32],
    state_slopes: &mut [f32],
) {
    for (row, gates) in gates.chunks_exact_mut(4 * cells).enumerate() {
        let from = row * cells;
        // SAFETY: as in `forward`.
        unsafe {
            let vectors = Backward {
                cells,
                gates: gates.as_mut_ptr(),
                before: before.as_ptr().add(from),
                squashed: squashed.as_ptr().add(from),
                output_slopes: output_slopes.as_ptr().add(from),
                state_slopes: state_slopes.as_mut_ptr().add(from),
            };
            each_vector(simd, cells, vectors);
        }
    }
}

/// One row on the way back.
struct Backward {
    cells: usize,
    gates: *mut f32,
    before: *const f32,
    squashed: *const f32,
    output_slopes: *const f32,
    state_slopes: *mut f32,
}

impl Row for Backward {
    #[inline(always)]
    unsafe fn step<S: Simd>(&self, simd: S, at: usize, count: Option<usize>) {
        // SAFETY: the caller's promise.
        unsafe {
            let to_i = self.gates.add(at);
            let to_f = to_i.add(self.cells);
            let to_g = to_f.add(self.cells);
            let to_o = to_g.add(self.cells);
            let i = read(simd, to_i, count);
            let f = read(simd, to_f, count);
            let g = read(simd, to_g, count);
            let o = read(simd, to_o, count);
            let old = read(simd, self.before.add(at), count);
            let flat = read(simd, self.squashed.add(at), count);
            let by_output = read(simd, self.output_slopes.add(at), count);
            let carried = self.state_slopes.add(at);
            let by_state = simd.mul_add(
                simd.mul(by_output, o),
                tanh_slope(simd, flat),
                read(simd, carried, count),
            );
            let by_i = simd.mul(simd.mul(by_state, g), sigmoid_slope(simd, i));
            let by_f = simd.mul(simd.mul(by_state, old), sigmoid_slope(simd, f));
            let by_g = simd.mul(simd.mul(by_state, i), tanh_slope(simd, g));
            let by_o = simd.mul(simd.mul(by_output, flat), sigmoid_slope(simd, o));
            write(simd, to_i, count, by_i);
            write(simd, to_f, count, by_f);
            write(simd, to_g, count, by_g);
            write(simd, to_o, count, by_o);
            write(simd, carried, count, simd.mul(by_state, f));
        }
    }
}

/// The derivative of σ, by its value.
#[inline(always)]
fn sigmoid_slope<S: Simd>(simd: S, y: S::V) -> S::V {
    simd.mul(y, simd.sub(simd.splat(1.0), y))
}

/// The derivative of tanh, by its value.
#[inline(always)]
fn tanh_slope<S: Simd>(simd: S, y: S::V) -> S::V {
    simd.sub(simd.splat(1.0), simd.mul(y, y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Numbers;

    fn logistic(x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }

    /// The new state and output of one cell.
    fn cell(z: [f64; 4], before: f64) -> (f64, f64) {
        let [i, f, g, o] = z;
        let state = logistic(f) * before + logistic(i) * g.tanh();
        (state, logistic(o) * state.tanh())
    }

    fn assert_close(got: &[f32], expected: &[f64], tolerance: f64, what: &str) {
        for (got, expected) in got.iter().zip(expected) {
            assert!(
                (f64::from(*got) - expected).abs() <= tolerance,
                "{what}: {got} is not {expected}"
            );
        }
    }

    /// Central differences in float64 of a step whose loss is the sum of
    /// `by_output · output + by_state · state`.
    fn slopes(z: [f64; 4], before: f64, by_output: f64, by_state: f64) -> ([f64; 4], f64) {
        let loss = |z: [f64; 4], before: f64| {
            let (state, output) = cell(z, before);
            by_output * output + by_state * state
        };
        let step = 1e-5;
        let by_sums = [0, 1, 2, 3].map(|gate| {
            let (mut up, mut down) = (z, z);
            up[gate] += step;
            down[gate] -= step;
            (loss(up, before) - loss(down, before)) / (2.0 * step)
        });
        let by_before = (loss(z, before + step) - loss(z, before - step)) / (2.0 * step);
        (by_sums, by_before)
    }

    #[test]
    fn a_step_and_its_way_back_agree_with_float64_on_every_path() {
        const ROWS: usize = 3;
        for kernels in Kernels::available() {
            for cells in [1, 7, 16, 21, 48] {
                let mut numbers = Numbers::new(cells as u64);
                let values = ROWS * cells;
                let sums: Vec<f32> = (0..4 * values).map(|_| 4.0 * numbers.next()).collect();
                let before = numbers.vector(values);
                let by_output = numbers.vector(values);
                let by_state = numbers.vector(values);

                let mut gates = sums.clone();
                let (mut states, mut squashed, mut outputs) =
                    (vec![0.0; values], vec![0.0; values], vec![0.0; values]);
                kernels.lstm_forward(
                    cells,
                    LstmStep {
                        gates: &mut gates,
                        before: &before,
                    },
                    &mut states,
                    &mut squashed,
                    &mut outputs,
                );
                let mut carried = by_state.clone();
                kernels.lstm_backward(
                    cells,
                    LstmStep {
                        gates: &mut gates,
                        before: &before,
                    },
                    &squashed,
                    &by_output,
                    &mut carried,
                );
                for row in 0..ROWS {
                    for index in 0..cells {
                        let at = row * cells + index;
                        let gate = |gate: usize| row * 4 * cells + gate * cells + index;
                        let z = [0, 1, 2, 3].map(|g| f64::from(sums[gate(g)]));
                        let old = f64::from(before[at]);
                        let (state, output) = cell(z, old);
                        assert_close(
                            &[states[at], outputs[at]],
                            &[state, output],
                            1e-6,
                            "forward",
                        );
                        let (by_sums, by_before) =
                            slopes(z, old, f64::from(by_output[at]), f64::from(by_state[at]));
                        let got = [0, 1, 2, 3].map(|g| gates[gate(g)]);
                        assert_close(&got, &by_sums, 1e-6, "backward");
                        assert_close(&[carried[at]], &[by_before], 1e-6, "carried");
                    }
                }
            }
        }
    }

    #[test]
    fn sums_of_any_size_give_numbers() {
        for kernels in Kernels::available() {
            let mut gates = vec![1e30, -1e30, 1e30, -1e30];
            let (mut state, mut squashed, mut output) = ([0.0], [0.0], [0.0]);
            let step = LstmStep {
                gates: &mut gates,
                before: &[1.0],
            };
            kernels.lstm_forward(1, step, &mut state, &mut squashed, &mut output);
            assert_eq!(state, [1.0]);
            assert!(output[0].abs() < 1e-30);
        }
    }

    #[test]
    #[should_panic(expected = "one value for four gates")]
    fn slices_that_do_not_fit_are_refused() {
        let step = LstmStep {
            gates: &mut [0.0; 8],
            before: &[0.0; 1],
        };
        Kernels::detect().lstm_forward(2, step, &mut [0.0; 2], &mut [0.0; 2], &mut [0.0; 2]);
    }
}
