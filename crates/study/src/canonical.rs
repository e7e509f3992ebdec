//! One text per meaning, and its fingerprint.

use crate::design::DesignKind;
use crate::engine::EngineSettings;
use crate::factor::{Factor, FactorType};
use crate::job::{Job, Program};
use crate::policy::{Noise, Policy};
use crate::ray_engine::RaySettings;
use crate::response::ResponseSource;
use crate::spark_engine::SparkSettings;
use crate::study::Study;
use crate::template::is_name;
use crate::words::{ALPHAS, Word as _};
use paceline_design::{Alpha, Blocks, FractionBy, Kind, Scale};
use paceline_model::Level;
use paceline_model::quantity::format_duration;
use sha2::{Digest, Sha256};
use std::fmt;
use std::fmt::Write as _;

/// The SHA-256 of what a study means, in hexadecimal.
///
/// Comments, white space, the order of keys and spelled-out defaults do not
/// change it; everything else does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The 64 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Study {
    /// The study as TOML that reads back as an equal study. Defaults are
    /// spelled out, so that a later version with other defaults reads the same.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for (_, section) in self.sections() {
            if !section.is_empty() {
                text += &section;
                text.push('\n');
            }
        }
        text
    }

    /// Tells whether two files mean the same.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        // The prefix changes when the canonical form does.
        let digest = Sha256::digest(format!("paceline study 1\n{}", self.to_toml()));
        Fingerprint(digest.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a string succeeds");
            text
        }))
    }

    /// The sections in which the two studies differ, as the user names them.
    #[must_use]
    pub fn changed_sections(&self, other: &Self) -> Vec<&'static str> {
        self.sections()
            .into_iter()
            .zip(other.sections())
            .filter(|(own, others)| own.1 != others.1)
            .map(|(own, _)| own.0)
            .collect()
    }

    fn sections(&self) -> [(&'static str, String); 8] {
        [
            ("name", self.name_text()),
            ("[job]", self.job_text()),
            ("[fixed]", self.fixed_text()),
            ("[factors]", self.factors_text()),
            ("[design]", self.design_text()),
            ("[responses]", self.responses_text()),
            ("[policy]", policy_text(&self.policy)),
            ("[engine]", engine_text(&self.engine)),
        ]
    }

    fn name_text(&self) -> String {
        self.name
            .as_ref()
            .map_or_else(String::new, |name| format!("name = {}\n", quoted(name)))
    }

    fn job_text(&self) -> String {
        let mut table = Table::new("job");
        table.text("kind", self.job.kind().word());
        match &self.job {
            Job::Command(job) => {
                match &job.program {
                    Program::Arguments(arguments) => {
                        table.texts("command", arguments.iter().map(ToString::to_string));
                    }
                    Program::Shell(text) => table.text("command", &text.to_string()),
                }
                if let Some(cwd) = &job.cwd {
                    table.text("cwd", &cwd.to_string());
                }
                table.raw("reads_env", job.reads_env);
                if !job.env.is_empty() {
                    let pairs = job.env.iter().map(|(name, template)| {
                        format!("{name} = {}", quoted(&template.to_string()))
                    });
                    table.raw("env", inline(pairs));
                }
            }
            Job::Train(train) => {
                for (name, level) in &train.options {
                    table.raw(&key_text(name), level_text(level));
                }
            }
            Job::SparkSubmit(job) => {
                table.text("application", &job.application.to_string());
                let one = [
                    ("submit", &job.submit),
                    ("master", &job.master),
                    ("class", &job.class),
                    ("cwd", &job.cwd),
                ];
                for (key, template) in one {
                    if let Some(template) = template {
                        table.text(key, &template.to_string());
                    }
                }
                for (key, templates) in [("args", &job.args), ("extra", &job.extra)] {
                    if !templates.is_empty() {
                        table.texts(key, templates.iter().map(ToString::to_string));
                    }
                }
                table.raw("reads_env", job.reads_env);
                for (name, level) in &job.settings {
                    table.raw(&key_text(name), level_text(level));
                }
                if !job.env.is_empty() {
                    let pairs = job.env.iter().map(|(name, template)| {
                        format!("{name} = {}", quoted(&template.to_string()))
                    });
                    table.raw("env", inline(pairs));
                }
            }
        }
        table.0
    }

    fn fixed_text(&self) -> String {
        if self.fixed.is_empty() {
            return String::new();
        }
        let mut table = Table::new("fixed");
        for (name, level) in &self.fixed {
            table.raw(&key_text(name), level_text(level));
        }
        table.0
    }

    fn factors_text(&self) -> String {
        let mut table = Table::new("factors");
        for factor in &self.factors {
            table.raw(&key_text(&factor.name), factor_text(factor));
        }
        table.0
    }

    fn responses_text(&self) -> String {
        if self.responses.is_empty() {
            return String::new();
        }
        let mut table = Table::new("responses");
        for response in &self.responses {
            let unit = response
                .unit
                .iter()
                .map(|unit| format!("unit = {}", quoted(unit)));
            let value = match &response.source {
                ResponseSource::Expression(expression) if response.unit.is_none() => {
                    quoted(&expression.to_string())
                }
                ResponseSource::Expression(expression) => inline(
                    [format!("expression = {}", quoted(&expression.to_string()))]
                        .into_iter()
                        .chain(unit),
                ),
                ResponseSource::Log(pattern, take) => inline(
                    [
                        format!("regex = {}", quoted(pattern.as_str())),
                        format!("take = {}", quoted(take.word())),
                    ]
                    .into_iter()
                    .chain(unit),
                ),
                ResponseSource::Metric(name, take) => inline(
                    [
                        format!("metric = {}", quoted(name)),
                        format!("take = {}", quoted(take.word())),
                    ]
                    .into_iter()
                    .chain(unit),
                ),
            };
            table.raw(&response.name, value);
        }
        table.0
    }

    fn design_text(&self) -> String {
        let design = &self.design;
        let names: Vec<&str> = self.factors.iter().map(|f| f.name.as_str()).collect();
        let mut table = Table::new("design");
        table.text("kind", DesignKind::of(&design.kind).word());
        match &design.kind {
            Kind::Full | Kind::TwoLevel | Kind::BoxBehnken => {}
            Kind::Fractional(FractionBy::Generators(generators)) => {
                table.texts("generators", generators.iter().map(|g| g.text(&names)));
            }
            Kind::Fractional(FractionBy::Resolution(resolution)) => {
                table.raw("resolution", resolution);
            }
            Kind::Fractional(FractionBy::Runs(runs)) => table.raw("runs", runs),
            Kind::Fractional(FractionBy::RunsAndResolution { runs, resolution }) => {
                table.raw("runs", runs);
                table.raw("resolution", resolution);
            }
            Kind::OneAtATime { control } => {
                let pairs = control.iter();
                table.raw(
                    "control",
                    inline(pairs.map(|(name, level)| {
                        format!("{} = {}", key_text(name), level_text(level))
                    })),
                );
            }
            Kind::PlackettBurman { runs } => {
                if let Some(runs) = runs {
                    table.raw("runs", runs);
                }
            }
            Kind::CentralComposite(composite) => {
                table.text("shape", composite.shape.word());
                match composite.alpha {
                    Alpha::Value(value) => table.raw("alpha", format!("{value:?}")),
                    named => {
                        let word = ALPHAS.iter().find(|(_, alpha)| *alpha == named);
                        table.text("alpha", word.expect("every other alpha has a word").0);
                    }
                }
                table.text("cube", composite.cube.word());
            }
            Kind::LatinHypercube { runs } => table.raw("runs", runs),
            Kind::Optimal(optimal) => {
                table.raw("runs", optimal.runs);
                table.text("model", &optimal.terms.text(&names));
                if let Some(budget) = optimal.budget {
                    table.raw("budget", format!("{budget:?}"));
                }
            }
        }
        table.raw("replicates", design.replicates);
        table.raw("seed", design.seed);
        table.text("order", design.order.word());
        if let Some(points) = design.centre_points {
            table.raw("center_points", points);
        }
        if design.blocks != Blocks::NONE {
            table.raw("blocks", design.blocks.count);
            table.text("block_by", design.blocks.by.word());
        }
        if !design.forbid.is_empty() {
            table.texts("forbid", design.forbid.iter().map(ToString::to_string));
        }
        if let Some(cost) = &design.cost_per_run {
            table.text("cost_per_run", &cost.to_string());
        }
        table.raw("warmup", design.warmup);
        table.0
    }
}

