//! Workers and machine type for a deadline at least cost.

use crate::least_squares::{NnlsError, nnls};
use crate::predict::{Residuals, Role, Roles, is_confidence};
use crate::runs::Runs;
use thiserror::Error;

/// A machine type of the price list.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineType {
    /// What it is called.
    pub name: String,
    /// Its cores; above zero.
    pub cores: f64,
    /// What it costs an hour; at least zero.
    pub price_per_hour: f64,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeRequest {
    /// When the job must be done, in seconds.
    pub deadline_s: f64,
    /// The probability with which it must be.
    pub confidence: f64,
    /// The most workers that are considered.
    pub most_workers: usize,
    /// The work of the job, where one is that of the measured runs (or one record
    /// and epoch, if samples or epochs are factors).
    pub work: f64,
    /// The cores of a measured worker, where no factor says so.
    pub measured_cores: f64,
}

/// Why no size can be told.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SizeError {
    /// The table has no such response.
    #[error("there is no response `{0}`")]
    UnknownResponse(String),
    /// No factor says how many machines or cores there were.
    #[error("no factor is known to be the machines or the cpus")]
    NoRole,
    /// A time is not above zero.
    #[error("run {0} has a time that is not above zero")]
    NotPositive(usize),
    /// A law of scaling needs several sizes.
    #[error(
        "{found} different cluster sizes are too few for a law of scaling; it needs at least {LEAST_SIZES}"
    )]
    TooFewSizes {
        /// How many different sizes there are.
        found: usize,
    },
    /// The price list is empty.
    #[error("the price list has no machines")]
    NoMachines,
    /// A machine has no sense.
    #[error("machine `{0}` needs cores above zero and a price of at least zero")]
    BadMachine(String),
    /// The request has no sense.
    #[error("{what} is {value}; it must be {requirement}")]
    BadRequest {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What it must be.
        requirement: &'static str,
    },
    /// There are more clusters than can be considered.
    #[error(
        "{machines} machine types of up to {workers} workers are more than {MOST_OPTIONS} clusters"
    )]
    TooMany {
        /// How many machine types there are.
        machines: usize,
        /// The most workers of each.
        workers: usize,
    },
    /// The least squares failed.
    #[error(transparent)]
    Nnls(#[from] NnlsError),
}

/// The most clusters that are considered, machine types times workers.
const MOST_OPTIONS: usize = 1_000_000;
/// The fewest different cluster sizes.
const LEAST_SIZES: usize = 3;

/// `T(w, c) = a + b·work/(w·c) + k·ln w + d·w` with non-negative coefficients:
/// Ernest's law (Venkataraman and others, NSDI 2016) with the parallel part
/// spread over all cores and communication between machines alone. It assumes
/// that cores of all types are equally fast.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterLaw {
    coefficients: [f64; 4],
    residuals: Residuals,
    workers: (f64, f64),
    cores: (f64, f64),
}

/// One cluster with what it would do.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeOption {
    /// Which machine of the price list.
    pub machine: usize,
    /// How many of it.
    pub workers: usize,
    /// The predicted time.
    pub seconds: f64,
    /// What the job costs.
    pub cost: f64,
    /// The probability that the deadline is kept.
    pub probability: f64,
    /// Whether its size lies outside what was measured; the probability is then
    /// judged by wider errors.
    pub extrapolated: bool,
}

/// How a machine type scales.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingShape {
    /// Which machine of the price list.
    pub machine: usize,
    /// Where another worker starts to bring little: the point of the time curve
    /// farthest below its chord (Satopää and others, "Kneedle", 2011).
    pub knee: usize,
    /// The fastest number of workers.
    pub fastest: usize,
    /// From this number of workers on, another one makes the job slower.
    pub slower_from: Option<usize>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizing {
    /// The cheapest cluster that keeps the deadline; `None` if none does.
    pub best: Option<SizeOption>,
    /// The cluster most likely to keep the deadline.
    pub likeliest: SizeOption,
    /// The cheapest that keeps it with the largest machine: scaling up.
    pub scale_up: Option<SizeOption>,
    /// The cheapest that keeps it with the smallest machine: scaling out.
    pub scale_out: Option<SizeOption>,
    /// Every cluster that was considered, by machine, then by workers.
    pub options: Vec<SizeOption>,
    /// How each machine type scales.
    pub shapes: Vec<ScalingShape>,
}

