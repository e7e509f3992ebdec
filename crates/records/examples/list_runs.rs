//! Times a list of many records: `list_runs [COUNT]`, 10,000 by default.
//!
//! The records are made in a temporary directory, each with an environment of
//! forty variables, and removed afterwards.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "an example measures and prints, and may fail"
)]

use paceline_model::{Level, Micros, Outcome, RunId};
use paceline_records::{End, Limits, LogLimit, RunWriter, Start, WallTime, list};
use std::fs;
use std::time::Instant;

fn main() {
    let count: i64 = std::env::args()
        .nth(1)
        .map_or(10_000, |count| count.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("0");
    let mut end = End::new(Outcome::Exited(0), Micros(12_345_678));
    end.responses.insert("accuracy".to_owned(), 0.987);
    RunWriter::create(&model, start(0))
        .unwrap()
        .finish(end)
        .unwrap();
    let manifest = fs::read_to_string(model.join("manifest.json")).unwrap();
    for i in 1..count {
        let run = dir.path().join(i.to_string());
        fs::create_dir(&run).unwrap();
        let manifest = manifest.replace("run-0", &format!("run-{i}"));
        fs::write(run.join("manifest.json"), manifest).unwrap();
    }
    for _ in 0..3 {
        let begin = Instant::now();
        let listed = list(dir.path()).unwrap();
        let took = begin.elapsed();
        assert!(listed.iter().all(|listed| listed.summary.is_ok()));
        println!(
            "{} records of {} bytes listed in {took:.1?}",
            listed.len(),
            manifest.len()
        );
    }
}

fn start(i: i64) -> Start {
    Start {
        id: RunId::new(&format!("run-{i}")).unwrap(),
        name: Some("many".to_owned()),
        argv: ["python", "train.py", "--batch-size", "64"]
            .map(str::to_owned)
            .to_vec(),
        cwd: "/home/ada/lenet".into(),
        env: (0..40)
            .map(|n| {
                (
                    format!("VARIABLE_{n}"),
                    "/usr/local/share/some/value".repeat(2),
                )
            })
            .collect(),
        keep_env: Vec::new(),
        git: None,
        machines: Vec::new(),
        started: WallTime(1_763_245_439_000_000 + i),
        sample_interval: Micros(1_000_000),
        limits: Limits::default(),
        factors: [
            ("batch_size".to_owned(), Level::Integer(64)),
            ("sync".to_owned(), Level::Word("bsp".to_owned())),
        ]
        .into_iter()
        .collect(),
        log_limit: LogLimit::default(),
        cluster: None,
    }
}
