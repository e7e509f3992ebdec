//! CSV files with the columns of the tables.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_model::{Event, EventKind, Measure, Micros, Outcome};
use paceline_records::{End, Run, RunWriter, export_csv};
use specimen::{full_sample, metric, node, start};
use std::fs;

#[test]
fn a_record_becomes_csv_with_the_same_columns_and_values() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("run");
    let mut writer = RunWriter::create(&dir, start()).unwrap();
    writer.sample(&node(), &full_sample(1)).unwrap();
    let mut bare = full_sample(2);
    bare.readings = [(Measure::NodeCpuUser, 0.1)].into_iter().collect();
    bare.parts.clear();
    writer.sample(&node(), &bare).unwrap();
    writer.event(&metric(1, f64::NAN)).unwrap();
    let awkward = Event {
        at: Micros(2_500_000),
        worker: None,
        kind: EventKind::Notice,
        step: Some(u64::MAX),
        name: String::new(),
        value: None,
        text: Some("a \"quoted\", two-line\nnotice".to_owned()),
    };
    writer.event(&awkward).unwrap();

    let check = |out: &str| {
        let out = parent.path().join(out);
        let files = export_csv(&Run::open(&dir).unwrap(), &out).unwrap();
        let names: Vec<_> = files.iter().map(|f| f.file_name().unwrap()).collect();
        assert_eq!(names, ["gpu-01.csv", "gpu-01.parts.csv", "events.csv"]);
        assert_eq!(fs::read_dir(&out).unwrap().count(), 3);
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();

        let samples = read("gpu-01.csv");
        let lines: Vec<&str> = samples.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("time,elapsed_s,interval_s,gap,node_cpu_user_s,"));
        assert_eq!(lines[0].split(',').count(), 4 + Measure::ALL.len());
        assert!(lines[1].starts_with("2025-11-15T22:24:00.000018Z,1.000017,1.000003,,1,"));
        let empty = ",".repeat(Measure::ALL.len() - 1);
        assert_eq!(
            lines[2],
            format!("2025-11-15T22:24:01.000018Z,2.000017,1.000003,,0.1{empty}")
        );
        assert!(read("gpu-01.parts.csv").contains(",process,4711 python,"));
        assert_eq!(
            read("events.csv"),
            "time,elapsed_s,worker,kind,step,name,value,text\r\n\
             2025-11-15T22:24:00.000001Z,1,0,metric,1,loss,NaN,\r\n\
             2025-11-15T22:24:01.500001Z,2.5,,notice,18446744073709551615,\"\",,\
             \"a \"\"quoted\"\", two-line\nnotice\"\r\n"
        );
    };
    check("live");
    writer
        .finish(End::new(Outcome::Exited(0), Micros(1)))
        .unwrap();
    check("finished");
}
