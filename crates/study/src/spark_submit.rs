//! A job of kind `spark-submit`: the user's own Spark application, its settings
//! as factors.

use crate::command::RunFacts;
use crate::document::{Entry, Value};
use crate::job::{Job, ReadJob, read_env, read_template, read_timeout};
use crate::keys::SPARK_JOB;
use crate::problem::{Place, Problem};
use crate::section::{Section, level, unknown_key, wrong};
use crate::template::Template;
use paceline_model::Level;

/// The user's own Spark application.
#[derive(Debug, Clone, PartialEq)]
pub struct SparkJob {
    /// The program that submits; `spark-submit` by default.
    pub submit: Option<Template>,
    /// The `.py` or `.jar`.
    pub application: Template,
    /// The application's own arguments.
    pub args: Vec<Template>,
    /// Where it runs; what Spark's own settings say by default.
    pub master: Option<Template>,
    /// The main class of a jar.
    pub class: Option<Template>,
    /// More arguments of `spark-submit`.
    pub extra: Vec<Template>,
    /// The directory it starts in, relative to the study file.
    pub cwd: Option<Template>,
    /// Environment variables beside those that Paceline exports.
    pub env: Vec<(String, Template)>,
    /// True if the user says that the application reads its factors from the
    /// environment.
    pub reads_env: bool,
    /// Settings that do not vary, in the order typed.
    pub settings: Vec<(String, Level)>,
}

/// The settings that have a name of their own beside `spark.…`.
pub(crate) const SETTINGS: &[&str] = &["executors", "executor_cores", "executor_memory"];

/// How the keys of Spark itself begin.
pub(crate) const PREFIX: &str = "spark.";

/// True if a factor or constant of this name becomes a setting of Spark.
pub(crate) fn is_setting(name: &str) -> bool {
    SETTINGS.contains(&name) || is_spark_key(name)
}

/// True for a key of Spark itself, such as `spark.sql.shuffle.partitions`.
pub(crate) fn is_spark_key(name: &str) -> bool {
    name.len() <= 200
        && name.strip_prefix(PREFIX).is_some_and(|rest| {
            let parts = rest.split('.');
            parts.clone().all(|part| {
                let mut characters = part.chars();
                characters.next().is_some_and(|c| c.is_ascii_alphanumeric())
                    && characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
            })
        })
}

/// Reads `[job]` of kind `spark-submit`.
pub(crate) fn read(
    entries: &[Entry],
    place: &Place,
    job: &mut ReadJob,
    problems: &mut Vec<Problem>,
) {
    let before = problems.len();
    let (section, others) = Section::open_with_others(entries, &SPARK_JOB);
    job.timeout = read_timeout(&section, problems);
    job.reads_env = section.switch("reads_env", problems).unwrap_or(false);
    let mut settings = Vec::new();
    for entry in others {
        if is_spark_key(&entry.key) {
            let title = format!("setting `{}`", entry.key);
            settings.extend(level(&entry.node, &title, problems).map(|it| (entry.key.clone(), it)));
        } else if entry.key == "spark" && matches!(entry.node.value, Value::Table(_)) {
            problems.push(unquoted(entry));
        } else {
            problems.push(unknown_key(entry, SPARK_JOB.title, SPARK_JOB.names()));
        }
    }
    for name in SETTINGS {
        if let Some(entry) = section.entry(name) {
            let title = format!("setting `{name}`");
            settings
                .extend(level(&entry.node, &title, problems).map(|it| ((*name).to_owned(), it)));
        }
    }
    let text = |key: &str, job: &mut ReadJob, problems: &mut Vec<Problem>| {
        let text = section.text(key, problems)?;
        let place = &section.entry(key)?.node.place;
        read_template(text, place, false, job, problems)
    };
    let application = text("application", job, problems);
    if section.entry("application").is_none() {
        problems.push(
            Problem::new(place, "[job] has no `application`")
                .hint("name the .py or .jar, as in application = \"train.py\""),
        );
    }
    let submit = text("submit", job, problems);
    let master = text("master", job, problems);
    let class = text("class", job, problems);
    let cwd = text("cwd", job, problems);
    let args = texts(&section, "args", job, problems);
    let extra = texts(&section, "extra", job, problems);
    let env = section
        .entry("env")
        .map_or_else(Vec::new, |entry| read_env(entry, job, problems));
    job.master = section
        .entry("master")
        .map(|entry| (entry.node.place.clone(), master.clone()));
    if problems.len() == before
        && let Some(application) = application
    {
        job.job = Some(Job::SparkSubmit(SparkJob {
            submit,
            application,
            args,
            master,
            class,
            extra,
            cwd,
            env,
            reads_env: job.reads_env,
            settings,
        }));
    }
}

