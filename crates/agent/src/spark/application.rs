//! The process that holds a Spark application.

use super::SparkError;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Python reads the program from its stdin: it need not lie anywhere.
const BOOT: &str = "import sys; \
    exec(compile(sys.stdin.read(int(sys.stdin.readline())), 'paceline-spark', 'exec'))";
const LAUNCHER: &str = include_str!("launcher.py");
/// How long the application may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(15);
/// How many lines of Spark's log are kept, and how long they may be.
const LOG_LINES: usize = 200;
const LINE_BYTES: u64 = 4096;

/// A Spark application, as long as it is held.
pub(super) struct Application {
    /// What its agents come as.
    pub(super) group: String,
    /// Cores of each executor.
    pub(super) cores: u32,
    child: Child,
    /// The end of it ends the application.
    stdin: Option<ChildStdin>,
    shared: Arc<Mutex<Heard>>,
    reader: Option<JoinHandle<()>>,
}

/// Where an application stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// So many executors are there.
    Executors(u32),
    /// It has ended, and why.
    Over(String),
}

#[derive(Default)]
struct Heard {
    id: Option<String>,
    executors: u32,
    over: Option<String>,
    log: VecDeque<String>,
}

impl Application {
    pub(super) fn begin(
        python: &str,
        wanted: &Value,
        group: String,
        cores: u32,
    ) -> Result<Self, SparkError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "PySpark is how Spark is asked for a barrier stage"
        )]
        let mut command = Command::new(python);
        command
            .args(["-u", "-c", BOOT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is the controller's to interpret.
            .process_group(0);
        let failed = |source| SparkError::Python {
            python: python.to_owned(),
            source,
        };
        let mut child = command.spawn().map_err(failed)?;
        let shared = Arc::new(Mutex::new(Heard::default()));
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            let text = format!("{}\n{LAUNCHER}{wanted}\n", LAUNCHER.chars().count());
            // A program that does not read says why by its end.
            let _ = stdin.write_all(text.as_bytes());
        }
        let log = child.stderr.take().map(|stderr| {
            let shared = Arc::clone(&shared);
            move || keep_log(stderr, &shared)
        });
        let words = child.stdout.take().map(|stdout| {
            let shared = Arc::clone(&shared);
            move || hear(stdout, &shared)
        });
        if let Some(log) = log {
            thread("spark-log", log).map_err(failed)?;
        }
        let reader = match words {
            Some(words) => Some(thread("spark", words).map_err(failed)?),
            None => None,
        };
        Ok(Self {
            group,
            cores,
            child,
            stdin,
            shared,
            reader,
        })
    }

    /// Spark's own name for it, once it has one.
    pub(super) fn id(&self) -> Option<String> {
        self.shared.lock().id.clone()
    }

    pub(super) fn stage(&self) -> Stage {
        let heard = self.shared.lock();
        match &heard.over {
            Some(said) => Stage::Over(said.clone()),
            None => Stage::Executors(heard.executors),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.shared.lock().over.is_none()
    }

    /// What Spark complained of last, to follow another sentence.
    pub(super) fn last_word(&self) -> String {
        complaint(&self.shared.lock().log).map_or_else(String::new, |line| format!(": {line}"))
    }

    /// Ends it, and waits until it has ended.
    pub(super) fn end(&mut self) {
        drop(self.stdin.take());
        let mut waited = Duration::ZERO;
        let pause = Duration::from_millis(20);
        while waited < PATIENCE && !matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
            std::thread::sleep(pause);
            waited += pause;
        }
        // Java is of the same group, and may outlive Python by a moment; what is
        // left after that does not end by itself.
        if waited >= PATIENCE
            && let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            // It ends with the stream that it reads.
            let _ = reader.join();
        }
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        if self.stdin.is_some() {
            self.end();
        }
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(256 * 1024)
        .spawn(work)
}

/// Takes what the launcher tells, until it ends.
fn hear(stream: impl Read, shared: &Mutex<Heard>) {
    for_each_line(stream, |line| {
        let Ok(word) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let mut heard = shared.lock();
        let text = |key: &str| word[key].as_str().map(str::to_owned);
        match word["event"].as_str() {
            Some("application") => heard.id = text("id"),
            Some("executors") => {
                let count = word["count"].as_u64().unwrap_or(0);
                heard.executors = u32::try_from(count).unwrap_or(u32::MAX);
            }
            Some("failed") => heard.over = text("what"),
            Some("ended") => {
                let said = || "all agents were let go".to_owned();
                heard.over.get_or_insert_with(said);
            }
            _ => {}
        }
    });
    let mut heard = shared.lock();
    if heard.over.is_none() {
        let said = complaint(&heard.log).unwrap_or_else(|| "it said nothing".to_owned());
        heard.over = Some(said);
    }
}

fn keep_log(stream: impl Read, shared: &Mutex<Heard>) {
    for_each_line(stream, |line| {
        let mut heard = shared.lock();
        if heard.log.len() == LOG_LINES {
            heard.log.pop_front();
        }
        heard.log.push_back(line.to_owned());
    });
}

fn for_each_line(stream: impl Read, mut take: impl FnMut(&str)) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        match reader
            .by_ref()
            .take(LINE_BYTES)
            .read_until(b'\n', &mut line)
        {
            Ok(1..) => take(String::from_utf8_lossy(&line).trim_end()),
            Ok(0) | Err(_) => return,
        }
    }
}

/// The last line of a log that complains, else the last one.
fn complaint(log: &VecDeque<String>) -> Option<String> {
    let tells = |line: &&String| {
        ["ERROR", "WARN", "Exception", "Error:"]
            .iter()
            .any(|mark| line.contains(mark))
            && !line.contains("NativeCodeLoader")
    };
    let said = log.iter().filter(|line| !line.trim().is_empty());
    let complaining = said.clone().rev().find(tells);
    complaining
        .or_else(|| said.clone().next_back())
        .map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &str) -> Heard {
        let shared = Mutex::new(Heard::default());
        hear(lines.as_bytes(), &shared);
        shared.into_inner()
    }

    #[test]
    fn what_the_launcher_tells_is_understood_and_noise_is_not() {
        let heard = told(
            "noise\n{\"event\": \"application\", \"id\": \"app-1\"}\n\
             {\"event\": \"executors\", \"count\": 2}\n{\"event\": \"failed\", \"what\": \"no\"}\n",
        );
        assert_eq!(heard.id.as_deref(), Some("app-1"));
        assert_eq!(heard.executors, 2);
        assert_eq!(heard.over.as_deref(), Some("no"));
        assert_eq!(told("").over.as_deref(), Some("it said nothing"));
    }

    #[test]
    fn a_complaint_is_the_last_line_that_complains() {
        let log = ["WARN NativeCodeLoader: x", "ERROR it is so", "INFO done"];
        let log = log.map(str::to_owned).into();
        assert_eq!(complaint(&log).as_deref(), Some("ERROR it is so"));
        assert_eq!(complaint(&VecDeque::new()), None);
    }

    #[test]
    fn a_program_that_is_missing_or_ends_is_told() {
        let wanted = serde_json::json!({});
        let missing = Application::begin("/no/such/python", &wanted, String::new(), 1);
        assert!(matches!(missing, Err(SparkError::Python { .. })));
        let mut ends = Application::begin("false", &wanted, String::new(), 1).unwrap();
        ends.end();
        assert_eq!(ends.stage(), Stage::Over("it said nothing".to_owned()));
    }
}
