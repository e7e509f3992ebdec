//! `[job]`: what one run executes.

use crate::document::{Entry, Node, Value};
use crate::keys::{COMMAND_JOB, TRAIN_JOB};
use crate::problem::{Place, Problem};
use crate::section::{Section, level, table, wrong};
use crate::spark_submit::{self, SparkJob};
use crate::template::{Template, TemplateErrorKind};
use crate::words::words;
use paceline_model::Level;
use std::time::Duration;

words! {
    /// What one run executes.
    pub enum JobKind {
        Command = "command", "A command of the user's.";
        Train = "train", "The built-in trainer.";
        SparkSubmit = "spark-submit", "A Spark application of the user's.";
    }
}

/// What one run executes.
#[derive(Debug, Clone, PartialEq)]
pub enum Job {
    /// A command of the user's.
    Command(CommandJob),
    /// The built-in trainer.
    Train(TrainJob),
    /// A Spark application of the user's.
    SparkSubmit(SparkJob),
}

/// A command of the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandJob {
    /// What is executed.
    pub program: Program,
    /// The directory it starts in, relative to the study file.
    pub cwd: Option<Template>,
    /// Environment variables beside those that Paceline exports.
    pub env: Vec<(String, Template)>,
    /// True if the user says that the program reads its factors from the
    /// environment.
    pub reads_env: bool,
}

/// How a command was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A list: the program and its arguments, not touched by any shell.
    Arguments(Vec<Template>),
    /// One text, run by `sh -c`.
    Shell(Template),
}

/// The built-in trainer with its options.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainJob {
    /// Options that do not vary, in the order typed.
    pub options: Vec<(String, Level)>,
}

/// A template and where it was typed.
pub(crate) struct PlacedTemplate {
    pub(crate) template: Template,
    pub(crate) text: String,
    pub(crate) place: Place,
    /// True if a shell will read the filled text.
    pub(crate) for_shell: bool,
}

/// What `[job]` says, before placeholders are compared with factors.
pub(crate) struct ReadJob {
    pub(crate) job: Option<Job>,
    pub(crate) kind: Option<JobKind>,
    pub(crate) kind_place: Place,
    pub(crate) templates: Vec<PlacedTemplate>,
    pub(crate) timeout: Option<(Duration, Place)>,
    pub(crate) reads_env: bool,
    /// Where the trainer's options stand, in their order.
    pub(crate) option_places: Vec<Place>,
    /// Spark's master, if the user names one.
    pub(crate) master: Option<(Place, Option<Template>)>,
}

impl Job {
    /// The kind as the user types it.
    #[must_use]
    pub fn kind(&self) -> JobKind {
        match self {
            Self::Command(_) => JobKind::Command,
            Self::Train(_) => JobKind::Train,
            Self::SparkSubmit(_) => JobKind::SparkSubmit,
        }
    }
}

/// Reads `[job]`; `entry` is absent if the file has none.
pub(crate) fn read(entry: Option<&Entry>, problems: &mut Vec<Problem>) -> ReadJob {
    let mut job = ReadJob {
        job: None,
        kind: None,
        kind_place: entry.map_or(Place::START, |entry| entry.place.clone()),
        templates: Vec::new(),
        timeout: None,
        reads_env: false,
        option_places: Vec::new(),
        master: None,
    };
    let Some(entry) = entry else {
        problems.push(
            Problem::new(&Place::START, "the study has no [job]")
                .hint("add [job] with command = [\"python\", \"train.py\", …]"),
        );
        return job;
    };
    let entries = table(&entry.node, "[job]", problems);
    if !matches!(entry.node.value, Value::Table(_)) {
        return job;
    }
    // Which keys are known depends on the kind, so it is read first.
    let (section, _) = Section::open_with_others(entries, &COMMAND_JOB);
    job.kind = match section.entry("kind") {
        Some(kind) => {
            job.kind_place = kind.node.place.clone();
            section.one_of("kind", problems)
        }
        None => Some(JobKind::Command),
    };
    match job.kind {
        Some(JobKind::Command) => read_command(&entry.node, &entry.place, &mut job, problems),
        Some(JobKind::Train) => read_train(entries, &mut job, problems),
        Some(JobKind::SparkSubmit) => {
            spark_submit::read(entries, &entry.place, &mut job, problems);
        }
        None => {}
    }
    job
}

fn read_train(entries: &[Entry], job: &mut ReadJob, problems: &mut Vec<Problem>) {
    let (section, others) = Section::open_with_others(entries, &TRAIN_JOB);
    job.timeout = read_timeout(&section, problems);
    let before = problems.len();
    let options = others
        .filter_map(|entry| {
            if entry.key == "command" {
                problems.push(
                    Problem::new(&entry.place, "`command` in a job of kind `train`")
                        .hint("a command needs kind = \"command\""),
                );
                return None;
            }
            let option = level(&entry.node, &format!("option `{}`", entry.key), problems)?;
            job.option_places.push(entry.place.clone());
            Some((entry.key.clone(), option))
        })
        .collect();
    if problems.len() == before {
        job.job = Some(Job::Train(TrainJob { options }));
    }
}