/// TOML reads `spark.sql.x = 1` as tables in tables.
pub(crate) fn unquoted(entry: &Entry) -> Problem {
    let mut name = entry.key.clone();
    let mut value = &entry.node.value;
    while let Value::Table(entries) = value
        && let [only, ..] = &entries[..]
    {
        name = format!("{name}.{}", only.key);
        value = &only.node.value;
    }
    Problem::new(&entry.place, format!("`{name}` lacks its quotes"))
        .hint(format!("write \"{name}\" = …, because a dot means a table"))
}

fn texts(
    section: &Section<'_>,
    key: &str,
    job: &mut ReadJob,
    problems: &mut Vec<Problem>,
) -> Vec<Template> {
    let Some(entry) = section.entry(key) else {
        return Vec::new();
    };
    let Value::List(items) = &entry.node.value else {
        wrong::<()>(entry, "a list of texts", problems);
        return Vec::new();
    };
    let mut read = Vec::new();
    for item in items {
        let text = match &item.value {
            Value::Text(text) => text.clone(),
            Value::Integer(i) => i.to_string(),
            Value::Number(x) => x.to_string(),
            other => {
                problems.push(Problem::new(
                    &item.place,
                    format!("`{key}` holds texts, found {}", other.kind()),
                ));
                continue;
            }
        };
        read.extend(read_template(&text, &item.place, false, job, problems));
    }
    read
}

impl SparkJob {
    /// The command: what varies comes after what is fixed, and wins.
    pub(crate) fn argv(
        &self,
        assigned: &[(&str, String)],
        fill: &dyn Fn(&Template) -> String,
        facts: &RunFacts,
    ) -> Vec<String> {
        let mut chosen: Vec<(&str, String)> = Vec::new();
        let fixed = self
            .settings
            .iter()
            .map(|(name, level)| (name.as_str(), level.to_string()));
        let varied = assigned
            .iter()
            .filter(|(name, _)| is_setting(name))
            .map(|(name, text)| (*name, text.clone()));
        for (name, value) in fixed.chain(varied) {
            match chosen.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = value,
                None => chosen.push((name, value)),
            }
        }
        let submit = self.submit.as_ref();
        let mut argv = vec![submit.map_or_else(|| "spark-submit".to_owned(), fill)];
        let mut add = |flag: &str, value: String| argv.extend([flag.to_owned(), value]);
        if let Some(master) = &self.master {
            add("--master", fill(master));
        }
        if let Some(class) = &self.class {
            add("--class", fill(class));
        }
        // The user's own settings come last, and the last one counts.
        for (key, value) in event_log(&facts.event_log_dir) {
            add("--conf", format!("{key}={value}"));
        }
        for (key, value) in executors(&chosen) {
            add("--conf", format!("{key}={value}"));
        }
        for (name, value) in chosen.iter().filter(|(name, _)| is_spark_key(name)) {
            add("--conf", format!("{name}={value}"));
        }
        argv.extend(self.extra.iter().map(fill));
        argv.push(fill(&self.application));
        argv.extend(self.args.iter().map(fill));
        argv
    }
}

/// The settings that make Spark write its event log into `folder`, in a form
/// that is read back.
#[must_use]
pub fn event_log(folder: &str) -> Vec<(&'static str, String)> {
    vec![
        ("spark.eventLog.enabled", "true".to_owned()),
        ("spark.eventLog.dir", format!("file://{folder}")),
        ("spark.eventLog.compress", "false".to_owned()),
    ]
}

/// Numbers of executors in the words of every master: YARN and Kubernetes count
/// instances, a standalone master divides cores; each ignores the other's key.
fn executors(chosen: &[(&str, String)]) -> Vec<(&'static str, String)> {
    let get = |name: &str| {
        let found = chosen.iter().find(|(own, _)| *own == name);
        found.map(|(_, value)| value.as_str())
    };
    let mut keys = Vec::new();
    if let Some(memory) = get("executor_memory") {
        keys.push(("spark.executor.memory", memory.to_owned()));
    }
    let cores = get("executor_cores");
    if let Some(count) = get("executors") {
        // Without it, a standalone executor takes all cores of its worker.
        let cores = cores.unwrap_or("1");
        let all = count.parse::<u64>().ok().zip(cores.parse::<u64>().ok());
        keys.push(("spark.dynamicAllocation.enabled", "false".to_owned()));
        keys.push(("spark.executor.instances", count.to_owned()));
        keys.push(("spark.executor.cores", cores.to_owned()));
        if let Some((count, cores)) = all {
            keys.push(("spark.cores.max", count.saturating_mul(cores).to_string()));
        }
    } else if let Some(cores) = cores {
        keys.push(("spark.executor.cores", cores.to_owned()));
    }
    keys
}
