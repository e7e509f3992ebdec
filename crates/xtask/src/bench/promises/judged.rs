//! How often intervals held, how wide they were, and what became of picks.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// Paceline's own name among the sides.
pub(super) const OWN: &str = "Paceline";
pub(super) const COUNTS: [u64; 4] = [8, 16, 24, 40];
/// Runs to learn from where coverage is judged cell by cell.
pub(super) const BY_CELL: u64 = 120;

/// What one side did on one set with so many runs to learn from.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// The share of runs inside, of each table.
    coverage: Vec<f64>,
    /// Widths of all intervals; infinite where none was given.
    widths: Vec<f64>,
    r2: Vec<f64>,
    /// Intervals that were said not to be known.
    pub(super) not_known: usize,
    /// Tables whose median interval is wider than twenty times what the runs that
    /// were judged span.
    pub(super) absurd: usize,
    inside: usize,
    judged: usize,
}

/// Picks with so many runs to learn from.
#[derive(Debug, Default)]
pub(super) struct Picks {
    pub(super) tables: usize,
    stated: Vec<f64>,
    kept: Vec<f64>,
    feasible: usize,
    missed: usize,
    regrets: Vec<f64>,
}

#[derive(Debug, Default)]
pub(super) struct Judged {
    /// By side, set and number of runs.
    sides: BTreeMap<(String, String, u64), Side>,
    picks: BTreeMap<u64, Picks>,
    /// Runs inside and all, by cell.
    pub(super) cells: BTreeMap<String, (usize, usize)>,
    /// Seconds of a fit, and of a fit and a thousand candidates.
    pub(super) speed: Option<(f64, f64)>,
}