fn policy_text(policy: &Policy) -> String {
    let mut table = Table::new("policy");
    table.raw("keep_going", policy.keep_going);
    table.raw("retries", policy.retries);
    if let Some(timeout) = policy.timeout {
        table.text("timeout", &format_duration(timeout));
    }
    table.text("noise", policy.noise.word());
    if policy.noise == Noise::Repeat {
        table.raw("noise_repeats", policy.noise_repeats);
    }
    if let Some(cpus) = policy.cpus {
        table.raw("cpus", cpus);
    }
    if let Some(bytes) = policy.memory_bytes {
        table.raw("memory", bytes);
    }
    table.0
}

fn factor_text(factor: &Factor) -> String {
    let mut pairs = if factor.is_range {
        vec![
            format!("low = {}", level_text(&factor.levels[0])),
            format!("high = {}", level_text(&factor.levels[1])),
        ]
    } else {
        let levels: Vec<_> = factor.levels.iter().map(level_text).collect();
        vec![format!("levels = [{}]", levels.join(", "))]
    };
    if factor.scale == Scale::Log {
        pairs.push(format!("scale = {}", quoted(factor.scale.word())));
    }
    if factor.kind == FactorType::Categorical {
        pairs.push(format!("type = {}", quoted(factor.kind.word())));
    }
    inline(pairs)
}

