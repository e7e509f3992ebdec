//! What a simulation found.

/// How a simulated training went, after its first tenth.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Seconds of simulated time that the figures are of.
    pub elapsed_s: f64,
    /// Updates that counted, a second: with one update per iteration, the iterations
    /// of all workers together.
    pub updates_per_s: f64,
    /// Iterations of one worker, a second, on average.
    pub iterations_per_s: f64,
    /// How workers spent their time, on average.
    pub shares: Shares,
    /// How many clocks the parameters of an iteration lagged, on average.
    pub staleness_mean: f64,
    /// The largest of these lags.
    pub staleness_max: u64,
    /// Updates that came too late to count, of all that were sent.
    pub dropped_share: f64,
    /// Bytes between hosts and processes, a second, in both directions.
    pub bytes_per_s: f64,
    /// How busy the busiest server's core was.
    pub server_busy: f64,
    /// How busy the busiest link of a server was, in its busier direction; of a ring,
    /// of a worker.
    pub link_busy: f64,
    /// How busy the shared switch was.
    pub switch_busy: f64,
    /// How busy the cores of the one machine were.
    pub cores_busy: f64,
    /// What bounds it.
    pub bound: Bound,
    /// How often a worker was lost.
    pub losses: u64,
}

/// Shares of the workers' time, from 0 to 1; they add up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Computing, the overhead included.
    pub computing: f64,
    /// Waiting for other workers, as the rules want it.
    pub waiting: f64,
    /// Everything between: links, and the queues and cores of servers.
    pub communicating: f64,
}

/// What a training is bound by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Workers compute most of the time.
    Computing,
    /// Workers wait for slower ones.
    Waiting,
    /// A server's core is busy nearly all the time.
    ServerCore,
    /// A server's link, or one of a ring, is busy nearly all the time.
    Link,
    /// The switch that all share is busy nearly all the time.
    Switch,
    /// The one machine's cores are busy nearly all the time.
    Cores,
    /// Messages take their time, though nothing is full.
    Latency,
}

impl Bound {
    /// A resource that is used this much leaves nothing to gain by more of another.
    const FULL: f64 = 0.9;
    /// One that is used this much is what messages wait for, if they take most of the
    /// time.
    const MUCH: f64 = 0.5;

    /// `link` is the use of the busiest link in both directions.
    pub(crate) fn of(outcome: &Outcome, link: f64) -> Self {
        let used = [
            (outcome.server_busy, Self::ServerCore),
            (link, Self::Link),
            (outcome.switch_busy, Self::Switch),
            (outcome.cores_busy, Self::Cores),
        ];
        let most = used.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let beyond = |share| most.filter(|(busy, _)| *busy >= share);
        if let Some((_, bound)) = beyond(Self::FULL) {
            return bound;
        }
        let Shares {
            computing,
            waiting,
            communicating,
        } = outcome.shares;
        if computing >= waiting && computing >= communicating {
            Self::Computing
        } else if waiting >= communicating {
            Self::Waiting
        } else {
            beyond(Self::MUCH).map_or(Self::Latency, |(_, bound)| bound)
        }
    }
}
