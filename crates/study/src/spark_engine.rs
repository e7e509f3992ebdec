//! What engine `spark` reads of `[engine]`, and which factors it realises.

use crate::builtin::BuiltInFactor;
use crate::document::{Entry, Value};
use crate::engine::{EngineKind, plain_text};
use crate::job::{JobKind, ReadJob};
use crate::names::Names;
use crate::problem::{Place, Problem};
use crate::section::{Section, table, wrong};
use crate::spark_submit::{is_spark_key, unquoted};

/// The Spark application whose executors are the nodes of runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SparkSettings {
    /// The cluster, as Spark names it; what Spark's own files say without.
    pub master: Option<String>,
    /// Cores of an executor, unless a level says so.
    pub executor_cores: Option<u32>,
    /// Memory of an executor, in Spark's words.
    pub executor_memory: Option<String>,
    /// Any settings of Spark.
    pub conf: Vec<(String, String)>,
    /// The Python of driver and executors.
    pub python: Option<String>,
    /// Where Spark is installed.
    pub home: Option<String>,
}

/// Settings that Paceline makes itself, because runs rely on them.
const OURS: &[(&str, &str)] = &[
    ("spark.master", "master"),
    ("spark.executor.cores", "executor_cores"),
    ("spark.executor.memory", "executor_memory"),
    ("spark.executor.instances", "nodes"),
    ("spark.cores.max", "nodes"),
];
/// The same, of those that have no key of their own.
const FIXED: &[&str] = &[
    "spark.task.cpus",
    "spark.dynamicAllocation.enabled",
    "spark.submit.deployMode",
];

impl SparkSettings {
    pub(crate) fn read(
        section: &Section<'_>,
        kind: EngineKind,
        place: &Place,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let text = |key, problems: &mut Vec<Problem>| plain_text(section, key, problems);
        let settings = Self {
            master: text("master", problems),
            executor_cores: section
                .whole("executor_cores", problems)
                .map(|cores| u32::try_from(cores).expect("the table of keys bounds it")),
            executor_memory: text("executor_memory", problems),
            conf: section
                .entry("conf")
                .map_or_else(Vec::new, |entry| read_conf(entry, problems)),
            python: text("python", problems),
            home: text("spark_home", problems),
        };
        if kind == EngineKind::Spark
            && let Some(master) = settings
                .master
                .as_ref()
                .filter(|it| it.starts_with("local"))
        {
            let place = section.entry("master").map_or(place, |it| &it.node.place);
            problems.push(
                Problem::new(place, format!("master \"{master}\" has no executors"))
                    .hint("engine \"local\" runs on this machine without Spark"),
            );
        }
        settings
    }
}

fn read_conf(entry: &Entry, problems: &mut Vec<Problem>) -> Vec<(String, String)> {
    let mut conf = Vec::new();
    for setting in table(&entry.node, "`conf`", problems) {
        let key = setting.key.as_str();
        if key == "spark" && matches!(setting.node.value, Value::Table(_)) {
            problems.push(unquoted(setting));
            continue;
        }
        if let Some((_, own)) = OURS.iter().find(|(name, _)| *name == key) {
            let problem = Problem::new(&setting.place, format!("Paceline sets `{key}` itself"));
            problems.push(problem.hint(format!("`{own}` says what it is to be")));
            continue;
        }
        if FIXED.contains(&key) {
            let problem = Problem::new(&setting.place, format!("Paceline sets `{key}` itself"));
            problems.push(problem.hint("leave it out"));
            continue;
        }
        if !is_spark_key(key) {
            problems.push(
                Problem::new(&setting.place, format!("`{key}` is no setting of Spark"))
                    .hint("they begin with `spark.`"),
            );
            continue;
        }
        let value = match &setting.node.value {
            Value::Text(text) => text.clone(),
            Value::Integer(i) => i.to_string(),
            Value::Number(x) => x.to_string(),
            Value::Switch(b) => b.to_string(),
            _ => {
                wrong::<()>(setting, "text, a number or true or false", problems);
                continue;
            }
        };
        conf.push((key.to_owned(), value));
    }
    conf
}

/// True if engine `spark` gives a run what a level of this factor says.
pub(crate) fn realises(factor: &BuiltInFactor, job: JobKind) -> bool {
    // A `spark-submit` job has executors of its own.
    job != JobKind::SparkSubmit && matches!(factor.name, "executors" | "executor_cores")
}

/// Refuses what engine `spark` cannot make true of a run.
pub(crate) fn check(job: &ReadJob, names: &Names<'_>, place: &Place, problems: &mut Vec<Problem>) {
    if job.kind == Some(JobKind::SparkSubmit) {
        problems.push(
            Problem::new(
                place,
                "a `spark-submit` job is submitted from this machine, not by an executor",
            )
            .hint("leave out [engine]; [job] master names the cluster"),
        );
        return;
    }
    let varied = names.factors.iter();
    let varied = varied.map(|(place, factor)| (place, factor.name.as_str()));
    let fixed = names
        .fixed
        .iter()
        .map(|(place, name, _)| (place, name.as_str()));
    let all: Vec<(&Place, &str)> = varied.chain(fixed).collect();
    for (place, name) in &all {
        match *name {
            "executor_memory" => problems.push(
                Problem::new(
                    place,
                    "engine \"spark\" does not act on `executor_memory`: commands run beside \
                     the executor's Java",
                )
                .hint(
                    "`memory` limits what a run may use; executor_memory under [engine] sets \
                       what Spark reserves",
                ),
            ),
            "executors" if all.iter().any(|(_, other)| *other == "nodes") => problems.push(
                Problem::new(place, "`nodes` and `executors` both say how many there are").hint(
                    "`nodes`: executors on as many machines; `executors`: wherever Spark puts \
                     them",
                ),
            ),
            _ => {}
        }
    }
}
