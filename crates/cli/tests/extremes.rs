//! Every option of every command, with values that nobody would type.
//!
//! The commands and their options are those that `--help` lists, so that a new
//! one is tested on the day it is made. Whatever the value, the program ends in
//! the way that its exit codes describe: no panic, no more memory than is sensible,
//! and where the value asks for work without end, Ctrl-C ends it.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a campaign says how it went"
)]

mod support;

use rustix::fs::{CWD, FileType, Mode};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::{Random, paceline, run, signal};

/// A command line that works, for each command. What an option changes is tried
/// upon it; of a command that is missing here, each option is tried alone.
const COMMANDS: [(&str, &str); 30] = [
    ("quickstart", "--out q"),
    ("run", "--quiet --out new -- true"),
    ("show", "run"),
    ("ls", "."),
    ("export", "run --to csv --out csv"),
    (
        "train",
        "softmax --data synthetic:blobs,rows=60,width=4,classes=2 --epochs 1 --quiet --out new",
    ),
    (
        "trainer",
        "softmax --data synthetic:blobs,rows=60,width=4,classes=2 --epochs 1 --workers 2",
    ),
    (
        "worker",
        "softmax --data synthetic:blobs,rows=60,width=4,classes=2 --rank 0 --workers 1 --wait 1s \
         --spawn hosts --at tcp://127.0.0.1:9 --token-file token",
    ),
    (
        "server",
        "softmax --data synthetic:blobs,rows=60,width=4,classes=2 --rank 0 --workers 1 --wait 1s \
         --spawn hosts --at tcp://127.0.0.1:0 --token-file token",
    ),
    ("warden", "run"),
    ("eval", "c.safetensors"),
    ("predict-batch", "c.safetensors --out p.csv"),
    ("analyze", "t.csv --response y"),
    ("design", "s.toml"),
    ("study", ""),
    ("study run", "s.toml --quiet"),
    ("study retry", "s.toml --quiet"),
    ("study status", "s.toml"),
    ("study watch", "s.toml"),
    (
        "predict",
        "t.csv --factors a,workers --responses y --predictor linear",
    ),
    (
        "pick",
        "t.csv --factors a,workers --limit y<=9 --minimize y --predictor linear",
    ),
    (
        "size",
        "t.csv --factors workers --deadline 9 --time y --prices prices.csv",
    ),
    (
        "tune",
        "s.toml --factor a --minimize time --max-runs 2 --quiet",
    ),
    ("queue", "--arrivals 1/min --service 9s"),
    ("report", "run --out r.html"),
    ("doctor", ""),
    ("promises", "s.toml"),
    ("completions", "bash"),
    ("man", "--out ."),
    ("version", ""),
];

/// Commands that help does not list; users start them all the same.
const HIDDEN: [&str; 4] = ["trainer", "worker", "server", "warden"];

/// What no option expects; nothing that is harmful to write to.
fn values() -> Vec<OsString> {
    let mut values: Vec<OsString> = [
        "0",
        "-1",
        "1e308",
        "-1e308",
        "1e-320",
        "nan",
        "inf",
        "18446744073709551615",
        "9223372036854775807",
        "4294967296",
        "",
        "0/min",
        "1e308s",
        "99999999999999999999d",
        "a=1e308,b=nan",
        "=",
        "/dev/zero",
        ".",
        "absent/x",
        "\u{1f600}",
    ]
    .map(OsString::from)
    .to_vec();
    values.push(OsString::from_vec(b"\xff\xfe".to_vec()));
    values
}

