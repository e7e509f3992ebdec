//! Jobs that arrive from outside: one queue, or the same with more servers.

use super::amount::{jobs, plain, seconds};
use crate::output::Page;
use paceline_advise::queue::{
    FiniteQueue, GeneralService, MultiServer, QueueError, Rate, Service, Steady,
};
use paceline_report::number::percent;
use paceline_report::text::{Column, Table, paragraph};
use serde_json::{Value, json};

/// The percentiles that are told.
const PERCENTILES: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.99, "p99")];

/// How service times vary, and what follows for the model.
#[derive(Debug, Clone, Copy)]
pub(super) enum Variation {
    /// Exponentially: nothing was said, and M/M/c is the usual assumption.
    Exponential,
    /// By a known coefficient of variation and in an unknown shape.
    Known,
}

/// A queue to look at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) arrivals: Rate,
    pub(super) service: Service,
    pub(super) variation: Variation,
    pub(super) servers: usize,
    pub(super) capacity: Option<usize>,
}

/// What a queue comes to.
pub(super) enum Answer {
    /// It settles.
    Settles(Box<Settled>),
    /// It grows without bound.
    Unstable {
        open: Open,
        /// Arriving work per server.
        load: f64,
    },
}

/// A queue that settles.
pub(super) struct Settled {
    open: Open,
    steady: Steady,
    exact: bool,
    /// The fraction of jobs that wait, where it is known.
    waits: Option<f64>,
    /// The fraction of jobs that are turned away.
    lost: Option<f64>,
    /// The response time's percentiles, where its distribution is known.
    percentiles: Option<[f64; PERCENTILES.len()]>,
}

impl Open {
    pub(super) fn answer(self) -> Result<Answer, QueueError> {
        let settled = match (self.capacity, self.variation) {
            (Some(capacity), _) => {
                let rate = self.service.rate();
                FiniteQueue::new(self.arrivals, rate, self.servers, capacity).map(|queue| Settled {
                    open: self,
                    steady: queue.steady(),
                    exact: true,
                    waits: None,
                    lost: Some(queue.loss_probability()),
                    percentiles: None,
                })
            }
            (None, Variation::Exponential) => {
                let rate = self.service.rate();
                MultiServer::new(self.arrivals, rate, self.servers).map(|queue| Settled {
                    open: self,
                    steady: queue.steady(),
                    exact: true,
                    waits: Some(queue.waiting_probability()),
                    lost: None,
                    percentiles: Some(PERCENTILES.map(|(p, _)| queue.response_quantile(p))),
                })
            }
            (None, Variation::Known) => {
                GeneralService::new(self.arrivals, self.service, self.servers).map(|queue| {
                    Settled {
                        open: self,
                        steady: queue.steady(),
                        exact: queue.is_exact(),
                        waits: None,
                        lost: None,
                        percentiles: None,
                    }
                })
            }
        };
        match settled {
            Ok(settled) => Ok(Answer::Settles(Box::new(settled))),
            Err(QueueError::Unstable { load, .. }) => Ok(Answer::Unstable { open: self, load }),
            Err(error) => Err(error),
        }
    }

    /// Kendall's notation.
    fn model(&self) -> String {
        let servers = self.servers;
        match (self.capacity, self.variation) {
            (Some(capacity), _) => format!("M/M/{servers}/{capacity}"),
            (None, Variation::Exponential) => format!("M/M/{servers}"),
            (None, Variation::Known) => format!("M/G/{servers}"),
        }
    }

    /// The rate below which the queue settles.
    fn limit(&self) -> f64 {
        self.servers as f64 * self.service.rate().per_time()
    }

    /// The fewest servers with which it would settle.
    fn enough_servers(&self) -> f64 {
        (self.arrivals.per_time() / self.service.rate().per_time()).floor() + 1.0
    }

    fn variation(&self) -> f64 {
        match self.variation {
            Variation::Exponential => 1.0,
            Variation::Known => self.service.squared_variation().sqrt(),
        }
    }
}

impl Answer {
    pub(super) fn is_stable(&self) -> bool {
        matches!(self, Self::Settles(_))
    }

