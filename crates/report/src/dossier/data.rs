//! What the page's program shows. Keys are short because they are repeated a
//! thousand times; `script/start.js` lists what each means.

use super::{Dossier, RecordPart, RunPart, Standing, held};
use paceline_diagnose::{Amount, Gpus, Usage};
use serde_json::{Value, json};

/// More metrics than this do not fit a menu.
const MOST_METRICS: usize = 24;
/// More marks than this would cover the line.
const MOST_MARKS: usize = 60;

pub(super) fn data(dossier: &Dossier<'_>) -> Value {
    let metrics = metrics(dossier);
    let (factors, responses) = match &dossier.study {
        Some(study) => (study.factors.as_slice(), study.responses.as_slice()),
        None => (&[][..], &[][..]),
    };
    let factors: Vec<Value> = factors
        .iter()
        .map(|(name, levels)| json!({ "n": name, "v": levels }))
        .collect();
    let runs = dossier.runs.iter();
    json!({
        "study": dossier.study.is_some(),
        "factors": factors,
        "responses": responses,
        "metrics": metrics,
        "runs": runs.map(|run| one(dossier, run, &metrics)).collect::<Vec<_>>(),
    })
}

/// The metrics that most runs report first.
fn metrics(dossier: &Dossier<'_>) -> Vec<String> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let curves = dossier.runs.iter().filter_map(|run| run.shown());
    for curve in curves.flat_map(|record| &record.curves) {
        match found.iter_mut().find(|(name, _)| *name == curve.metric) {
            Some((_, count)) => *count += 1,
            None => found.push((curve.metric.clone(), 1)),
        }
    }
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found.truncate(MOST_METRICS);
    found.into_iter().map(|(name, _)| name).collect()
}

fn one(dossier: &Dossier<'_>, run: &RunPart, metrics: &[String]) -> Value {
    let levels: Vec<Value> = match &dossier.study {
        Some(study) => run
            .levels
            .iter()
            .zip(&study.factors)
            .map(
                |(level, (_, known))| match known.iter().position(|k| k == level) {
                    Some(at) => json!(at),
                    None => json!(level),
                },
            )
            .collect(),
        None => Vec::new(),
    };
    let mut value = json!({
        "n": run.name,
        "l": levels,
        "r": run.responses.iter().map(|x| x.map(short)).collect::<Vec<_>>(),
        "k": match run.standing {
            Standing::Done => 0,
            Standing::Failed => 1,
            Standing::Unfinished => 2,
            Standing::Pending => 3,
        },
        "o": run.outcome,
        "d": run.duration_s.map(short),
    });
    if let Some(noise) = &run.noise {
        value["q"] = json!(noise);
    }
    if let Some(record) = run.shown() {
        let alone = dossier.study.is_none();
        shown(record, run, metrics, alone, &mut value);
    }
    value
}

fn shown(
    record: &RecordPart,
    run: &RunPart,
    metrics: &[String],
    is_alone: bool,
    value: &mut Value,
) {
    value["t"] = record
        .traces
        .iter()
        .map(|trace| trace.data().clone())
        .collect();
    value["u"] = record
        .nodes
        .iter()
        .map(|(_, found)| usage(&found.usage, found.gpus.as_ref()))
        .collect();
    if let Some((_, found)) = record.nodes.first() {
        let phases = found.phases.iter();
        value["p"] = phases
            .map(|p| {
                json!([
                    p.name,
                    short(p.from.as_secs()),
                    short(p.to.as_secs()),
                    u8::from(p.named)
                ])
            })
            .collect();
    }
    if let Some((by, share)) = held::shares(held::diagnoses(run))
        .and_then(|shares| shares.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)))
    {
        value["h"] = json!([by.to_string(), short(share)]);
    }
    let marks = record.marks.iter().take(MOST_MARKS);
    value["e"] = marks.map(|(at, text)| json!([short(*at), text])).collect();
    let curves = record.curves.iter().filter_map(|curve| {
        let metric = metrics.iter().position(|name| *name == curve.metric)?;
        Some(curve.data(metric))
    });
    value["c"] = curves.collect();
    // A page about many runs would carry too many of them.
    if is_alone && record.processes.all.len() > 1 {
        value["x"] = record.processes.rows();
    }
    if record.workers.len() > 1 {
        let workers = record.workers.iter();
        value["w"] = workers
            .map(|w| {
                json!([
                    w.worker.to_string(),
                    w.iterations,
                    w.computing_s.map(short),
                    w.waiting_s.map(short),
                    w.moving_s().map(short)
                ])
            })
            .collect();
    }
}

/// Mean and peak of each resource, in the order of the page's table.
fn usage(usage: &Usage, gpus: Option<&Gpus>) -> Value {
    let amount = |amount: Option<Amount>| amount.map(|a| json!([short(a.mean), short(a.peak)]));
    json!([
        amount(usage.cpus),
        amount(usage.memory_bytes),
        amount(usage.disk_read_bytes_per_s),
        amount(usage.disk_write_bytes_per_s),
        amount(usage.net_rx_bytes_per_s),
        amount(usage.net_tx_bytes_per_s),
        amount(usage.loopback_bytes_per_s),
        amount(gpus.and_then(|gpus| gpus.busy)),
        amount(gpus.and_then(|gpus| gpus.memory_bytes)),
    ])
}

/// A number in six digits: shorter, and more than the page shows.
pub(crate) fn short(value: f64) -> Value {
    let text = format!("{value:.5e}");
    match text.parse::<f64>() {
        // Whole numbers are written without a fraction.
        Ok(rounded) if rounded.fract() == 0.0 && rounded.abs() < 9e15 => json!(rounded as i64),
        Ok(rounded) => json!(rounded),
        Err(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_short() {
        assert_eq!(short(2.0).to_string(), "2");
        assert_eq!(short(1.0 / 3.0).to_string(), "0.333333");
        assert_eq!(short(f64::NAN), Value::Null);
    }
}
