//! The checked study.

use crate::builtin::{BuiltInFactor, FactorOwner, USUAL_METRICS};
use crate::design::DesignSettings;
use crate::design_check;
use crate::document::{Entry, Value};
use crate::engine::{EngineKind, EngineSettings, too_many};
use crate::factor::{Factor, check_name};
use crate::job::{self, Job, JobKind, ReadJob};
use crate::keys::{SECTIONS, TOP};
use crate::names::Names;
use crate::policy::Policy;
use crate::problem::{Place, Problem};
use crate::request::RequestError;
use crate::response::{ReadResponse, Response, ResponseSource, evaluation_order};
use crate::section::{Section, level, table, unknown_key};
use crate::spark_engine;
use crate::usage::{check_placeholders, check_spark, check_uses, variable};
use crate::words::Word as _;
use paceline_model::spelling::{nearest, suggestion};
use paceline_model::{Level, RunValue};
use std::collections::BTreeMap;

/// What this build of Paceline can do: a study may ask for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The kinds of job that can be run.
    pub jobs: &'static [JobKind],
    /// The engines that can be used.
    pub engines: &'static [EngineKind],
    /// The options of the built-in trainer; unchecked if absent.
    pub trainer_options: Option<&'static [&'static str]>,
}

impl Capabilities {
    /// Everything the language can express.
    pub const ALL: Self = Self {
        jobs: JobKind::ALL,
        engines: EngineKind::ALL,
        trainer_options: None,
    };

    /// Commands and the built-in trainer on this machine; `options` are the
    /// trainer's.
    pub const fn local(options: &'static [&'static str]) -> Self {
        Self {
            jobs: JobKind::ALL,
            engines: &[EngineKind::Local],
            trainer_options: Some(options),
        }
    }

    /// Commands on this machine.
    pub const LOCAL_COMMANDS: Self = Self {
        jobs: &[JobKind::Command],
        engines: &[EngineKind::Local],
        trainer_options: None,
    };
}

/// A study that makes sense. Only [`RawStudy::check`](crate::RawStudy::check)
/// makes one.
#[derive(Debug, Clone)]
pub struct Study {
    pub(crate) name: Option<String>,
    pub(crate) job: Job,
    pub(crate) fixed: Vec<(String, Level)>,
    pub(crate) factors: Vec<Factor>,
    pub(crate) design: DesignSettings,
    pub(crate) responses: Vec<Response>,
    /// Positions of `responses`, each after those it uses.
    pub(crate) order: Vec<usize>,
    pub(crate) policy: Policy,
    pub(crate) engine: EngineSettings,
    notices: Vec<Problem>,
}

impl Study {
    /// The question, in the user's words.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What one run executes.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Constants, in the order typed.
    #[must_use]
    pub fn fixed(&self) -> &[(String, Level)] {
        &self.fixed
    }

    /// What varies, in the order typed; at least one.
    #[must_use]
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }

    /// Which combinations are run.
    #[must_use]
    pub fn design(&self) -> &DesignSettings {
        &self.design
    }

    /// What is measured, in the order typed.
    #[must_use]
    pub fn responses(&self) -> &[Response] {
        &self.responses
    }

    /// What happens when things go wrong.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Where runs execute.
    #[must_use]
    pub fn engine(&self) -> &EngineSettings {
        &self.engine
    }

    /// What the user should know although nothing is wrong.
    #[must_use]
    pub fn notices(&self) -> &[Problem] {
        &self.notices
    }

    pub(crate) fn check(
        entries: &[Entry],
        capabilities: &Capabilities,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut notices = Vec::new();
        let file = File { entries };
        let name = file.name(&mut problems);
        let names = file.names(&mut problems);
        let job = job::read(file.section("job"), &mut problems);
        let design =
            design_check::read(file.section("design"), &names, &mut problems, &mut notices);
        let (responses, order) = file.responses(&names, &mut problems, &mut notices);
        let policy = file.policy(&names, &job, &mut problems);
        let (engine, engine_place) = EngineSettings::read(file.section("engine"), &mut problems);
        let kind = engine.as_ref().map(|engine| engine.kind);
        capabilities.check(&job, kind, &engine_place, &names, &mut problems);
        check_placeholders(&job, &names, &mut problems);
        check_spark(&job, kind, &names, &mut problems);
        check_uses(&job, kind, &names, &mut problems, &mut notices);
        if let Some(engine) = &engine {
            check_nodes(engine, &job, &names, &mut problems);
            if engine.kind == EngineKind::Spark {
                spark_engine::check(&job, &names, &engine_place, &mut problems);
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let lost = "a part that cannot be read leaves a problem";
        let study = Self {
            name,
            job: job.job.expect(lost),
            fixed: names
                .fixed
                .into_iter()
                .map(|(_, name, level)| (name, level))
                .collect(),
            factors: names
                .factors
                .into_iter()
                .map(|(_, factor)| factor)
                .collect(),
            design: design.expect(lost),
            responses,
            order,
            policy,
            engine: engine.expect(lost),
            notices,
        };
        match study.design_request() {
            Ok(_) => Ok(study),
            Err(error) => {
                let section = file.section("design").or(file.section("factors"));
                let place = section.map_or(Place::START, |entry| entry.place.clone());
                let problem = Problem::new(&place, error.to_string());
                Err(vec![match error {
                    RequestError::Forbid(_) => {
                        problem.hint("compare one factor with one number or word at a time")
                    }
                    RequestError::ForbidsAll(_) | RequestError::Factor(_) => problem,
                }])
            }
        }
    }
}

/// Two studies are equal if they mean the same; notices do not count.
impl PartialEq for Study {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.job == other.job
            && self.fixed == other.fixed
            && self.factors == other.factors
            && self.design == other.design
            && self.responses == other.responses
            && self.policy == other.policy
            && self.engine == other.engine
    }
}