impl Judged {
    pub(super) fn take(&mut self, lines: &[Value]) -> Result<()> {
        for line in lines {
            match line["kind"].as_str() {
                Some("prediction") => self.prediction(line, OWN)?,
                Some("peer") => {
                    let who = line["who"].as_str().context("a peer has a name")?;
                    self.prediction(line, who)?;
                }
                Some("pick") => self.pick(line)?,
                Some("speed") => {
                    let of = |name: &str| line[name].as_f64().context("a time");
                    self.speed = Some((of("fit_s")?, of("with_candidates_s")?));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn prediction(&mut self, line: &Value, who: &str) -> Result<()> {
        let count = line["n"].as_u64().context("a number of runs")?;
        let truth = numbers(&line["truth"])?;
        let values = optional(&line["value"], truth.len());
        let (low, high) = (
            optional(&line["low"], truth.len()),
            optional(&line["high"], truth.len()),
        );
        let inside: Vec<bool> = (0..truth.len())
            .map(|at| match (low[at], high[at]) {
                (Some(low), Some(high)) => (low..=high).contains(&truth[at]),
                _ => true,
            })
            .collect();
        if count == BY_CELL {
            let cells = line["cell"].as_array().context("cells")?;
            for (cell, inside) in cells.iter().zip(&inside) {
                let name = cell.as_str().unwrap_or_default().to_owned();
                let tally = self.cells.entry(name).or_default();
                tally.0 += usize::from(*inside);
                tally.1 += 1;
            }
            return Ok(());
        }
        let set = line["set"].as_str().context("a set has a name")?;
        let key = (who.to_owned(), set.to_owned(), count);
        let side = self.sides.entry(key).or_default();
        let mean = mean(&truth);
        let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
        let missed = squares(
            &mut truth
                .iter()
                .zip(&values)
                .map(|(y, v)| y - v.unwrap_or(mean)),
        );
        side.r2
            .push(1.0 - missed / squares(&mut truth.iter().map(|y| y - mean)));
        if line["low"].is_null() {
            return Ok(());
        }
        let widths: Vec<f64> = low
            .iter()
            .zip(&high)
            .map(|ends| match ends {
                (Some(low), Some(high)) => high - low,
                _ => f64::INFINITY,
            })
            .collect();
        let span = truth.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            - truth.iter().copied().fold(f64::INFINITY, f64::min);
        let wide = median(&widths);
        side.absurd += usize::from(wide.is_finite() && wide > 20.0 * span);
        side.not_known += widths.iter().filter(|width| width.is_infinite()).count();
        side.judged += inside.len();
        side.inside += inside.iter().filter(|inside| **inside).count();
        side.coverage
            .push(inside.iter().filter(|inside| **inside).count() as f64 / inside.len() as f64);
        side.widths.extend(widths);
        Ok(())
    }

    fn pick(&mut self, line: &Value) -> Result<()> {
        let count = line["n"].as_u64().context("a number of runs")?;
        let picks = self.picks.entry(count).or_default();
        picks.tables += 1;
        let feasible = line["feasible"].as_bool().context("feasible or not")?;
        picks.feasible += usize::from(feasible);
        let Some(stated) = line["stated"].as_f64() else {
            picks.missed += usize::from(feasible);
            return Ok(());
        };
        let of = |name: &str| line[name].as_f64().context("a count");
        if of("fresh")? > 0.0 {
            picks.stated.push(stated);
            picks.kept.push(of("kept")? / of("fresh")?);
        }
        picks.regrets.extend(line["regret"].as_f64());
        Ok(())
    }

    pub(super) fn sets(&self) -> Vec<&str> {
        let own = self.sides.keys().filter(|(who, ..)| who == OWN);
        let mut sets: Vec<&str> = own.map(|(_, set, _)| set.as_str()).collect();
        sets.dedup();
        sets
    }

    pub(super) fn peers(&self) -> Vec<&str> {
        let mut who: Vec<&str> = self.sides.keys().map(|(who, ..)| who.as_str()).collect();
        who.dedup();
        who.retain(|who| *who != OWN);
        who
    }

    pub(super) fn side(&self, who: &str, set: &str, count: u64) -> Option<&Side> {
        self.sides.get(&(who.to_owned(), set.to_owned(), count))
    }

    pub(super) fn picks(&self, count: u64) -> Option<&Picks> {
        self.picks.get(&count)
    }

    /// A figure of every set, for one side and number of runs.
    pub(super) fn each(
        &self,
        who: &str,
        count: u64,
        figure: impl Fn(&Side) -> Option<f64>,
    ) -> Vec<f64> {
        let sets = self.sets().into_iter();
        sets.filter_map(|set| figure(self.side(who, set, count)?))
            .collect()
    }

    /// Our median width over that of the narrowest peer that covers at least
    /// 93% of the set; `None` where no peer does.
    pub(super) fn width_ratio(&self, set: &str, count: u64) -> Option<f64> {
        let ours = self.side(OWN, set, count)?.width()?;
        let peers = self.peers();
        let sound = peers.iter().filter_map(|who| {
            let side = self.side(who, set, count)?;
            (side.coverage()? >= 0.93).then(|| side.width())?
        });
        let narrowest = sound.fold(f64::INFINITY, f64::min);
        narrowest.is_finite().then(|| ours / narrowest)
    }
}

impl Side {
    pub(super) fn coverage(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.inside as f64 / self.judged as f64)
    }

    pub(super) fn width(&self) -> Option<f64> {
        (!self.widths.is_empty()).then(|| median(&self.widths))
    }

    pub(super) fn r2(&self) -> Option<f64> {
        (!self.r2.is_empty()).then(|| median(&self.r2))
    }

    pub(super) fn judged(&self) -> usize {
        self.judged
    }
}

impl Picks {
    pub(super) fn stated(&self) -> f64 {
        mean(&self.stated)
    }

    pub(super) fn kept(&self) -> f64 {
        mean(&self.kept)
    }

    pub(super) fn missed(&self) -> f64 {
        self.missed as f64 / self.feasible.max(1) as f64
    }

    pub(super) fn regret(&self) -> f64 {
        mean(&self.regrets)
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => 0.5 * (sorted[even / 2 - 1] + sorted[even / 2]),
    }
}

fn numbers(value: &Value) -> Result<Vec<f64>> {
    let list = value.as_array().context("a list of numbers")?;
    list.iter()
        .map(|v| v.as_f64().context("a number"))
        .collect()
}

fn optional(value: &Value, count: usize) -> Vec<Option<f64>> {
    match value.as_array() {
        Some(list) => list.iter().map(Value::as_f64).collect(),
        None => vec![None; count],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn coverage_widths_and_picks_are_counted() {
        let mut judged = Judged::default();
        let line = |who: &str, low: Value, high: Value| {
            json!({ "kind": "peer", "who": who, "set": "a", "n": 16, "truth": [1.0, 2.0, 3.0, 4.0],
                    "value": [1.0, 2.0, 3.0, 5.0], "low": low, "high": high })
        };
        let ours = line(
            OWN,
            json!([0.0, 0.0, 0.0, 5.0]),
            json!([2.0, 2.0, 4.0, 6.0]),
        );
        let wide = line(
            "wide",
            json!([0.0, 0.0, 0.0, 0.0]),
            json!([8.0, 8.0, 8.0, null]),
        );
        let pick = |stated: Value, kept: u64| {
            json!({ "kind": "pick", "n": 16, "feasible": true, "stated": stated, "fresh": 4,
                    "kept": kept, "regret": 0.01 })
        };
        judged
            .take(&[ours, wide, pick(json!(0.96), 3), pick(Value::Null, 0)])
            .unwrap();
        let side = judged.side(OWN, "a", 16).unwrap();
        assert_eq!((side.coverage(), side.width()), (Some(0.75), Some(2.0)));
        assert_eq!(side.r2(), Some(0.8));
        assert_eq!(judged.width_ratio("a", 16), Some(0.25));
        assert_eq!(judged.side("wide", "a", 16).unwrap().not_known, 1);
        let picks = judged.picks(16).unwrap();
        assert_eq!(
            (picks.stated(), picks.kept(), picks.missed()),
            (0.96, 0.75, 0.5)
        );
    }
}