fn read_command(node: &Node, place: &Place, job: &mut ReadJob, problems: &mut Vec<Problem>) {
    let section = Section::open(Some(node), &COMMAND_JOB, problems);
    job.timeout = read_timeout(&section, problems);
    job.reads_env = section.switch("reads_env", problems).unwrap_or(false);
    let program = match section.entry("command") {
        Some(entry) => read_program(entry, job, problems),
        None => {
            problems.push(
                Problem::new(place, "[job] has no `command`")
                    .hint("add command = [\"python\", \"train.py\", …]"),
            );
            None
        }
    };
    let cwd = section
        .text("cwd", problems)
        .zip(section.entry("cwd"))
        .and_then(|(text, entry)| read_template(text, &entry.node.place, false, job, problems));
    let env = section
        .entry("env")
        .map_or_else(Vec::new, |entry| read_env(entry, job, problems));
    if let Some(program) = program {
        job.job = Some(Job::Command(CommandJob {
            program,
            cwd,
            env,
            reads_env: job.reads_env,
        }));
    }
}

pub(crate) fn read_timeout(
    section: &Section<'_>,
    problems: &mut Vec<Problem>,
) -> Option<(Duration, Place)> {
    let timeout = section.duration("timeout", problems)?;
    Some((timeout, section.entry("timeout")?.place.clone()))
}

fn read_program(entry: &Entry, job: &mut ReadJob, problems: &mut Vec<Problem>) -> Option<Program> {
    let empty = |problems: &mut Vec<Problem>| {
        problems.push(
            Problem::new(&entry.node.place, "`command` is empty")
                .hint("name a program, as in command = [\"python\", \"train.py\"]"),
        );
        None
    };
    match &entry.node.value {
        Value::Text(text) if text.trim().is_empty() => empty(problems),
        Value::Text(text) => {
            read_template(text, &entry.node.place, true, job, problems).map(Program::Shell)
        }
        Value::List(items) if items.is_empty() => empty(problems),
        Value::List(items) => {
            let templates: Vec<_> = items
                .iter()
                .map(|item| {
                    let text = match &item.value {
                        Value::Text(text) => text.clone(),
                        // `["sleep", 3]` has one meaning; quotes would add nothing.
                        Value::Integer(i) => i.to_string(),
                        Value::Number(x) => x.to_string(),
                        other => {
                            problems.push(Problem::new(
                                &item.place,
                                format!("`command` holds texts, found {}", other.kind()),
                            ));
                            return None;
                        }
                    };
                    read_template(&text, &item.place, false, job, problems)
                })
                .collect();
            if matches!(&items[0].value, Value::Text(text) if text.is_empty()) {
                return empty(problems);
            }
            templates
                .into_iter()
                .collect::<Option<_>>()
                .map(Program::Arguments)
        }
        _ => wrong(entry, "a list of texts", problems),
    }
}

pub(crate) fn read_env(
    entry: &Entry,
    job: &mut ReadJob,
    problems: &mut Vec<Problem>,
) -> Vec<(String, Template)> {
    let mut env = Vec::new();
    for variable in table(&entry.node, "`env`", problems) {
        let name = &variable.key;
        let valid = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !valid {
            problems.push(
                Problem::new(
                    &variable.place,
                    format!("`{name}` cannot name an environment variable"),
                )
                .hint("use letters, digits and `_`"),
            );
        } else if name.to_ascii_uppercase().starts_with("PACELINE_") {
            problems.push(
                Problem::new(
                    &variable.place,
                    format!("`{name}` is set by Paceline itself"),
                )
                .hint("factors and [fixed] constants are exported under that prefix"),
            );
        }
        let text = match &variable.node.value {
            Value::Text(text) => text.clone(),
            Value::Integer(i) => i.to_string(),
            Value::Number(x) => x.to_string(),
            Value::Switch(b) => b.to_string(),
            _ => {
                wrong::<()>(variable, "text", problems);
                continue;
            }
        };
        if let Some(template) = read_template(&text, &variable.node.place, false, job, problems) {
            env.push((name.clone(), template));
        }
    }
    env
}

pub(crate) fn read_template(
    text: &str,
    place: &Place,
    for_shell: bool,
    job: &mut ReadJob,
    problems: &mut Vec<Problem>,
) -> Option<Template> {
    if text.contains('\0') {
        problems.push(Problem::new(
            place,
            "a text with a NUL character cannot reach a program",
        ));
        return None;
    }
    match Template::parse(text) {
        Ok(template) => {
            job.templates.push(PlacedTemplate {
                template: template.clone(),
                text: text.to_owned(),
                place: place.clone(),
                for_shell,
            });
            Some(template)
        }
        Err(error) => {
            let hint = match error.kind {
                TemplateErrorKind::Open => "write {{ for a brace",
                TemplateErrorKind::Close => "write }} for a brace",
                TemplateErrorKind::Name(_) => "write {{ and }} for braces",
            };
            problems.push(
                Problem::new(place, error.to_string())
                    .excerpt(text, &error.span)
                    .hint(hint),
            );
            None
        }
    }
}