/// Names that are columns of the study's table or variables of every run.
const RESERVED: &[&str] = &[
    "run_id",
    "run_dir",
    "checkpoint_dir",
    "events",
    "trial",
    "replicate",
    "block",
    "order",
    "outcome",
];

/// The top of the document.
struct File<'a> {
    entries: &'a [Entry],
}

impl<'a> File<'a> {
    fn section(&self, name: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|entry| entry.key == name)
    }

    fn name(&self, problems: &mut Vec<Problem>) -> Option<String> {
        let (section, others) = Section::open_with_others(self.entries, &TOP);
        let known = TOP.names().chain(SECTIONS.iter().map(|(name, _)| *name));
        for entry in others {
            if !SECTIONS.iter().any(|(name, _)| *name == entry.key) {
                problems.push(unknown_key(entry, TOP.title, known.clone()));
            }
        }
        let name = section.text("name", problems)?;
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            let place = &section.entry("name")?.node.place;
            problems.push(Problem::new(place, "`name` must be one line of text"));
        }
        Some(name.to_owned())
    }

    fn table(&self, name: &str, problems: &mut Vec<Problem>) -> &'a [Entry] {
        self.section(name).map_or(&[][..], |entry| {
            table(&entry.node, &format!("[{name}]"), problems)
        })
    }

    fn names(&self, problems: &mut Vec<Problem>) -> Names<'a> {
        let factor_entries = self.table("factors", problems);
        let fixed_entries = self.table("fixed", problems);
        let keys = |entries: &'a [Entry]| entries.iter().map(|entry| entry.key.as_str()).collect();
        let section = self.section("factors");
        let is_table = section.is_none_or(|entry| matches!(entry.node.value, Value::Table(_)));
        if factor_entries.is_empty() && is_table {
            let place = section.map_or(Place::START, |entry| entry.place.clone());
            problems.push(
                Problem::new(&place, "the study has no factors")
                    .hint("add [factors] with batch_size = [64, 128]"),
            );
        }
        let factors = factor_entries
            .iter()
            .filter_map(|entry| Some((entry.place.clone(), Factor::check(entry, problems)?)))
            .collect();
        let fixed = fixed_entries
            .iter()
            .filter_map(|entry| {
                let level = constant(entry, problems)?;
                Some((entry.place.clone(), entry.key.clone(), level))
            })
            .collect();
        check_clashes(factor_entries, fixed_entries, problems);
        Names {
            factor_names: keys(factor_entries),
            fixed_names: keys(fixed_entries),
            factors,
            fixed,
        }
    }

    fn responses(
        &self,
        names: &Names<'_>,
        problems: &mut Vec<Problem>,
        notices: &mut Vec<Problem>,
    ) -> (Vec<Response>, Vec<usize>) {
        let entries = self.table("responses", problems);
        for entry in entries {
            if names.is_known(&entry.key) {
                problems.push(Problem::new(
                    &entry.place,
                    format!(
                        "`{}` is a factor or a constant and cannot name a response",
                        entry.key
                    ),
                ));
            } else if RESERVED.contains(&entry.key.as_str()) {
                problems.push(reserved(entry));
            }
        }
        let read: Vec<ReadResponse> = entries
            .iter()
            .filter_map(|entry| Response::read(entry, problems))
            .collect();
        let typed: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        for response in &read {
            check_inputs(response, &typed, names, problems, notices);
        }
        let responses: Vec<Response> = read.iter().map(|read| read.response.clone()).collect();
        match evaluation_order(&responses) {
            Ok(order) => (responses, order),
            Err(circle) => {
                let mut path: Vec<_> = circle.iter().map(|&i| responses[i].name.as_str()).collect();
                path.push(path[0]);
                problems.push(
                    Problem::new(
                        &read[circle[0]].place,
                        format!("responses use each other in a circle: {}", path.join(" → ")),
                    )
                    .hint("one of them must be measured rather than calculated"),
                );
                (responses, Vec::new())
            }
        }
    }

    fn policy(&self, names: &Names<'_>, job: &ReadJob, problems: &mut Vec<Problem>) -> Policy {
        let section = self.section("policy");
        let mut policy = Policy::check(section.map(|entry| &entry.node), problems);
        if let Some((timeout, place)) = &job.timeout {
            if policy.timeout.is_some() {
                problems.push(
                    Problem::new(place, "`timeout` stands under [job] and under [policy]")
                        .hint("keep one of them"),
                );
            }
            policy.timeout = Some(*timeout);
        }
        let typed = section.map_or(&[][..], |entry| match &entry.node.value {
            Value::Table(entries) => entries,
            _ => &[],
        });
        for entry in typed {
            if matches!(entry.key.as_str(), "cpus" | "memory") && names.is_known(&entry.key) {
                problems.push(
                    Problem::new(
                        &entry.place,
                        format!(
                            "`{}` stands under [policy] and is a factor or a constant",
                            entry.key
                        ),
                    )
                    .hint("remove it from [policy]; the level decides"),
                );
            }
        }
        policy
    }
}