/// The options of a command that take a value, and the commands below it.
fn help(dir: &Path, words: &[&str]) -> (Vec<String>, Vec<String>) {
    let helped = run(dir, words.iter().chain(&["--help"]));
    assert_eq!(helped.code, Some(0), "{words:?}: {}", helped.err);
    let mut options = Vec::new();
    let (mut commands, mut in_commands) = (Vec::new(), false);
    for line in helped.out.lines() {
        if line.ends_with(':') && !line.starts_with(' ') {
            in_commands = line == "Commands:";
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let words: Vec<&str> = line.split_whitespace().collect();
        if in_commands && indent == 2 {
            commands.extend(words.first().map(|&name| name.to_owned()));
        }
        let is_option = words.first().is_some_and(|word| word.starts_with('-'));
        let named = words.iter().position(|word| word.starts_with("--"));
        let (true, Some(named)) = (is_option && indent <= 6, named) else {
            continue;
        };
        let (name, rest) = words[named].split_once('[').unwrap_or((words[named], ""));
        let takes = words
            .get(named + 1)
            .is_some_and(|next| next.starts_with(['<', '[']));
        if takes || rest.contains('<') {
            options.push(name.to_owned());
        }
    }
    commands.retain(|name| name != "help");
    (options, commands)
}

/// One command line to try.
#[derive(Debug, Clone)]
struct Case {
    args: Vec<OsString>,
}

/// The base without the option, and the option with the value before the words
/// that are not options.
fn case(command: &str, base: &str, option: &str, value: &OsStr) -> Case {
    let mut args: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
    let mut word = OsString::from(option);
    word.push("=");
    word.push(value);
    args.push(word);
    let mut skip = false;
    let mut behind = false;
    for given in base.split_whitespace() {
        behind |= given == "--";
        if std::mem::take(&mut skip) {
            continue;
        }
        if given == option && !behind {
            skip = true;
            continue;
        }
        args.push(given.into());
    }
    Case { args }
}

/// Every command with each of its options.
fn options(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (_, listed) = help(dir, &[]);
    let mut waiting: Vec<String> = listed;
    waiting.extend(HIDDEN.map(str::to_owned));
    while let Some(command) = waiting.pop() {
        let words: Vec<&str> = command.split_whitespace().collect();
        let (options, below) = help(dir, &words);
        found.extend(options.into_iter().map(|option| (command.clone(), option)));
        waiting.extend(below.into_iter().map(|name| format!("{command} {name}")));
    }
    // The members of a training are given what the training was given.
    let of_train: Vec<String> = found
        .iter()
        .filter(|(command, _)| command == "train")
        .map(|(_, option)| option.clone())
        .collect();
    found.retain(|(command, option)| {
        !HIDDEN.contains(&command.as_str()) || !of_train.contains(option)
    });
    found.sort();
    found
}

/// A directory with what the command lines name.
fn template(dir: &Path) {
    let write = |name: &str, text: &str| fs::write(dir.join(name), text).expect("a file");
    let rows: String = (1..=16)
        .map(|i| format!("{},{},{}.5\n", i % 4 + 1, i % 3 + 1, i % 5 + i % 4))
        .collect();
    write("t.csv", &format!("a,workers,y\n{rows}"));
    write(
        "s.toml",
        "[job]\ncommand = [\"true\", \"{a}\"]\n[factors]\na = [1, 2]\n[responses]\n\
         time = \"duration_s\"\n",
    );
    write(
        "prices.csv",
        "machine,cores,price_per_hour\nsmall,2,0.1\nlarge,8,0.5\n",
    );
    write("token", &"0123456789abcdef".repeat(4));
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(dir.join("token"), private).expect("it is ours");
    let ran = run(dir, "run --quiet --out run -- true".split(' '));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = run(dir, "study run s.toml --quiet".split(' '));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let words = "train softmax --data synthetic:blobs,rows=60,width=4,classes=2 --epochs 1 \
                 --quiet --checkpoint c.safetensors --out trained";
    let ran = run(dir, words.split_whitespace());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file is copied");
        }
    }
}

/// Address space that one command may take. Threads reserve more than they use.
const MOST_MEMORY_KIB: u32 = 8 << 20;
/// Work that is not done by then is asked to end.
const PATIENCE: Duration = Duration::from_secs(4);
/// What was asked to end must have ended by then, and what was not, too: the
/// machine may be loaded, and a hang is longer.
const END: Duration = Duration::from_secs(120);