impl ClusterLaw {
    /// Fits relative errors of a time by non-negative least squares. Errors on
    /// other sizes come from leaving each size out in turn.
    pub fn fit(
        runs: &Runs,
        time: &str,
        roles: &Roles,
        measured_cores: f64,
    ) -> Result<Self, SizeError> {
        let times = runs
            .response(time)
            .ok_or_else(|| SizeError::UnknownResponse(time.to_owned()))?;
        let known = |role| roles.position(role).is_some();
        if !known(Role::Machines) && !known(Role::Cpus) {
            return Err(SizeError::NoRole);
        }
        if let Some(row) = times.iter().position(|&time| time <= 0.0) {
            return Err(SizeError::NotPositive(row + 1));
        }
        let rows: Vec<Row> = runs
            .settings()
            .iter()
            .zip(times)
            .map(|(setting, &seconds)| Row {
                workers: roles.level(Role::Machines, setting),
                cores: if known(Role::Cpus) {
                    roles.level(Role::Cpus, setting)
                } else {
                    measured_cores
                },
                work: roles.level(Role::Samples, setting) * roles.level(Role::Epochs, setting),
                seconds,
            })
            .collect();
        let mut sizes: Vec<(f64, f64)> = rows.iter().map(|row| (row.workers, row.cores)).collect();
        sizes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        sizes.dedup();
        if sizes.len() < LEAST_SIZES {
            return Err(SizeError::TooFewSizes { found: sizes.len() });
        }
        let mut residuals = Vec::with_capacity(rows.len());
        for &(workers, cores) in &sizes {
            let (left, rest): (Vec<Row>, Vec<Row>) = rows
                .iter()
                .partition(|row| (row.workers, row.cores) == (workers, cores));
            let coefficients = solve(&rest)?;
            residuals.extend(left.iter().map(|row| {
                let predicted = row.time(&coefficients).max(f64::MIN_POSITIVE);
                row.seconds.ln() - predicted.ln()
            }));
        }
        let range = |value: fn(&Row) -> f64| {
            let values = rows.iter().map(value);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                (low.min(v), high.max(v))
            })
        };
        Ok(Self {
            coefficients: solve(&rows)?,
            residuals: Residuals::new(residuals, sizes.len() as f64 - 1.0),
            workers: range(|row| row.workers),
            cores: range(|row| row.workers * row.cores),
        })
    }

    /// The time of so much work on so many workers of so many cores.
    pub fn seconds(&self, workers: f64, cores: f64, work: f64) -> f64 {
        let row = Row {
            workers,
            cores,
            work,
            seconds: 0.0,
        };
        row.time(&self.coefficients)
    }

    /// The serial part, the work of one core, and the two parts of communication.
    pub fn coefficients(&self) -> [f64; 4] {
        self.coefficients
    }

    /// How far outside the measured sizes a cluster lies, in factors of two.
    fn beyond(&self, workers: f64, cores: f64) -> f64 {
        let past =
            |value: f64, (low, high): (f64, f64)| (low / value).max(value / high).max(1.0).log2();
        past(workers, self.workers).max(past(workers * cores, self.cores))
    }

    /// Errors are taken to grow by half for every factor of two outside what was
    /// measured. This is a rule, not an estimate.
    fn probability(&self, workers: f64, cores: f64, work: f64, deadline: f64) -> f64 {
        let margin = deadline.ln() - self.seconds(workers, cores, work).ln();
        let widening = 1.0 + 0.5 * self.beyond(workers, cores);
        self.residuals.at_most(margin / widening)
    }
}

#[derive(Debug, Clone, Copy)]
struct Row {
    workers: f64,
    cores: f64,
    work: f64,
    seconds: f64,
}

impl Row {
    fn terms(&self) -> [f64; 4] {
        [
            1.0,
            self.work / (self.workers * self.cores),
            self.workers.ln().max(0.0),
            self.workers,
        ]
    }

    fn time(&self, coefficients: &[f64; 4]) -> f64 {
        let terms = self.terms();
        terms.iter().zip(coefficients).map(|(x, c)| x * c).sum()
    }
}

fn solve(rows: &[Row]) -> Result<[f64; 4], NnlsError> {
    let columns: Vec<Vec<f64>> = (0..4)
        .map(|term| {
            rows.iter()
                .map(|row| row.terms()[term] / row.seconds)
                .collect()
        })
        .collect();
    let found = nnls(&columns, &vec![1.0; rows.len()])?.coefficients;
    Ok([found[0], found[1], found[2], found[3]])
}

