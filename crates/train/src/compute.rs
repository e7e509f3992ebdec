use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

use paceline_data::{DataSet, shard};
use paceline_kernels::{AlignedBuffer, Kernels, Team};
use paceline_nets::{Gradient, Model, Tally};

use crate::cluster::Update;
use crate::feed::Feed;
use crate::optimizer::{OptimizerState, Step};

/// Rows that a thread evaluates at a time: enough for the matrix kernels, few
/// enough to stay in its cache.
const EVALUATED_AT_ONCE: usize = 128;

/// One worker's arithmetic: a model, a team of threads, and their memory.
///
/// A batch is cut into one contiguous share per thread, and sums over the
/// shares run in the threads' order: for a given number of threads every
/// result is the same to the last bit.
pub struct Compute {
    kernels: Kernels,
    model: Arc<dyn Model>,
    team: Team,
    lanes: Vec<Mutex<Lane>>,
    /// How many lanes the last batch filled.
    filled: usize,
    /// Rows of the table that the last batch touched, ascending.
    touched: Vec<u32>,
    largest_batch: usize,
}

/// What one thread works in.
struct Lane {
    feed: Feed,
    gradient: Gradient,
    scratch: AlignedBuffer,
    tally: Tally,
}

impl Compute {
    /// Memory and threads for batches of at most `batch_size` rows.
    pub fn new(model: Arc<dyn Model>, threads: usize, batch_size: usize) -> Self {
        let share = batch_size.div_ceil(threads).max(EVALUATED_AT_ONCE);
        let lanes = (0..threads)
            .map(|_| {
                Mutex::new(Lane {
                    feed: Feed::new(model.input(), share),
                    gradient: Gradient::new(model.layout()),
                    scratch: AlignedBuffer::zeroed(model.scratch_len(share)),
                    tally: Tally::default(),
                })
            })
            .collect();
        Self {
            kernels: Kernels::detect(),
            model,
            team: Team::new(threads),
            lanes,
            filled: 0,
            touched: Vec::new(),
            largest_batch: batch_size,
        }
    }

    /// The model it computes.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// How many threads work together.
    pub fn threads(&self) -> usize {
        self.team.size()
    }

    /// Computes the gradient of the mean loss over `rows` of `data`, one share
    /// per thread, and keeps it for [`Compute::update`] or [`Compute::sum`].
    ///
    /// # Panics
    ///
    /// If there are no rows, or more than the batch size.
    pub fn gradient(&mut self, data: &DataSet, rows: &[u32], parameters: &[f32]) -> Tally {
        self.gradient_of_share(data, rows, rows.len(), parameters)
    }

    /// As [`Compute::gradient`], of rows that are a share of a batch of
    /// `batch_rows`: the sum over all shares is the gradient of the batch's
    /// mean loss.
    ///
    /// # Panics
    ///
    /// If there are no rows, or more than the batch size.
    pub(crate) fn gradient_of_share(
        &mut self,
        data: &DataSet,
        rows: &[u32],
        batch_rows: usize,
        parameters: &[f32],
    ) -> Tally {
        assert!(
            !rows.is_empty() && rows.len() <= self.largest_batch,
            "a batch has at least one row and at most the batch size"
        );
        self.filled = self.lanes.len().min(rows.len());
        let scale = 1.0 / batch_rows as f32;
        let (model, lanes, filled) = (&self.model, &self.lanes, self.filled);
        self.team.run(|member| {
            if member.rank() >= filled {
                return;
            }
            let lane = &mut *lanes[member.rank()].lock();
            let own = &rows[shard(rows.len(), filled, member.rank())];
            let batch = lane.feed.gather(data, own.iter().copied());
            lane.gradient.begin();
            lane.tally = model.gradient(
                parameters,
                &batch,
                scale,
                &mut lane.gradient,
                &mut lane.scratch,
            );
        });
        self.collect_touched();
        let mut tally = Tally::default();
        for lane in &mut self.lanes[..self.filled] {
            tally.add(lane.get_mut().tally);
        }
        tally
    }