/// Within a limit on memory.
fn limited(command: &Command) -> Command {
    #[expect(clippy::disallowed_methods, reason = "tests start the real binary")]
    let mut limited = Command::new("sh");
    let script = format!(r#"ulimit -v {MOST_MEMORY_KIB}; ulimit -c 0; exec "$0" "$@""#);
    limited.arg("-c").arg(script);
    limited.arg(command.get_program()).args(command.get_args());
    limited.current_dir(command.get_current_dir().expect("it is set"));
    for (name, value) in command.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    limited
}

/// Tries a case; says what is wrong with how it ended.
fn try_case(template: &Path, case: &Case) -> Result<(), String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    copy(template, dir.path());
    let (out, err) = (dir.path().join("stdout"), dir.path().join("stderr"));
    let file = |path: &PathBuf| fs::File::create(path).expect("a file");
    let mut child = limited(&paceline(dir.path(), &case.args))
        .stdin(Stdio::null())
        .stdout(file(&out))
        .stderr(file(&err))
        .spawn()
        .expect("the binary can be started");
    let tick = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    let mut asked = false;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            break status;
        }
        if waited > PATIENCE && !asked {
            asked = true;
            eprintln!("paceline {:?} takes long and is asked to end", case.args);
            signal(child.id(), "INT");
        }
        if waited > PATIENCE + END {
            let _ = child.kill();
            let _ = child.wait();
            return Err("did not end, though it was asked to".to_owned());
        }
        std::thread::sleep(tick);
        waited += tick;
    };
    let err = fs::read(err).expect("what it said");
    judge(status, asked, &String::from_utf8_lossy(&err))
}

fn judge(status: ExitStatus, asked: bool, err: &str) -> Result<(), String> {
    let last: Vec<&str> = err.lines().rev().take(4).collect();
    let told = || format!("{status}: {last:?}");
    if err.contains("panicked at") || err.contains("memory allocation of") {
        return Err(told());
    }
    match (status.code(), status.signal()) {
        (Some(0..=4), _) => Ok(()),
        (Some(130), _) if asked => Ok(()),
        // What only computes needs no handler: the signal ends it.
        (None, Some(2)) if asked => Ok(()),
        _ => Err(told()),
    }
}

/// Tries cases side by side; the wrong ones, each with what is wrong.
fn side_by_side(
    cases: &[Case],
    threads: usize,
    try_one: impl Fn(&Case) -> Result<(), String> + Sync,
) -> Vec<String> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut wrong = Vec::new();
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Err(what) = try_one(case) {
                            eprintln!("paceline {:?}: {what}", case.args);
                            wrong.push(format!("paceline {:?}: {what}", case.args));
                        }
                    }
                    wrong
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a case is tried without a panic"))
            .collect()
    })
}

fn try_all(cases: &[Case]) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    template(dir.path());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    side_by_side(cases, threads, |case| try_case(dir.path(), case))
}

fn every_case() -> Vec<Case> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = options(dir.path());
    assert!(options.len() > 140, "{} options", options.len());
    let values = values();
    options
        .iter()
        .flat_map(|(command, option)| {
            let known = COMMANDS.iter().find(|(known, _)| known == command);
            let base = known.map_or("", |(_, base)| base);
            values
                .iter()
                .map(move |value| case(command, base, option, value))
        })
        .collect()
}

