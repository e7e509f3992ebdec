//! Records whose checksums are right and whose content is not.

use crate::Source;
use paceline_files::sealed;
use paceline_model::{
    Event, EventKind, Level, Measure, Micros, NodeName, Outcome, RunId, Sample, WorkerId,
};
use paceline_records::study::{Entry, Plan, PlannedRun, PlannedTrial};
use paceline_records::{
    End, Limits, LogLimit, Machine, Run, RunWriter, Start, Stream, WallTime, list,
};
use paceline_train::{Numbers, Tensor, TensorFile};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::Path;

fn start() -> Start {
    Start {
        id: RunId::new("r1").expect("letters and digits"),
        name: None,
        argv: vec!["true".to_owned()],
        cwd: "/".into(),
        env: Default::default(),
        keep_env: Vec::new(),
        git: None,
        machines: vec![Machine {
            node: NodeName::from_host("n"),
            os: "os".to_owned(),
            kernel: "6".to_owned(),
            architecture: "x86_64".to_owned(),
            cpu_model: None,
            cpus_count: 2,
            memory_bytes: Some(1 << 30),
        }],
        started: WallTime(1_763_245_439_000_001),
        sample_interval: Micros(1_000_000),
        limits: Limits::default(),
        factors: [("b".to_owned(), Level::Integer(2))].into_iter().collect(),
        log_limit: LogLimit::default(),
        cluster: None,
    }
}

fn write_run(dir: &Path, finished: bool) {
    let mut writer = RunWriter::create(dir, start()).expect("the directory is new");
    for second in 1..=3 {
        let sample = Sample {
            at: Micros(second * 1_000_000),
            interval: Micros(1_000_000),
            gap: None,
            readings: Measure::ALL.iter().map(|&it| (it, second as f64)).collect(),
            parts: Vec::new(),
        };
        writer
            .sample(&NodeName::from_host("n"), &sample)
            .expect("there is room");
        let event = Event {
            at: Micros(second * 1_000_000),
            worker: Some(WorkerId(0)),
            kind: EventKind::Metric,
            step: Some(second),
            name: "loss".to_owned(),
            value: Some(0.5),
            text: None,
        };
        writer.event(&event).expect("there is room");
    }
    let log = writer.log(WorkerId(0), Stream::Out).expect("there is room");
    log.append(b"epoch 1\n").expect("there is room");
    if finished {
        writer
            .finish(End::new(Outcome::Exited(0), Micros(3_000_000)))
            .expect("there is room");
    }
}

/// Reads everything that there is to read; whatever is wrong is an error.
fn read_all(dir: &Path) {
    if let Some(parent) = dir.parent() {
        let _ = list(parent);
    }
    let Ok(run) = Run::open(dir) else { return };
    let _ = run.samples();
    let _ = run.events();
    let _ = run.each_iteration(|_, _| ());
    for log in run.logs().into_iter().flatten() {
        if let Ok(source) = log.open() {
            let mut bytes = Vec::new();
            let _ = source.take(1 << 20).read_to_end(&mut bytes);
        }
    }
}

/// Changes a value somewhere in a document.
fn change(source: &mut Source, value: &mut Value) {
    match value {
        Value::Object(map) if !map.is_empty() && !source.once_in(8) => {
            let at = source.below(map.len());
            let key = map.keys().nth(at).expect("it is there").clone();
            if source.once_in(10) {
                map.remove(&key);
            } else if let Some(inner) = map.get_mut(&key) {
                change(source, inner);
            }
        }
        Value::Array(list) if !list.is_empty() && !source.once_in(6) => {
            let at = source.below(list.len());
            match source.below(6) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                _ => change(source, &mut list[at]),
            }
        }
        _ => {
            *value = match source.below(8) {
                0 => Value::Null,
                1 => Value::Bool(true),
                2 => Value::from(u64::MAX),
                3 => Value::from(-1),
                4 => Value::from(1e308),
                5 => Value::from(source.word()),
                6 => Value::Array(Vec::new()),
                _ => Value::from("../../etc/passwd"),
            }
        }
    }
}

/// Writes JSON with another value and the right checksum.
fn change_file(source: &mut Source, path: &Path) {
    let text = fs::read(path).expect("it was written");
    let mut json: Value = serde_json::from_slice(&text).expect("it was written as JSON");
    for _ in 0..=source.below(3) {
        change(source, &mut json);
    }
    if let Some(map) = json.as_object_mut() {
        map.remove("crc32");
    }
    let text = sealed::seal(&json.to_string()).unwrap_or_else(|_| json.to_string());
    fs::write(path, text).expect("there is room");
}

pub(super) fn manifest(case: u64, dir: &Path) {
    let mut source = Source::new(case);
    let run = dir.join("run");
    let finished = source.once_in(2);
    write_run(&run, finished);
    let name = if finished {
        "manifest.json"
    } else {
        "start.json"
    };
    change_file(&mut source, &run.join(name));
    read_all(&run);
    if !finished {
        let _ = Run::seal(&run);
        read_all(&run);
    }
}

