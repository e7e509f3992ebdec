//! The stories of `stories/*.txt`, told by the coordinator.
//!
//! A line at the margin is a command, the indented lines below it are what the
//! coordinator answers, `#` begins a comment. A story that comes out differently
//! is printed as it came out.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use paceline_model::WorkerId;
use std::time::Duration;

use paceline_sync::{
    Action, Clock, Coordinator, Incarnation, Message, Receipt, Refusal, Sender, Settings, Tick,
};

#[test]
fn every_story_comes_out_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("stories");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .expect("the stories are part of the crate")
        .map(|entry| entry.expect("the folder is readable").path())
        .collect();
    names.sort();
    assert!(names.len() >= 8, "stories are missing");
    let mut wrong = String::new();
    for name in names {
        let written = fs::read_to_string(&name).expect("a story is a text");
        let told = tell(&written);
        if told != written {
            let _ = writeln!(wrong, "=== {} came out as:\n{told}", name.display());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The story with the answers as they are.
fn tell(written: &str) -> String {
    let mut told = String::new();
    let mut stage = Stage::default();
    for line in written.lines() {
        if line.starts_with("  ") {
            continue;
        }
        let _ = writeln!(told, "{line}");
        let command = line.split('#').next().unwrap_or_default().trim();
        if !command.is_empty() {
            for answer in stage.play(command) {
                let _ = writeln!(told, "  {answer}");
            }
        }
    }
    told
}

#[derive(Default)]
struct Stage {
    coordinator: Option<Coordinator>,
    now: Tick,
    /// The life in which each worker speaks unless the story says otherwise.
    lives: [u32; 8],
}

impl Stage {
    fn play(&mut self, command: &str) -> Vec<String> {
        let words: Vec<&str> = command
            .split([' ', ','])
            .filter(|w| !w.is_empty())
            .collect();
        match words[..] {
            ["run", model, "with", count, "workers", ..] => self.start(model, count, command),
            ["time", at] => {
                self.now = Tick(number(at));
                let now = self.now;
                let mut actions = Vec::new();
                self.coordinator().tick(now, &mut actions);
                actions.iter().map(tell_action).collect()
            }
            ["members"] => {
                let members = self.coordinator().members();
                members.map(|member| member.to_string()).collect()
            }
            ["tally"] => vec![tell_tally(self.coordinator().total())],
            ["tally", worker] => {
                let id = worker_id(worker);
                vec![tell_tally(self.coordinator().tally(id))]
            }
            [worker, ..] if worker.starts_with("worker") => self.speak(&words),
            _ => panic!("no command of a story: {command}"),
        }
    }

    fn start(&mut self, model: &str, count: &str, command: &str) -> Vec<String> {
        let model = model.parse().expect("a word of the flag");
        let mut settings = match Settings::new(model, number(count) as u32) {
            Ok(settings) => settings.started_at(self.now),
            Err(error) => return vec![error.to_string()],
        };
        for option in command.split(',').skip(1) {
            let words: Vec<&str> = option.split_whitespace().collect();
            settings = match words[..] {
                ["on", "loss", policy] => {
                    settings.on_worker_loss(policy.parse().expect("a policy"))
                }
                ["lost", "after", length] => {
                    settings.failure_timeout(Duration::from_nanos(number(length)))
                }
                ["join", "within", length] => {
                    settings.join_timeout(Duration::from_nanos(number(length)))
                }
                ["room", "for", capacity] => settings.with_room_for(number(capacity) as u32),
                ["from", "clock", clock] => settings.resumed_at(Clock(number(clock))),
                _ => panic!("no option of a story: {option}"),
            };
        }
        self.coordinator = Some(Coordinator::new(settings));
        self.lives = [0; 8];
        Vec::new()
    }

    fn speak(&mut self, words: &[&str]) -> Vec<String> {
        let (words, life) = match words {
            [words @ .., "in", "life", life] => (words, Some(number(life) as u32)),
            _ => (words, None),
        };
        let worker = worker_id(words[0]);
        let life = life.unwrap_or(self.lives[worker.0 as usize]);
        let from = Sender {
            worker,
            incarnation: Incarnation(life),
        };
        let now = self.now;
        let mut actions = Vec::new();
        let coordinator = self.coordinator();
        let mut step = |message| coordinator.step(from, message, now, &mut actions);
        let result = match words[1..] {
            ["joins"] => step(Message::Join),
            ["updates", clock] => step(Message::Update {
                clock: Clock(number(clock)),
            }),
            ["reads", clock] => step(Message::Read {
                clock: Clock(number(clock)),
            }),
            ["completes", clock] => {
                coordinator.update_and_read(from, Clock(number(clock)), now, &mut actions)
            }
            ["lives"] => step(Message::Heartbeat),
            ["leaves"] => step(Message::Leave),
            ["disconnects"] => {
                coordinator.disconnect(from, now, &mut actions);
                Ok(Receipt::Heard)
            }
            _ => panic!("no command of a story: {words:?}"),
        };
        if words[1] == "joins" && result.is_ok() {
            self.lives[worker.0 as usize] = life;
        }
        let mut answers: Vec<String> = tell_result(result).into_iter().collect();
        answers.extend(actions.iter().map(tell_action));
        let reads = matches!(words[1], "reads" | "completes");
        let proceeds =
            |action: &Action| matches!(action, Action::Proceed { to, .. } if to.worker == worker);
        if reads && !actions.iter().any(proceeds) {
            let holdups = self.coordinator().holdups(worker);
            answers.extend(holdups.map(|holdup| format!("{worker} waits for {holdup}")));
        }
        answers
    }

    fn coordinator(&mut self) -> &mut Coordinator {
        self.coordinator
            .as_mut()
            .expect("a story begins with `run`")
    }
}

fn number(text: &str) -> u64 {
    let digits = text.trim_end_matches(',');
    digits
        .parse()
        .unwrap_or_else(|_| panic!("`{text}` is no number"))
}

fn worker_id(text: &str) -> WorkerId {
    WorkerId(number(text.trim_start_matches("worker")) as u32)
}

fn tell_result(result: Result<Receipt, Refusal>) -> Option<String> {
    match result {
        Ok(Receipt::Heard) => None,
        Ok(Receipt::Counted) => Some("counted".to_owned()),
        Ok(Receipt::Late) => Some("dropped, too late".to_owned()),
        Ok(Receipt::Duplicate) => Some("ignored, known already".to_owned()),
        Err(refusal) => Some(format!("refused: {refusal}")),
    }
}

fn tell_tally(tally: paceline_sync::Tally) -> String {
    let paceline_sync::Tally {
        counted,
        late,
        duplicate,
        refused,
    } = tally;
    format!("{counted} counted, {late} late, {duplicate} duplicate, {refused} refused")
}

fn tell_action(action: &Action) -> String {
    match action {
        Action::Welcome { to, clock } => {
            format!(
                "welcome {} in life {}: start at {clock}",
                to.worker, to.incarnation
            )
        }
        Action::Proceed {
            to,
            clock,
            version,
            waited_for,
        } => {
            let after = match waited_for {
                Some(other) => format!(", released by {other}"),
                None => String::new(),
            };
            format!("{} starts {clock} with version {version}{after}", to.worker)
        }
        Action::Close {
            clock,
            counted,
            version,
        } => {
            format!("iteration {clock} closes with {counted} updates: version {version}")
        }
        Action::Lost {
            worker,
            cause,
            clock,
            doing,
            heard,
        } => format!(
            "{worker} is lost: {cause}, last heard at {} when {doing}, clock {clock}",
            heard.0
        ),
        Action::Replace {
            worker,
            incarnation,
        } => {
            format!("replace {worker}, in life {incarnation} or later")
        }
        Action::Fail { worker } => format!("the run fails without {worker}"),
        Action::Empty => "nobody is left".to_owned(),
    }
}