    /// Whether one thread computes: the parts of a gradient that is a sum over
    /// threads are final only when all of them are done.
    pub(crate) fn has_parts(&self) -> bool {
        self.lanes.len() == 1
    }

    /// As [`Compute::gradient_of_share`] on one thread, which hands over the
    /// dense part of the gradient on the way; see
    /// [`Model::gradient_in_parts`].
    ///
    /// # Panics
    ///
    /// If there are no rows, or more than the batch size, or more threads.
    pub(crate) fn gradient_in_parts(
        &mut self,
        data: &DataSet,
        rows: &[u32],
        batch_rows: usize,
        parameters: &[f32],
        part: &mut dyn FnMut(usize, &[f32]),
    ) -> Tally {
        assert!(
            !rows.is_empty() && rows.len() <= self.largest_batch,
            "a batch has at least one row and at most the batch size"
        );
        let [lane] = &mut self.lanes[..] else {
            panic!("one thread computes a gradient in parts");
        };
        self.filled = 1;
        let lane = lane.get_mut();
        let batch = lane.feed.gather(data, rows.iter().copied());
        lane.gradient.begin();
        let tally = self.model.gradient_in_parts(
            parameters,
            &batch,
            1.0 / batch_rows as f32,
            &mut lane.gradient,
            &mut lane.scratch,
            part,
        );
        self.collect_touched();
        tally
    }

    /// Applies the gradient that [`Compute::gradient`] left, each thread on its
    /// own range of the parameters.
    ///
    /// Of a table only the touched rows change, moments and decay included.
    pub fn update(
        &mut self,
        parameters: &mut [f32],
        optimizer: &mut OptimizerState,
        rate: f32,
        decay: f32,
        clip: Option<f32>,
    ) {
        optimizer.steps += 1;
        let shrink = clip.map_or(1.0, |limit| {
            let norm = self.gradient_norm();
            if norm > f64::from(limit) {
                (f64::from(limit) / norm) as f32
            } else {
                1.0
            }
        });
        let step = Step {
            rate,
            decay,
            shrink,
            number: optimizer.steps,
        };
        let layout = self.model.layout();
        let dense = layout.dense();
        let threads = self.team.size();
        let gradients: Vec<&Gradient> = self.lanes[..self.filled]
            .iter_mut()
            .map(|lane| &lane.get_mut().gradient)
            .collect();
        // Each thread gets one range of the dense part and one of the table,
        // cut so that every thread has as many touched rows.
        let mut bounds: Vec<usize> = (0..threads)
            .map(|rank| register_shard(dense.len(), threads, rank).end)
            .collect();
        let stride = layout.table().map_or(0, |table| table.stride);
        for rank in 0..threads {
            let last = shard(self.touched.len(), threads, rank).end;
            let row_after = match self.touched.get(last) {
                Some(row) if rank + 1 < threads => *row as usize * stride,
                _ => parameters.len() - dense.end,
            };
            bounds.push(dense.end + row_after);
        }
        let mut flat: Vec<&mut [f32]> = vec![parameters];
        flat.extend(optimizer.moments.iter_mut().map(|part| &mut part[..]));
        let portions = cut(flat, &bounds);
        let rule = optimizer.optimizer;
        let kernels = self.kernels;
        let touched = &self.touched;
        self.team.run(|member| {
            let rank = member.rank();
            let (range, portion) = &mut *portions[rank].lock();
            if let Some((weights, moments)) = portion.split_first_mut() {
                let slopes: Vec<&[f32]> = gradients
                    .iter()
                    .map(|part| &part.values()[range.clone()])
                    .collect();
                rule.apply(kernels, step, weights, &slopes, moments);
            }
            let own = &touched[shard(touched.len(), threads, rank)];
            let (range, portion) = &mut *portions[threads + rank].lock();
            for row in own {
                let start = dense.end + *row as usize * stride;
                let within = start - range.start..start + stride - range.start;
                let mut cells = portion.iter_mut().map(|part| &mut part[within.clone()]);
                let weights = cells.next().expect("the parameters come first");
                let mut moments: Vec<&mut [f32]> = cells.collect();
                let slopes: Vec<&[f32]> = gradients.iter().map(|part| part.row(*row)).collect();
                rule.apply(kernels, step, weights, &slopes, &mut moments);
            }
        });
    }

