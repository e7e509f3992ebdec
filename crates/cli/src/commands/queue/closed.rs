//! A fixed number of jobs that circulate: `paceline queue --closed`.

use super::amount::{per_time, plain, seconds, time};
use crate::failure::Failure;
use crate::output::Page;
use anyhow::anyhow;
use paceline_advise::queue::{
    ClosedNetwork, ClosedNetworkError, Station, StationKind, closed_network,
};
use paceline_report::number::percent;
use paceline_report::text::{Column, Table, paragraph};
use serde_json::{Value, json};

/// The most jobs: the analysis takes one step for each.
const MOST_JOBS: usize = 10_000_000;

/// A closed network that settles.
pub(super) struct Closed {
    jobs: usize,
    names: Vec<String>,
    stations: Vec<Station>,
    network: ClosedNetwork,
}

impl Closed {
    /// `stations` are `NAME=DEMAND` as typed.
    pub(super) fn new(
        jobs: usize,
        stations: &[(String, String)],
        think: Option<&str>,
    ) -> Result<Self, Failure> {
        if jobs > MOST_JOBS {
            return Err(Failure::user(anyhow!("--closed: {jobs} jobs are too many"))
                .hint(format!("at most {MOST_JOBS} are supported")));
        }
        let mut names = Vec::new();
        let mut list = Vec::new();
        for (name, demand) in stations {
            if names.contains(name) {
                return Err(Failure::user(anyhow!("--station: `{name}` is named twice"))
                    .hint("give the whole demand of one round once"));
            }
            names.push(name.clone());
            list.push(Station {
                demand: time(&format!("--station {name}"), demand)?,
                kind: StationKind::Queue,
            });
        }
        if let Some(think) = think {
            names.push("think".to_owned());
            list.push(Station {
                demand: time("--think", think)?,
                kind: StationKind::Delay,
            });
        }
        let network = closed_network(&list, jobs).map_err(|error| {
            let hint = match error {
                ClosedNetworkError::NoJobs => "--closed takes the number of jobs that circulate",
                ClosedNetworkError::NoDemand | ClosedNetworkError::NotADemand { .. } => {
                    "name the time a job needs at each station: --station cpu=120ms"
                }
            };
            Failure::user(error).hint(hint)
        })?;
        Ok(Self {
            jobs,
            names,
            stations: list,
            network,
        })
    }

    /// The station that limits the throughput, if jobs queue anywhere.
    fn bottleneck(&self) -> Option<usize> {
        let queues =
            (0..self.stations.len()).filter(|&at| self.stations[at].kind == StationKind::Queue);
        queues.max_by(|&a, &b| self.stations[a].demand.total_cmp(&self.stations[b].demand))
    }

    pub(super) fn text(&self, page: Page) -> String {
        let many = if self.jobs == 1 { "job" } else { "jobs" };
        let mut text = paragraph(
            "",
            &format!(
                "{} {many} circulate: {}, a round takes {} on average",
                self.jobs,
                per_time(self.network.throughput, "round"),
                seconds(self.network.round)
            ),
            page.width,
        );
        text.push('\n');
        let mut table = Table::new([
            Column::words("station"),
            Column::amounts("demand"),
            Column::amounts("time there"),
            Column::amounts("jobs there"),
            Column::amounts("busy"),
        ]);
        let lines = self.names.iter().zip(&self.stations);
        for ((name, station), load) in lines.zip(&self.network.stations) {
            let busy = match station.kind {
                StationKind::Queue => percent(load.utilisation),
                StationKind::Delay => String::new(),
            };
            let cells = [
                name.clone(),
                seconds(station.demand),
                seconds(load.residence),
                plain(load.jobs),
                busy,
            ];
            table.row(cells);
        }
        text.push_str(&table.render(page.width, page.style));
        if let Some(at) = self.bottleneck() {
            let limit = 1.0 / self.stations[at].demand;
            text.push('\n');
            text.push_str(&paragraph(
                "",
                &format!(
                    "However many jobs there are, {} allows no more than {}.",
                    self.names[at],
                    per_time(limit, "round")
                ),
                page.width,
            ));
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let lines = self.names.iter().zip(&self.stations);
        let stations: Vec<Value> = lines
            .zip(&self.network.stations)
            .map(|((name, station), load)| {
                json!({
                    "name": name,
                    "kind": match station.kind {
                        StationKind::Queue => "queue",
                        StationKind::Delay => "delay",
                    },
                    "demand_s": station.demand,
                    "residence_mean_s": load.residence,
                    "jobs_mean": load.jobs,
                    "utilisation": load.utilisation,
                })
            })
            .collect();
        json!({
            "model": "closed",
            "exact": true,
            "jobs": self.jobs,
            "throughput_per_s": self.network.throughput,
            "round_mean_s": self.network.round,
            "stations": stations,
        })
    }
}