impl Capabilities {
    /// Reports what the study asks for and this build cannot do.
    fn check(
        &self,
        job: &ReadJob,
        engine: Option<EngineKind>,
        engine_place: &Place,
        names: &Names<'_>,
        problems: &mut Vec<Problem>,
    ) {
        let list = |words: Vec<&str>| format!("available: {}", words.join(", "));
        if let Some(kind) = job.kind
            && !self.jobs.contains(&kind)
        {
            problems.push(
                Problem::new(
                    &job.kind_place,
                    format!("kind \"{}\" is not available in this version", kind.word()),
                )
                .hint(list(self.jobs.iter().map(|kind| kind.word()).collect())),
            );
        }
        if let Some(kind) = engine
            && !self.engines.contains(&kind)
        {
            problems.push(
                Problem::new(
                    engine_place,
                    format!(
                        "engine \"{}\" is not available in this version",
                        kind.word()
                    ),
                )
                .hint(list(self.engines.iter().map(|kind| kind.word()).collect())),
            );
        }
        let (Some(options), Some(Job::Train(train))) = (self.trainer_options, &job.job) else {
            return;
        };
        let typed = train
            .options
            .iter()
            .map(|(name, _)| name.as_str())
            .zip(&job.option_places);
        let varied = names
            .factors
            .iter()
            .map(|(place, factor)| (factor.name.as_str(), place));
        for (name, place) in typed.chain(varied) {
            if !options.contains(&name) && BuiltInFactor::from_name(name).is_none() {
                problems.push(
                    Problem::new(place, format!("the trainer has no option `{name}`"))
                        .maybe_hint(suggestion(name, options.iter().copied())),
                );
            }
        }
    }
}