pub(super) fn plan(case: u64, dir: &Path) {
    let mut source = Source::new(case);
    let path = dir.join("plan.json");
    let plan = Plan {
        fingerprint: "f".to_owned(),
        seed: 1,
        factors: vec!["a".to_owned(), "b".to_owned()],
        responses: vec!["time".to_owned()],
        trials: vec![PlannedTrial {
            levels: vec![Level::Integer(1), Level::Word("x".to_owned())],
            coded: vec![-1.0, 1.0],
        }],
        runs: (0..3)
            .map(|i| PlannedRun {
                id: RunId::new(&format!("r{i}")).expect("letters and digits"),
                trial: 0,
                replicate: i,
                block: 0,
                standard: i,
                seed: u64::from(i),
                continues: None,
                promise: None,
                constants: Vec::new(),
            })
            .collect(),
    };
    plan.write(&path).expect("there is room");
    change_file(&mut source, &path);
    if let Ok(plan) = Plan::read(&path) {
        for run in &plan.runs {
            assert_eq!(plan.levels(run).len(), plan.factors.len());
        }
    }
}

pub(super) fn journal(case: u64, dir: &Path) {
    let mut source = Source::new(case);
    let path = dir.join("journal.jsonl");
    let mut text = String::new();
    for number in 0..source.below(6) {
        let mut entry = match source.below(4) {
            0 => {
                serde_json::json!({"kind": "leased", "run": format!("r{number}"), "attempt": 1, "time": "t"})
            }
            1 => {
                serde_json::json!({"kind": "ended", "run": "r1", "attempt": 1, "done": true, "outcome": "done",
                                    "duration_s": 1.5, "responses": {"time": 1.5}, "resources": {}})
            }
            2 => serde_json::json!({"kind": "abandoned", "run": "r1", "attempt": 4294967295_u32}),
            _ => serde_json::json!({"kind": "retried", "run": "r1"}),
        };
        if source.once_in(3) {
            change(&mut source, &mut entry);
        }
        let entry = entry.to_string();
        let sum = crc32fast::hash(entry.as_bytes());
        text.push_str(&format!("{{\"crc32\":\"{sum:08x}\",\"entry\":{entry}}}\n"));
    }
    let mut bytes = text.into_bytes();
    if source.once_in(3) {
        source.damage(&mut bytes);
    }
    fs::write(&path, bytes).expect("there is room");
    let _ = paceline_records::journal::replay::<Entry>(&path);
}

/// Frames whose checksums are right and whose payloads are not.
pub(super) fn wal(case: u64, dir: &Path) {
    let mut source = Source::new(case);
    let run = dir.join("run");
    write_run(&run, false);
    let name = source.pick(&["live/events.wal", "live/samples-n.wal"]);
    let path = run.join(name);
    let bytes = fs::read(&path).expect("it was written");
    let mut out = bytes[..8].to_vec();
    let mut rest = &bytes[8..];
    while rest.len() >= 12 {
        let length = u32::from_le_bytes([rest[4], rest[5], rest[6], rest[7]]) as usize;
        let mut payload = rest[12..12 + length].to_vec();
        if source.once_in(2) {
            source.damage(&mut payload);
        }
        let length_now = (payload.len() as u32).to_le_bytes();
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&length_now);
        hasher.update(&payload);
        out.extend_from_slice(&rest[..4]);
        out.extend_from_slice(&length_now);
        out.extend_from_slice(&hasher.finalize().to_le_bytes());
        out.extend_from_slice(&payload);
        rest = &rest[12 + length..];
    }
    fs::write(&path, out).expect("there is room");
    read_all(&run);
    let _ = Run::seal(&run);
    read_all(&run);
}

pub(super) fn checkpoint(case: u64, dir: &Path) {
    let mut source = Source::new(case);
    let path = dir.join("c.safetensors");
    let mut file = TensorFile::default();
    file.words.insert("model".to_owned(), source.word());
    for number in 0..source.below(4) {
        let (rows, columns) = (source.below(4), 1 + source.below(4));
        let numbers = match source.below(3) {
            0 => Numbers::F32(vec![0.5; rows * columns]),
            1 => Numbers::F64(vec![0.5; rows * columns]),
            _ => Numbers::U32(vec![7; rows * columns]),
        };
        let shape = vec![rows, columns];
        file.tensors
            .insert(format!("t{number}"), Tensor { shape, numbers });
    }
    file.write(&path).expect("there is room");
    assert_eq!(TensorFile::read(&path).expect("it was just written"), file);
    let good = fs::read(&path).expect("it was written");
    let mut bytes = good.clone();
    source.damage(&mut bytes);
    fs::write(&path, &bytes).expect("there is room");
    if let Ok(read) = TensorFile::read(&path) {
        assert!(bytes == good || read == file, "other numbers were believed");
    }
}