/// What is as usual is left out, so that studies on this machine stay the same
/// whatever engines are to come.
fn engine_text(engine: &EngineSettings) -> String {
    let mut table = Table::new("engine");
    table.text("kind", engine.kind.word());
    let usual = EngineSettings::local();
    let lists = [("hosts", &engine.hosts), ("extra", &engine.extra)];
    for (key, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        table.texts(key, list.iter().cloned());
    }
    if let Some(nodes) = engine.nodes {
        table.raw("nodes", nodes);
    }
    if engine.tasks_per_node != usual.tasks_per_node {
        table.raw("tasks_per_node", engine.tasks_per_node);
    }
    if engine.binary != usual.binary {
        table.text("binary", engine.binary.word());
    }
    if engine.data != usual.data {
        table.text("data", engine.data.word());
    }
    if engine.silence != usual.silence {
        table.text("silence", &format_duration(engine.silence));
    }
    let texts = [
        ("ssh_config", &engine.ssh_config),
        ("address", &engine.address),
        ("partition", &engine.partition),
        ("account", &engine.account),
        ("qos", &engine.qos),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            table.text(key, text);
        }
    }
    if let Some(time) = engine.time {
        table.text("time", &format_duration(time));
    }
    if engine.pilot {
        table.raw("pilot", true);
    }
    if engine.wait != usual.wait {
        table.text("wait", &format_duration(engine.wait));
    }
    spark_text(&mut table, &engine.spark);
    // `python` is one key, which both engines read.
    ray_text(&mut table, &engine.ray);
    table.0
}

fn spark_text(table: &mut Table, spark: &SparkSettings) {
    let texts = [
        ("master", &spark.master),
        ("executor_memory", &spark.executor_memory),
        ("python", &spark.python),
        ("spark_home", &spark.home),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            table.text(key, text);
        }
    }
    if let Some(cores) = spark.executor_cores {
        table.raw("executor_cores", cores);
    }
    if !spark.conf.is_empty() {
        let pairs = spark.conf.iter();
        let pairs = pairs.map(|(key, value)| format!("{} = {}", quoted(key), quoted(value)));
        table.raw("conf", inline(pairs));
    }
}

fn ray_text(table: &mut Table, ray: &RaySettings) {
    let texts = [
        ("dashboard", &ray.dashboard),
        ("token_file", &ray.token_file),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            table.text(key, text);
        }
    }
    if !ray.bundle.is_empty() {
        let pairs = ray.bundle.iter();
        let pairs = pairs.map(|(key, amount)| format!("{} = {amount:?}", quoted(key)));
        table.raw("bundle", inline(pairs));
    }
}

/// A table of TOML in the making.
struct Table(String);

impl Table {
    fn new(name: &str) -> Self {
        Self(format!("[{name}]\n"))
    }

    fn raw(&mut self, key: &str, value: impl fmt::Display) {
        writeln!(self.0, "{key} = {value}").expect("writing to a string succeeds");
    }

    fn text(&mut self, key: &str, value: &str) {
        self.raw(key, quoted(value));
    }

    fn texts(&mut self, key: &str, values: impl Iterator<Item = String>) {
        let list: Vec<_> = values.map(|value| quoted(&value)).collect();
        self.raw(key, format!("[{}]", list.join(", ")));
    }
}

fn inline(pairs: impl IntoIterator<Item = String>) -> String {
    let list: Vec<_> = pairs.into_iter().collect();
    format!("{{ {} }}", list.join(", "))
}

fn level_text(level: &Level) -> String {
    match level {
        Level::Integer(i) => i.to_string(),
        // `{:?}` keeps the point or exponent that makes it a float in TOML.
        Level::Number(x) => format!("{x:?}"),
        Level::Switch(b) => b.to_string(),
        Level::Word(word) => quoted(word),
    }
}

/// A key of TOML: options may be any keys, and settings of Spark have dots.
fn key_text(name: &str) -> String {
    match is_name(name) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            c if c.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(c)).expect("writing to a string succeeds");
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