    /// Writes the sum of the threads' gradients into `total`: all of the dense
    /// part, and of the table the touched rows, which it lists.
    pub fn sum<'a>(&'a mut self, total: &mut [f32]) -> &'a [u32] {
        let dense = self.model.layout().dense();
        let (table, stride) = (
            dense.end,
            self.model.layout().table().map_or(0, |table| table.stride),
        );
        let threads = self.team.size();
        let gradients: Vec<&Gradient> = self.lanes[..self.filled]
            .iter_mut()
            .map(|lane| &lane.get_mut().gradient)
            .collect();
        let bounds: Vec<usize> = (0..threads)
            .map(|rank| register_shard(dense.len(), threads, rank).end)
            .collect();
        let kernels = self.kernels;
        {
            let portions = cut(vec![&mut total[..table]], &bounds);
            self.team.run(|member| {
                let (range, portion) = &mut *portions[member.rank()].lock();
                let shards: Vec<&[f32]> = gradients
                    .iter()
                    .map(|part| &part.values()[range.clone()])
                    .collect();
                kernels.sum_shards(portion[0], &shards);
            });
        }
        for row in &self.touched {
            let out = &mut total[table + *row as usize * stride..][..stride];
            out.fill(0.0);
            for part in &gradients {
                for (sum, value) in out.iter_mut().zip(part.row(*row)) {
                    *sum += value;
                }
            }
        }
        &self.touched
    }

    /// The rows of the table that the last batch touched, ascending.
    pub(crate) fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// Writes the sum of the threads' gradients into `update`.
    pub(crate) fn sum_into(&mut self, update: &mut Update) {
        let dense = self.model.layout().dense();
        let gradients: Vec<&Gradient> = self.lanes[..self.filled]
            .iter_mut()
            .map(|lane| &lane.get_mut().gradient)
            .collect();
        if let [only] = &gradients[..] {
            update.dense.copy_from_slice(only.dense());
        } else {
            let threads = self.team.size();
            let bounds: Vec<usize> = (0..threads)
                .map(|rank| register_shard(dense.len(), threads, rank).end)
                .collect();
            let kernels = self.kernels;
            let portions = cut(vec![&mut update.dense[..]], &bounds);
            self.team.run(|member| {
                let (range, portion) = &mut *portions[member.rank()].lock();
                let shards: Vec<&[f32]> = gradients
                    .iter()
                    .map(|part| &part.values()[range.clone()])
                    .collect();
                kernels.sum_shards(portion[0], &shards);
            });
        }
        self.rows_into(update);
    }

    /// Writes the rows of the table that the last batch touched into `update`.
    pub(crate) fn rows_into(&mut self, update: &mut Update) {
        let gradients: Vec<&Gradient> = self.lanes[..self.filled]
            .iter_mut()
            .map(|lane| &lane.get_mut().gradient)
            .collect();
        update.rows.clear();
        update.cells.clear();
        update.rows.extend_from_slice(&self.touched);
        for row in &self.touched {
            let start = update.cells.len();
            update.cells.extend_from_slice(gradients[0].row(*row));
            for part in &gradients[1..] {
                let sums = &mut update.cells[start..];
                for (sum, value) in sums.iter_mut().zip(part.row(*row)) {
                    *sum += value;
                }
            }
        }
    }

    /// Loss and hits on all rows of `data`.
    pub fn evaluate(&mut self, data: &DataSet, parameters: &[f32]) -> Tally {
        let (model, lanes) = (&self.model, &self.lanes);
        self.team.run(|member| {
            let lane = &mut *lanes[member.rank()].lock();
            lane.tally = Tally::default();
            for block in blocks(shard(data.rows(), member.size(), member.rank())) {
                let batch = lane.feed.gather(data, block);
                lane.tally
                    .add(model.evaluate(parameters, &batch, &mut lane.scratch));
            }
        });
        let mut tally = Tally::default();
        for lane in &mut self.lanes {
            tally.add(lane.get_mut().tally);
        }
        tally
    }

    /// The score of each class for each row of `data`, row after row.
    pub fn scores(&mut self, data: &DataSet, parameters: &[f32]) -> Vec<f32> {
        let classes = self.model.classes();
        let mut scores = vec![0.0; data.rows() * classes];
        let threads = self.team.size();
        let bounds: Vec<usize> = (0..threads)
            .map(|rank| shard(data.rows(), threads, rank).end * classes)
            .collect();
        let portions = cut(vec![&mut scores[..]], &bounds);
        let (model, lanes) = (&self.model, &self.lanes);
        self.team.run(|member| {
            let lane = &mut *lanes[member.rank()].lock();
            let (_, portion) = &mut *portions[member.rank()].lock();
            let mut rest = &mut *portion[0];
            for block in blocks(shard(data.rows(), threads, member.rank())) {
                let (own, after) = rest.split_at_mut(block.len() * classes);
                let batch = lane.feed.gather(data, block);
                model.scores(parameters, &batch, own, &mut lane.scratch);
                rest = after;
            }
        });
        drop(portions);
        scores
    }

    /// The Euclidean norm of the summed gradient, in float64.
    fn gradient_norm(&mut self) -> f64 {
        let dense = self.model.layout().dense();
        let gradients: Vec<&Gradient> = self.lanes[..self.filled]
            .iter_mut()
            .map(|lane| &lane.get_mut().gradient)
            .collect();
        let mut square = 0.0;
        for index in dense {
            let value: f32 = gradients.iter().map(|part| part.values()[index]).sum();
            square += f64::from(value) * f64::from(value);
        }
        for row in &self.touched {
            for place in 0..gradients[0].row(*row).len() {
                let value: f32 = gradients.iter().map(|part| part.row(*row)[place]).sum();
                square += f64::from(value) * f64::from(value);
            }
        }
        square.sqrt()
    }

    fn collect_touched(&mut self) {
        self.touched.clear();
        if self.model.layout().table().is_none() {
            return;
        }
        for lane in &mut self.lanes[..self.filled] {
            self.touched
                .extend_from_slice(lane.get_mut().gradient.touched());
        }
        self.touched.sort_unstable();
        self.touched.dedup();
    }
}

