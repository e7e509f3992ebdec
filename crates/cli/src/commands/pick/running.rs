//! The jobs that run meanwhile, as the user describes them.

use crate::failure::Failure;
use crate::quantity;
use anyhow::anyhow;
use paceline_answers::pick::RunningJob;
use paceline_answers::results::TableFile;
use paceline_model::Level;
use paceline_stats::table::ColumnData;
use std::path::Path;

/// Reads jobs: `start=-120s,batch_size=128,deadline=600s`, or a CSV file with such
/// columns.
pub(super) fn read(texts: &[String]) -> Result<Vec<RunningJob>, Failure> {
    let mut jobs = Vec::new();
    for text in texts {
        if text.contains('=') {
            let parts: Vec<(&str, &str)> = text
                .split(',')
                .map(|part| part.split_once('=').ok_or(part))
                .collect::<Result<_, _>>()
                .map_err(|part| bad_job(text, &format!("`{part}` is not NAME=VALUE")))?;
            jobs.push(job(text, jobs.len() + 1, parts)?);
        } else {
            read_file(Path::new(text), &mut jobs)?;
        }
    }
    Ok(jobs)
}

fn read_file(path: &Path, jobs: &mut Vec<RunningJob>) -> Result<(), Failure> {
    let file = TableFile::read(path)?;
    let cell = |data: &ColumnData, row: usize| match data {
        ColumnData::Numeric(values) => Some(values[row].to_string()),
        ColumnData::Categorical { levels, codes, .. } => levels.get(codes[row] as usize).cloned(),
    };
    for row in 0..file.table.rows() {
        let columns = file.table.columns().iter();
        let cells: Vec<(&str, String)> = columns
            .filter_map(|column| Some((column.name(), cell(column.data(), row)?)))
            .filter(|(_, cell)| cell != "NaN")
            .collect();
        let parts = cells.iter().map(|(name, cell)| (*name, cell.as_str()));
        let place = format!("{}, job {}", path.display(), row + 1);
        jobs.push(job(&place, jobs.len() + 1, parts.collect())?);
    }
    Ok(())
}

fn job(place: &str, number: usize, parts: Vec<(&str, &str)>) -> Result<RunningJob, Failure> {
    let mut job = RunningJob {
        name: format!("job {number}"),
        start_s: f64::NAN,
        deadline_s: None,
        load: 1.0,
        settings: Vec::new(),
    };
    for (name, value) in parts {
        let (name, value) = (name.trim(), value.trim());
        let unusable = || bad_job(place, &format!("`{value}` is no {name}"));
        match name {
            "name" => job.name = value.to_owned(),
            "start" => job.start_s = offset(value).ok_or_else(unusable)?,
            "deadline" => {
                let deadline = quantity::duration(value).map_err(|_| unusable())?;
                job.deadline_s = Some(deadline.as_secs_f64());
            }
            "load" => {
                let load = value.parse().ok();
                let load = load.filter(|load: &f64| *load > 0.0 && load.is_finite());
                job.load = load.ok_or_else(unusable)?;
            }
            _ => job.settings.push((name.to_owned(), Level::parse(value))),
        }
    }
    if job.start_s.is_nan() {
        return Err(bad_job(place, "it does not say when it started"));
    }
    Ok(job)
}

fn bad_job(place: &str, why: &str) -> Failure {
    Failure::user(anyhow!("{place}: {why}")).hint(
        "a job is its start from now, its factors and its deadline from its start: \
         start=-120s,batch_size=128,deadline=600s",
    )
}

/// Seconds from now: `-120s` is two minutes ago.
fn offset(text: &str) -> Option<f64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let time = quantity::duration(text).ok()?;
    Some(sign * time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<RunningJob, Failure> {
        read(&[text.to_owned()]).map(|mut jobs| jobs.remove(0))
    }

    #[test]
    fn a_job_is_its_start_its_factors_and_its_deadline() {
        let job = one("name=a, start=-2m, batch_size=128, sync=bsp, deadline=10m, load=2").unwrap();
        assert_eq!((job.name.as_str(), job.start_s), ("a", -120.0));
        assert_eq!((job.deadline_s, job.load), (Some(600.0), 2.0));
        assert_eq!(
            job.settings[0],
            ("batch_size".to_owned(), Level::Integer(128))
        );
        assert_eq!(one("start=+30s").unwrap().start_s, 30.0);
    }

    #[test]
    fn a_job_without_sense_is_refused() {
        for text in [
            "batch_size=128",
            "start=soon",
            "start=-1s,deadline=never",
            "start=-1s,load=-1",
            "start=-1s,load=inf",
            "start=-1s,batch",
        ] {
            assert!(one(text).is_err(), "{text}");
        }
    }
}