#[track_caller]
fn check(cases: &[Case]) {
    let wrong = try_all(cases);
    println!("{} command lines, {} wrong", cases.len(), wrong.len());
    assert!(
        wrong.is_empty(),
        "{} of {} command lines:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_hundred_and_fifty_strange_command_lines_end_as_documented() {
    let all = every_case();
    let mut random = Random(15);
    let some: Vec<Case> = (0..150)
        .map(|_| all[random.below(all.len() as u64) as usize].clone())
        .collect();
    check(&some);
}

#[test]
#[ignore = "every option with every value: minutes"]
fn every_strange_command_line_ends_as_documented() {
    check(&every_case());
}

/// The lines upon which the others are built must work, or they show nothing.
#[test]
fn every_command_line_of_this_test_works_before_it_is_changed() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    template(dir.path());
    for (command, base) in COMMANDS {
        // These take a minute, wait for others, or need a word more.
        if ["quickstart", "worker", "server", "warden", "study"].contains(&command) {
            continue;
        }
        let place = tempfile::tempdir().expect("a temporary directory");
        copy(dir.path(), place.path());
        let words = command.split_whitespace().chain(base.split_whitespace());
        let ran = run(place.path(), words);
        assert!(
            matches!(ran.code, Some(0 | 1)),
            "paceline {command} {base}: {:?} {}",
            ran.code,
            ran.err
        );
    }
}

/// Words that are not options, in place of every file that is read.
#[test]
fn every_file_that_is_read_may_be_a_pipe_a_device_or_no_text() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    template(dir.path());
    let pipe = dir.path().join("pipe");
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, mode, 0).expect("a pipe can be made");
    let lines = [
        "show @",
        "export @ --to csv --out csv",
        "report @ --out r.html",
        "eval @",
        "predict-batch @",
        "eval c.safetensors --data @",
        "analyze @ --response y",
        "design @",
        "design s.toml --pilot @",
        "study run @",
        "study retry @",
        "study status @",
        "study watch @",
        "predict @ --responses y",
        "pick @ --limit y<=9 --minimize y",
        "size @ --deadline 9 --time y --prices prices.csv",
        "size t.csv --deadline 9 --time y --prices @",
        "tune @ --factor a --minimize time",
        "queue --from @",
        "train softmax --data @ --epochs 1 --out new",
        "train softmax --data synthetic:blobs,rows=60 --resume @ --epochs 1 --out new",
        "train softmax --data synthetic:blobs,rows=60 --workers 1 --at tcp://127.0.0.1:0 \
         --spawn hosts --token-file @ --epochs 1 --out new",
        "worker softmax --rank 0 --workers 1 --wait 1s --spawn hosts --at tcp://127.0.0.1:9 --token-file @",
        "server softmax --rank 0 --workers 1 --wait 1s --spawn hosts --at tcp://127.0.0.1:0 --token-file @",
    ];
    let name = OsString::from_vec(b"\xff\xfe".to_vec());
    let values = [
        OsStr::new("/dev/zero"),
        pipe.as_os_str(),
        &name,
        OsStr::new(""),
    ];
    let cases: Vec<Case> = lines
        .iter()
        .flat_map(|line| {
            values.map(|value| {
                let args = line.split_whitespace().map(|word| match word {
                    "@" => value.to_owned(),
                    word => OsString::from(word),
                });
                Case {
                    args: args.collect(),
                }
            })
        })
        .collect();
    // Most of them wait for a pipe, so there may be more than processors.
    let wrong = side_by_side(&cases, 8, |case| try_reading(dir.path(), case));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Nothing that is no file is read: the command ends by itself, with an error.
fn try_reading(template: &Path, case: &Case) -> Result<(), String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for name in ["t.csv", "s.toml", "prices.csv", "token", "c.safetensors"] {
        fs::copy(template.join(name), dir.path().join(name)).expect("a file is copied");
    }
    let err = dir.path().join("stderr");
    let mut child = limited(&paceline(dir.path(), &case.args))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&err).expect("a file"))
        .spawn()
        .expect("the binary can be started");
    let tick = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            break status;
        }
        if waited > END {
            let _ = child.kill();
            let _ = child.wait();
            return Err("did not end".to_owned());
        }
        std::thread::sleep(tick);
        waited += tick;
    };
    let text = fs::read(err).expect("what it said");
    let text = String::from_utf8_lossy(&text);
    judge(status, false, &text)?;
    match status.code() {
        Some(2..=4) => Ok(()),
        _ => Err(format!("{status}: {text}")),
    }
}