/// Ranges of rows of at most [`EVALUATED_AT_ONCE`].
fn blocks(rows: Range<usize>) -> impl Iterator<Item = Range<u32>> {
    let number = |row: usize| u32::try_from(row).expect("a data set numbers its rows with 32 bits");
    rows.clone()
        .step_by(EVALUATED_AT_ONCE)
        .map(move |start| number(start)..number(rows.end.min(start + EVALUATED_AT_ONCE)))
}

/// As [`shard`], with every bound on a whole register.
fn register_shard(len: usize, parts: usize, part: usize) -> Range<usize> {
    let lanes = AlignedBuffer::LANES;
    let whole = shard(len.div_ceil(lanes), parts, part);
    (whole.start * lanes).min(len)..(whole.end * lanes).min(len)
}

/// A range and, of each flat buffer, the values in it.
type Portion<'a> = (Range<usize>, Vec<&'a mut [f32]>);

/// Cuts buffers of the same length at the same places. Each part is behind a
/// lock because the threads of a team share one closure; nobody ever waits.
fn cut<'a>(buffers: Vec<&'a mut [f32]>, bounds: &[usize]) -> Vec<Mutex<Portion<'a>>> {
    let mut portions: Vec<Portion<'a>> = Vec::with_capacity(bounds.len());
    let mut start = 0;
    for end in bounds {
        portions.push((start..*end, Vec::with_capacity(buffers.len())));
        start = *end;
    }
    for mut rest in buffers {
        for (range, portion) in &mut portions {
            let (own, after) = rest.split_at_mut(range.len());
            portion.push(own);
            rest = after;
        }
    }
    portions.into_iter().map(Mutex::new).collect()
}