/// Sizes a cluster: every machine of the list, from one worker to the most.
pub fn size(
    law: &ClusterLaw,
    machines: &[MachineType],
    request: &SizeRequest,
) -> Result<Sizing, SizeError> {
    check(machines, request)?;
    let options: Vec<SizeOption> = machines
        .iter()
        .enumerate()
        .flat_map(|(at, machine)| {
            (1..=request.most_workers)
                .map(move |workers| option(law, at, machine, workers, request))
        })
        .collect();
    let keeps = |option: &&SizeOption| option.probability >= request.confidence;
    let cheapest = |machine: Option<usize>| {
        let fits = options.iter().filter(keeps);
        let fits = fits.filter(|option| machine.is_none_or(|at| option.machine == at));
        fits.min_by(|a, b| {
            a.cost
                .total_cmp(&b.cost)
                .then(a.seconds.total_cmp(&b.seconds))
        })
        .cloned()
    };
    let by_cores = |a: &usize, b: &usize| machines[*a].cores.total_cmp(&machines[*b].cores);
    let largest = (0..machines.len()).max_by(by_cores);
    let smallest = (0..machines.len()).min_by(by_cores);
    let likeliest = options
        .iter()
        .reduce(|best, next| {
            let by_chance = next.probability.total_cmp(&best.probability);
            if by_chance
                .then(best.seconds.total_cmp(&next.seconds))
                .is_gt()
            {
                next
            } else {
                best
            }
        })
        .expect("there is a machine and at least one worker")
        .clone();
    Ok(Sizing {
        best: cheapest(None),
        likeliest,
        scale_up: cheapest(largest),
        scale_out: cheapest(smallest),
        shapes: (0..machines.len())
            .map(|at| shape(at, options.iter().filter(|option| option.machine == at)))
            .collect(),
        options,
    })
}

fn option(
    law: &ClusterLaw,
    at: usize,
    machine: &MachineType,
    workers: usize,
    request: &SizeRequest,
) -> SizeOption {
    let count = workers as f64;
    let seconds = law.seconds(count, machine.cores, request.work);
    SizeOption {
        machine: at,
        workers,
        seconds,
        cost: count * machine.price_per_hour * seconds / 3600.0,
        probability: law.probability(count, machine.cores, request.work, request.deadline_s),
        extrapolated: law.beyond(count, machine.cores) > 0.0,
    }
}

fn shape<'a>(machine: usize, options: impl Iterator<Item = &'a SizeOption>) -> ScalingShape {
    let times: Vec<f64> = options.map(|option| option.seconds).collect();
    let fastest = (0..times.len())
        .min_by(|&a, &b| times[a].total_cmp(&times[b]))
        .expect("there is at least one worker");
    let (first, last) = (times[0], times[fastest]);
    let below_chord = |at: usize| {
        let share = at as f64 / fastest.max(1) as f64;
        first + share * (last - first) - times[at]
    };
    let knee = (0..=fastest)
        .max_by(|&a, &b| below_chord(a).total_cmp(&below_chord(b)).then(b.cmp(&a)))
        .expect("there is at least one worker");
    ScalingShape {
        machine,
        knee: knee + 1,
        fastest: fastest + 1,
        slower_from: (fastest + 1 < times.len()).then_some(fastest + 2),
    }
}

