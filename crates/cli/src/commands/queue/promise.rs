//! How many arrivals keep a promise: `paceline queue --promise 0.95:60s`.

use super::amount::{jobs, seconds, time};
use super::open::Variation;
use crate::failure::Failure;
use crate::output::Page;
use anyhow::anyhow;
use paceline_advise::queue::{Capacity, Promise, PromiseError, Service, capacity};
use paceline_report::number::{percent, plural};
use paceline_report::text::{Column, Table, paragraph};
use serde_json::{Value, json};
use std::ops::RangeInclusive;

/// A promise as typed: `0.95:60s`, or `95%:60s`.
pub(super) struct Promised {
    fraction: f64,
    within: f64,
    promise: Promise,
}

const HINT: &str = "write the fraction of jobs and their time, as in 0.95:60s";

impl Promised {
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let unusable =
            || Failure::user(anyhow!("--promise: `{text}` is not FRACTION:TIME")).hint(HINT);
        let (fraction, within) = text.split_once(':').ok_or_else(unusable)?;
        let fraction: f64 = match fraction.trim().strip_suffix('%') {
            Some(percent) => percent.parse::<f64>().map_err(|_| unusable())? / 100.0,
            None => fraction.trim().parse().map_err(|_| unusable())?,
        };
        let within = time("--promise", within)?;
        let refused = |error: PromiseError| Failure::user(anyhow!("--promise: {error}")).hint(HINT);
        Ok(Self {
            fraction,
            within,
            promise: Promise::new(fraction, within).map_err(refused)?,
        })
    }
}

/// How many arrivals each number of servers can take.
pub(super) struct CapacityTable {
    promised: Promised,
    service: Service,
    variation: Variation,
    lines: Vec<Capacity>,
}

impl CapacityTable {
    pub(super) fn new(
        promised: Promised,
        service: Service,
        variation: Variation,
        servers: RangeInclusive<usize>,
    ) -> Result<Self, Failure> {
        let lines = servers
            .map(|servers| capacity(service.rate(), servers, promised.promise))
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::user(anyhow!("--servers: {error}")))?;
        Ok(Self {
            promised,
            service,
            variation,
            lines,
        })
    }

    /// Whether any number of servers keeps the promise for any arrivals.
    pub(super) fn can_be_kept(&self) -> bool {
        self.lines.iter().any(|line| line.arrivals.is_some())
    }

    pub(super) fn text(&self, page: Page) -> String {
        let promise = format!(
            "{} within {}",
            percent(self.promised.fraction).replace(".0%", "%"),
            seconds(self.promised.within)
        );
        if !self.can_be_kept() {
            let sentence = format!(
                "{promise} cannot be promised: service alone takes {} on average, and {} of \
                 jobs need longer than that time however few arrive.",
                seconds(self.service.rate().interval()),
                percent((-self.service.rate().per_time() * self.promised.within).exp()),
            );
            return paragraph("", &sentence, page.width);
        }
        let mut text = String::new();
        if let [
            Capacity {
                servers,
                arrivals: Some(rate),
                ..
            },
        ] = self.lines.as_slice()
        {
            let most = jobs(rate.per_time());
            let sentence = format!(
                "With {}, {promise} up to {most}.",
                plural(*servers, "server")
            );
            text.push_str(&paragraph("", &sentence, page.width));
        } else {
            text.push_str(&format!("{promise}:\n\n"));
            let mut table = Table::new([
                Column::amounts("servers"),
                Column::amounts("up to"),
                Column::amounts("busy then"),
            ]);
            for line in &self.lines {
                table.row([
                    line.servers.to_string(),
                    line.arrivals
                        .map_or(String::new(), |rate| jobs(rate.per_time())),
                    line.utilisation.map_or(String::new(), percent),
                ]);
            }
            text.push_str(&table.render(page.width, page.style));
        }
        if let Some(note) = self.note() {
            text.push('\n');
            text.push_str(&paragraph("note: ", &note, page.width));
        }
        text
    }

    /// What service of another shape would change.
    fn note(&self) -> Option<String> {
        let Variation::Known = self.variation else {
            return None;
        };
        let variation = self.service.squared_variation().sqrt();
        let direction = if variation < 1.0 {
            "steadier, so that waiting is overstated"
        } else {
            "less steady, so that waiting is understated"
        };
        Some(format!(
            "the table takes service for exponential, because only then the distribution of \
             the response time is known; this service varies by {} of its mean and is {direction}",
            percent(variation)
        ))
    }

    pub(super) fn json(&self) -> Value {
        let lines: Vec<Value> = self
            .lines
            .iter()
            .map(|line| {
                json!({
                    "servers": line.servers,
                    "arrivals_per_s": line.arrivals.map(|rate| rate.per_time()),
                    "utilisation": line.utilisation,
                })
            })
            .collect();
        json!({
            "fraction": self.promised.fraction,
            "within_s": self.promised.within,
            "exponential_service_assumed": true,
            "capacities": lines,
            "note": self.note(),
        })
    }
}
