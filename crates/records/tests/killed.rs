//! A writer that is killed at any instant leaves a record that opens.

#![allow(clippy::unwrap_used, reason = "a failure is the test's")]

mod specimen;

use paceline_model::{Micros, Outcome, WorkerId};
use paceline_records::{End, OpenRunError, Run, RunWriter, State, Stream};
use specimen::{full_sample, metric, node, start};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const KILLS: u64 = 60;

#[test]
fn a_record_whose_writer_was_killed_opens_with_everything_it_had_said_to_be_written() {
    let parent = tempfile::tempdir().unwrap();
    for kill in 0..KILLS {
        let dir = parent.path().join(format!("run{kill}"));
        #[expect(clippy::disallowed_methods, reason = "somebody must be killed")]
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["writer", "--exact", "--ignored", "--nocapture"])
            .env("PACELINE_KILLED_DIR", &dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The writer says what it has done; it is killed after so many words,
        // at whatever it does then. Later ones find it closing the record.
        let mut said = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if line.contains("wrote") {
                said += 1;
            }
            if said > kill || line.contains("closing") && kill >= 50 {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();

        let run = match Run::open(&dir) {
            Ok(run) => run,
            // Killed before it had begun.
            Err(OpenRunError::Absent { .. }) if said == 0 => continue,
            Err(error) => panic!("kill {kill}: {error:?}"),
        };
        let samples = |run: &Run| run.samples().unwrap().remove(0).1;
        let (found, events) = (samples(&run), run.events().unwrap());
        assert!(found.len() as u64 >= said, "kill {kill}");
        for (i, sample) in found.iter().enumerate() {
            assert_eq!(*sample, full_sample(i as u64 + 1));
        }
        if run.state() == State::Interrupted {
            let end = run.manifest().end.as_ref().unwrap();
            assert_eq!(end.outcome, Outcome::Interrupted);
        }
        let sealed = Run::seal(&dir).unwrap();
        assert_eq!(samples(&sealed), found);
        assert_eq!(sealed.events().unwrap(), events);
    }
}

#[test]
#[ignore = "the writer that the test above kills"]
fn writer() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the only way to tell the writer where to write"
    )]
    let dir = std::env::var_os("PACELINE_KILLED_DIR").unwrap();
    let mut writer = RunWriter::create(dir.as_ref(), start()).unwrap();
    let log = writer.log(WorkerId(0), Stream::Out).unwrap();
    let mut out = std::io::stdout();
    for second in 1..60 {
        log.append(b"a line of output\n").unwrap();
        writer.event(&metric(second, 0.5)).unwrap();
        writer.sample(&node(), &full_sample(second)).unwrap();
        writeln!(out, "wrote {second}").unwrap();
    }
    writeln!(out, "closing").unwrap();
    writer
        .finish(End::new(Outcome::Exited(0), Micros(60_000_000)))
        .unwrap();
}
