//! A study's session, opened again after everything that can happen to its
//! files.

use paceline_engine::LocalEngine;
use paceline_model::{Level, NodeName};
use paceline_probe::cgroup::CpuSet;
use paceline_probe::{Interval, Roots};
use paceline_records::Machine;
use paceline_records::study::{PlannedRun, RunResult, StudyDir};
use paceline_runner::study::{Counts, Outlook, Session, Settings, Watcher};
use paceline_runner::{Host, Interrupt, Observer};
use paceline_study::{Capabilities, RawStudy, Study};
use std::path::Path;
use std::time::Duration;

struct Nobody;

impl Watcher for Nobody {
    fn begins(&self, _: &PlannedRun, _: &[Level], _: u32) {}
    fn ended(&self, _: &PlannedRun, _: &RunResult, _: Counts) {}
    fn observer(&self, _: &PlannedRun) -> Box<dyn Observer + '_> {
        Box::new(())
    }
}

fn study() -> Study {
    let text = "[job]\ncommand = [\"echo\", '{{\"n\": {x}}}']\n\
                [factors]\nx = [1, 2, 3]\n[responses]\nn = \"n\"\n";
    let raw = RawStudy::parse("s.toml", text).expect("it is TOML");
    raw.check(&Capabilities::LOCAL_COMMANDS)
        .expect("it makes sense")
}

fn settings(base: &Path) -> Settings {
    Settings {
        keep_checkpoints: false,
        base: base.to_owned(),
        host: Host {
            machine: Machine {
                node: NodeName::from_host("test"),
                os: "Linux".to_owned(),
                kernel: String::new(),
                architecture: String::new(),
                cpu_model: None,
                cpus_count: 1,
                memory_bytes: None,
            },
            environment: Default::default(),
            git: None,
            recorded: Default::default(),
        },
        interval: Interval::new(Duration::from_secs(1)).expect("long enough"),
        parallel: 1,
        cpus: CpuSet::parse("0").expect("a set"),
        fail_fast: false,
        program: "paceline".into(),
    }
}

fn records(dir: &StudyDir) -> usize {
    std::fs::read_dir(dir.runs())
        .expect("the study has runs")
        .count()
}

#[test]
fn a_journal_cut_at_every_byte_of_its_last_two_entries_loses_and_repeats_nothing() {
    let base = tempfile::tempdir().unwrap();
    let dir = StudyDir::new(&base.path().join("s.study"));
    let session = Session::open(dir.clone(), study(), settings(base.path())).unwrap();
    let engine = LocalEngine::new(NodeName::from_host("test"), Roots::default(), false);
    let outlook = session.run(&engine, &Interrupt::new(), &Nobody).unwrap();
    assert_eq!(outlook, Outlook::Complete);
    drop(session);

    let whole = std::fs::read(dir.journal()).unwrap();
    let ends: Vec<usize> = (0..whole.len())
        .filter(|&i| whole[i] == b'\n')
        .map(|i| i + 1)
        .collect();
    assert_eq!(ends.len(), 6, "three runs, each leased and ended");
    let before = records(&dir);
    for cut in ends[3]..whole.len() {
        std::fs::write(dir.journal(), &whole[..cut]).unwrap();
        let session = Session::open(dir.clone(), study(), settings(base.path()))
            .unwrap_or_else(|error| panic!("cut at byte {cut}: {error}"));
        let counts = session.progress().counts();
        assert_eq!((counts.done, counts.total()), (3, 3), "cut at byte {cut}");
        assert_eq!(session.recovered.adopted, 1, "cut at byte {cut}");
        assert_eq!(records(&dir), before, "cut at byte {cut}");
    }
}

#[test]
fn a_record_that_is_no_longer_there_is_run_again_under_a_new_lease() {
    let base = tempfile::tempdir().unwrap();
    let dir = StudyDir::new(&base.path().join("s.study"));
    let session = Session::open(dir.clone(), study(), settings(base.path())).unwrap();
    let engine = LocalEngine::new(NodeName::from_host("test"), Roots::default(), false);
    session.run(&engine, &Interrupt::new(), &Nobody).unwrap();
    let last = session.plan().runs[2].id.clone();
    drop(session);

    // The machine stopped after the lease, before the record reached the disk.
    let whole = std::fs::read_to_string(dir.journal()).unwrap();
    let leased: String = whole
        .lines()
        .take(5)
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(dir.journal(), leased).unwrap();
    std::fs::remove_dir_all(dir.attempt(&last, 1)).unwrap();

    let session = Session::open(dir.clone(), study(), settings(base.path())).unwrap();
    assert_eq!(session.recovered.interrupted, 1);
    session.run(&engine, &Interrupt::new(), &Nobody).unwrap();
    assert_eq!(session.progress().counts().done, 3);
    assert!(dir.attempt(&last, 2).is_dir());
}