/// Refuses levels that the engine cannot realise: a factor that does nothing
/// would be analysed as if it had been varied.
fn check_nodes(
    engine: &EngineSettings,
    job: &ReadJob,
    names: &Names<'_>,
    problems: &mut Vec<Problem>,
) {
    let factors = names.factors.iter();
    let factors = factors.map(|(place, factor)| (place, &*factor.name, factor.levels.as_slice()));
    let fixed = names.fixed.iter();
    let fixed =
        fixed.map(|(place, name, level)| (place, name.as_str(), std::slice::from_ref(level)));
    for (place, name, levels) in factors.chain(fixed) {
        let realised = match BuiltInFactor::from_name(name) {
            Some(built_in) if built_in.name == "tasks_per_node" => false,
            // On engine `spark` they are nodes.
            Some(built_in) if built_in.name == "executors" && engine.kind == EngineKind::Spark => {
                true
            }
            Some(built_in) if built_in.owner == FactorOwner::Cluster => {
                built_in.is_realised_by(engine.kind)
            }
            _ => continue,
        };
        // A command may use the name as it likes.
        if !realised && job.kind == Some(JobKind::Train) {
            problems.push(
                Problem::new(
                    place,
                    format!(
                        "engine \"{}\" does not act on `{name}` of a training",
                        engine.kind.word()
                    ),
                )
                .hint("it would vary in name only; leave it out or choose another engine"),
            );
            continue;
        }
        let most = match engine.most_nodes() {
            Some(most) if realised && name == "nodes" => most,
            _ => continue,
        };
        let asked = levels.iter().filter_map(|level| match level {
            Level::Integer(i) => u32::try_from(*i).ok(),
            _ => None,
        });
        if let Some(nodes) = asked.max().filter(|nodes| *nodes > most) {
            problems.push(too_many(place, nodes, engine.kind, most));
        }
        if job.kind == Some(JobKind::Train) && levels.iter().any(|l| *l != Level::Integer(1)) {
            problems.push(
                Problem::new(place, "a training of a study takes place on one node")
                    .hint("`paceline train --spawn hosts` trains on several"),
            );
        }
    }
}

fn constant(entry: &Entry, problems: &mut Vec<Problem>) -> Option<Level> {
    check_name(entry, "constant", problems);
    if let Value::List(_) = entry.node.value {
        problems.push(
            Problem::new(&entry.place, format!("constant `{}` is a list", entry.key))
                .hint("put what varies under [factors]"),
        );
        return None;
    }
    let level = level(&entry.node, &format!("constant `{}`", entry.key), problems)?;
    if let Some(expected) =
        BuiltInFactor::from_name(&entry.key).and_then(|built_in| built_in.rule.broken_by(&level))
    {
        problems.push(Problem::new(
            &entry.node.place,
            format!("`{}` takes {expected}, found `{level}`", entry.key),
        ));
    }
    Some(level)
}

fn reserved(entry: &Entry) -> Problem {
    Problem::new(
        &entry.place,
        format!("`{}` is a column or variable of every run", entry.key),
    )
    .hint("choose another name")
}

/// Reports names that would share a column or an environment variable.
fn check_clashes(factors: &[Entry], fixed: &[Entry], problems: &mut Vec<Problem>) {
    let mut seen: BTreeMap<String, &Entry> = BTreeMap::new();
    for entry in factors.iter().chain(fixed) {
        if RESERVED.contains(&entry.key.as_str()) {
            problems.push(reserved(entry));
        } else if RunValue::from_name(&entry.key).is_some() {
            problems.push(
                Problem::new(
                    &entry.place,
                    format!("`{}` is measured for every run", entry.key),
                )
                .hint("choose another name"),
            );
        }
        if let Some(other) = seen.insert(entry.key.to_ascii_uppercase(), entry) {
            problems.push(if other.key == entry.key {
                Problem::new(
                    &entry.place,
                    format!("`{}` is a factor and a constant", entry.key),
                )
                .hint("keep it under [factors] or under [fixed]")
            } else {
                Problem::new(
                    &entry.place,
                    format!("`{}` and `{}` differ only in case", other.key, entry.key),
                )
                .hint(format!(
                    "both would be exported as {}",
                    variable(&entry.key)
                ))
            });
        }
    }
}

/// Reports inputs that cannot be numbers, and notices those that look mistyped.
fn check_inputs(
    read: &ReadResponse,
    responses: &[&str],
    names: &Names<'_>,
    problems: &mut Vec<Problem>,
    notices: &mut Vec<Problem>,
) {
    let ResponseSource::Expression(expression) = &read.response.source else {
        return;
    };
    let own = read.response.name.as_str();
    let title = format!("response `{own}`");
    for (name, span) in expression.names() {
        if name == own || responses.contains(&name) || RunValue::from_name(name).is_some() {
            continue;
        }
        if names.is_known(name) {
            names.check_number(name, &read.place, &title, (&read.text, &span), problems);
            continue;
        }
        if USUAL_METRICS.contains(&name) {
            continue;
        }
        let known = RunValue::ALL
            .iter()
            .map(|value| value.name())
            .chain(responses.iter().copied().filter(|other| *other != own))
            .chain(names.all());
        if let Some(near) = nearest(name, known) {
            notices.push(
                Problem::new(
                    &read.place,
                    format!("{title}: `{name}` is taken to be a metric that the run reports"),
                )
                .excerpt(&read.text, &span)
                .hint(format!("did you mean `{near}`?")),
            );
        }
    }
}