fn check(machines: &[MachineType], request: &SizeRequest) -> Result<(), SizeError> {
    if machines.is_empty() {
        return Err(SizeError::NoMachines);
    }
    for machine in machines {
        let sound = machine.cores > 0.0 && machine.price_per_hour >= 0.0;
        if !sound || !machine.cores.is_finite() || !machine.price_per_hour.is_finite() {
            return Err(SizeError::BadMachine(machine.name.clone()));
        }
    }
    let positive = [
        ("the deadline", request.deadline_s),
        ("the work", request.work),
        ("the number of measured cores", request.measured_cores),
        ("the most workers", request.most_workers as f64),
    ];
    for (what, value) in positive {
        if !(value > 0.0 && value.is_finite()) {
            return Err(SizeError::BadRequest {
                what,
                value,
                requirement: "above zero",
            });
        }
    }
    if request.most_workers.saturating_mul(machines.len()) > MOST_OPTIONS {
        return Err(SizeError::TooMany {
            machines: machines.len(),
            workers: request.most_workers,
        });
    }
    if !is_confidence(request.confidence) {
        return Err(SizeError::BadRequest {
            what: "the confidence",
            value: request.confidence,
            requirement: "between 0.01 and 0.9999",
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::FactorColumn;

    /// Four core-hours of work, a minute of serial part, and two seconds of
    /// communication for every worker.
    fn truth(workers: f64, cores: f64) -> f64 {
        60.0 + 14_400.0 / (workers * cores) + 2.0 * workers
    }

    fn law() -> ClusterLaw {
        let workers = [1.0, 2.0, 4.0, 8.0, 16.0, 1.0, 2.0, 4.0, 8.0, 16.0];
        let cores = [4.0, 4.0, 4.0, 4.0, 4.0, 8.0, 8.0, 8.0, 8.0, 8.0];
        let times = workers.iter().zip(cores).enumerate();
        // A thousandth of scatter, up and down.
        let times = times.map(|(i, (&w, c))| truth(w, c) * if i % 2 == 0 { 1.001 } else { 0.999 });
        let runs = Runs::new(
            vec![
                (
                    "workers".to_owned(),
                    FactorColumn::Numeric(workers.to_vec()),
                ),
                ("cpus".to_owned(), FactorColumn::Numeric(cores.to_vec())),
            ],
            vec![("time".to_owned(), times.collect())],
            None,
        )
        .unwrap();
        ClusterLaw::fit(&runs, "time", &Roles::by_name(runs.factors()), 1.0).unwrap()
    }

    fn machines() -> Vec<MachineType> {
        let machine = |name: &str, cores, price_per_hour| MachineType {
            name: name.to_owned(),
            cores,
            price_per_hour,
        };
        vec![machine("small", 4.0, 0.2), machine("large", 8.0, 0.5)]
    }

    fn request(deadline_s: f64) -> SizeRequest {
        SizeRequest {
            deadline_s,
            confidence: 0.95,
            most_workers: 128,
            work: 1.0,
            measured_cores: 1.0,
        }
    }

    #[test]
    fn the_cheapest_cluster_keeps_the_deadline_and_no_cheaper_one_does() {
        let sizing = size(&law(), &machines(), &request(600.0)).unwrap();
        let best = sizing.best.unwrap();
        assert!(
            best.probability >= 0.95 && best.seconds <= 600.0,
            "{best:?}"
        );
        assert!(truth(best.workers as f64, 4.0) <= 600.0);
        let cheaper = sizing
            .options
            .iter()
            .filter(|option| option.cost < best.cost);
        assert!(cheaper.clone().all(|option| option.probability < 0.95));
        assert!(cheaper.count() > 0);
        assert_eq!(sizing.scale_out.unwrap().machine, 0);
        assert_eq!(sizing.scale_up.unwrap().machine, 1);
    }

    #[test]
    fn the_knee_comes_before_the_fastest_and_then_it_gets_slower() {
        let sizing = size(&law(), &machines(), &request(600.0)).unwrap();
        let small = sizing.shapes[0];
        // d/dw of 3600/w + 2w is zero at w = √1800 ≈ 42.
        assert!(small.fastest.abs_diff(42) <= 6, "{small:?}");
        assert_eq!(small.slower_from, Some(small.fastest + 1));
        assert!(
            small.knee > 1 && small.knee < small.fastest / 2,
            "{small:?}"
        );
    }

    #[test]
    fn a_deadline_below_the_serial_part_cannot_be_kept() {
        let sizing = size(&law(), &machines(), &request(50.0)).unwrap();
        assert_eq!(sizing.best, None);
        assert!(sizing.likeliest.probability < 0.95);
    }

    #[test]
    fn senseless_questions_are_refused() {
        let check = |machines: &[MachineType], request: &SizeRequest, text: &str| {
            assert_eq!(
                size(&law(), machines, request).unwrap_err().to_string(),
                text
            );
        };
        check(&[], &request(1.0), "the price list has no machines");
        check(
            &machines(),
            &request(-1.0),
            "the deadline is -1; it must be above zero",
        );
        let free = MachineType {
            name: "odd".to_owned(),
            cores: 0.0,
            price_per_hour: 1.0,
        };
        let endless = SizeRequest {
            most_workers: usize::MAX,
            ..request(600.0)
        };
        check(
            &machines(),
            &endless,
            &format!(
                "2 machine types of up to {} workers are more than 1000000 clusters",
                usize::MAX
            ),
        );
        check(
            &machines(),
            &SizeRequest {
                confidence: 1e-12,
                ..request(600.0)
            },
            "the confidence is 0.000000000001; it must be between 0.01 and 0.9999",
        );
        check(
            &[free],
            &request(1.0),
            "machine `odd` needs cores above zero and a price of at least zero",
        );
    }
}