    pub(super) fn text(&self, page: Page) -> String {
        match self {
            Self::Settles(settled) => settled.text(page),
            Self::Unstable { open, load } => {
                let who = match open.servers {
                    1 => "the server".to_owned(),
                    n => format!("each of {n} servers"),
                };
                let sentence = format!(
                    "{}: unstable. {} that take {} each would keep {who} busy {} of the time, so \
                     waiting grows without bound.",
                    open.model(),
                    jobs(open.arrivals.per_time()),
                    seconds(open.service.rate().interval()),
                    percent(*load),
                );
                let remedy = format!(
                    "It settles below {}, or with {} servers.",
                    jobs(open.limit()),
                    open.enough_servers()
                );
                paragraph("", &sentence, page.width) + &paragraph("", &remedy, page.width)
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Self::Settles(settled) => settled.json(),
            Self::Unstable { open, load } => json!({
                "model": open.model(),
                "stable": false,
                "servers": open.servers,
                "arrivals_per_s": open.arrivals.per_time(),
                "service_mean_s": open.service.rate().interval(),
                "service_cv": open.variation(),
                "utilisation": load,
                "stable_below_per_s": open.limit(),
                "stable_servers": open.enough_servers(),
            }),
        }
    }

    /// One line of a table over numbers of servers.
    fn row(&self) -> Vec<String> {
        match self {
            Self::Settles(settled) => {
                let Settled { open, steady, .. } = &**settled;
                let mut cells = vec![
                    open.servers.to_string(),
                    percent(steady.utilisation),
                    plain(steady.jobs),
                    seconds(steady.response),
                    seconds(steady.waiting),
                ];
                cells.extend(settled.percentiles.map(|all| seconds(all[2])));
                cells.extend(settled.lost.map(percent));
                cells
            }
            Self::Unstable { open, load } => {
                vec![
                    open.servers.to_string(),
                    percent(*load),
                    "unstable".to_owned(),
                ]
            }
        }
    }
}

/// Several numbers of servers below each other, all of the same model.
pub(super) fn comparison(answers: &[Answer], page: Page) -> String {
    let mut columns = vec!["servers", "busy", "jobs E[N]", "response E[T]", "waiting"];
    let settled = answers.iter().find_map(|answer| match answer {
        Answer::Settles(settled) => Some(settled),
        Answer::Unstable { .. } => None,
    });
    if let Some(settled) = settled {
        columns.extend(settled.percentiles.map(|_| "95% within"));
        columns.extend(settled.lost.map(|_| "turned away"));
    }
    let mut table = Table::new(columns.into_iter().map(Column::amounts));
    for answer in answers {
        table.row(answer.row());
    }
    let mut text = table.render(page.width, page.style);
    for note in settled.map_or(Vec::new(), |settled| settled.notes()) {
        text.push('\n');
        text.push_str(&paragraph("note: ", &note, page.width));
    }
    text
}

impl Settled {
    fn text(&self, page: Page) -> String {
        let Self { open, steady, .. } = self;
        let servers = match open.servers {
            1 => "one server".to_owned(),
            n => format!("{n} servers"),
        };
        let head = format!(
            "{}: {servers}, {}, {} of service each on average",
            open.model(),
            jobs(open.arrivals.per_time()),
            seconds(open.service.rate().interval()),
        );
        let mut table = Table::new([
            Column::words("in the long run"),
            Column::amounts(""),
            Column::words(""),
        ]);
        let mut row = |what: &str, amount: String, symbol: &str| {
            table.row([what, &amount, symbol]);
        };
        row("servers busy", percent(steady.utilisation), "ρ");
        row("jobs in the system", plain(steady.jobs), "E[N]");
        row("jobs waiting", plain(steady.jobs_waiting), "");
        row("time in the system", seconds(steady.response), "E[T]");
        row("time waiting", seconds(steady.waiting), "");
        if let Some(waits) = self.waits {
            row("jobs that wait", percent(waits), "");
        }
        if let Some(lost) = self.lost {
            row("jobs turned away", percent(lost), "");
            row("jobs served", jobs(steady.throughput), "");
        }
        for ((p, _), time) in PERCENTILES.iter().zip(self.percentiles.iter().flatten()) {
            row(
                &format!("{}% of jobs within", p * 100.0),
                seconds(*time),
                "",
            );
        }
        let mut text = paragraph("", &head, page.width) + "\n";
        text.push_str(&table.render(page.width, page.style));
        for note in self.notes() {
            text.push('\n');
            text.push_str(&paragraph("note: ", &note, page.width));
        }
        text
    }

    /// What a reader must know before believing the numbers.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.exact {
            notes.push(format!(
                "the means are approximate (Allen and Cunneen): service varies by {} of its \
                 mean, and no exact formula is known for more than one server",
                percent(self.open.variation())
            ));
        }
        match (self.open.capacity, self.open.variation) {
            (Some(_), _) => notes.push(
                "percentiles are not computed for a finite queue; its means are of the jobs \
                 that are let in"
                    .to_owned(),
            ),
            (None, Variation::Known) => notes.push(
                "percentiles are unknown: they depend on more than the mean and the spread of \
                 service"
                    .to_owned(),
            ),
            (None, Variation::Exponential) => {}
        }
        notes
    }

    fn json(&self) -> Value {
        let Self { open, steady, .. } = self;
        let percentiles = self.percentiles.map(|times| {
            let pairs = PERCENTILES.iter().zip(times);
            let map: serde_json::Map<String, Value> = pairs
                .map(|((_, name), time)| ((*name).to_owned(), json!(time)))
                .collect();
            map
        });
        json!({
            "model": open.model(),
            "stable": true,
            "exact": self.exact,
            "servers": open.servers,
            "capacity": open.capacity,
            "arrivals_per_s": open.arrivals.per_time(),
            "service_mean_s": open.service.rate().interval(),
            "service_cv": open.variation(),
            "utilisation": steady.utilisation,
            "jobs_mean": steady.jobs,
            "jobs_waiting_mean": steady.jobs_waiting,
            "response_mean_s": steady.response,
            "waiting_mean_s": steady.waiting,
            "throughput_per_s": steady.throughput,
            "waiting_probability": self.waits,
            "loss_probability": self.lost,
            "response_s": percentiles,
            "notes": self.notes(),
        })
    }
}
