//! `[engine]`: where runs execute.

use crate::document::Entry;
use crate::keys::ENGINE;
use crate::problem::{Place, Problem};
use crate::ray_engine::RaySettings;
use crate::section::Section;
use crate::spark_engine::SparkSettings;
use crate::words::words;
use std::collections::BTreeSet;
use std::time::Duration;

words! {
    /// Where runs execute.
    pub enum EngineKind {
        Local = "local", "Processes on this machine.";
        Ssh = "ssh", "Hosts that OpenSSH reaches.";
        Spark = "spark", "A Spark cluster.";
        Slurm = "slurm", "A Slurm cluster.";
        Ray = "ray", "A Ray cluster.";
    }
}

words! {
    /// How a file reaches the nodes of a run.
    pub enum Supply {
        Ship = "ship", "It is copied there, once per content.";
        Shared = "shared", "It is there already, at the same path.";
    }
}

/// Where runs execute, and with what.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineSettings {
    /// Which engine.
    pub kind: EngineKind,
    /// The hosts of `ssh`, as OpenSSH and its configuration name them.
    pub hosts: Vec<String>,
    /// Nodes of a run for which neither a factor nor a constant says how many.
    pub nodes: Option<u32>,
    /// Commands of a run on each of its nodes.
    pub tasks_per_node: u32,
    /// How Paceline's own program reaches the nodes.
    pub binary: Supply,
    /// How the files beside the study reach the nodes.
    pub data: Supply,
    /// The configuration file of OpenSSH; the user's own without.
    pub ssh_config: Option<String>,
    /// Where nodes reach this machine; found out without.
    pub address: Option<String>,
    /// How long nodes and this machine may not hear of each other.
    pub silence: Duration,
    /// Slurm's partition.
    pub partition: Option<String>,
    /// Slurm's account.
    pub account: Option<String>,
    /// Slurm's quality of service.
    pub qos: Option<String>,
    /// The time limit of an allocation.
    pub time: Option<Duration>,
    /// Further options of `sbatch`.
    pub extra: Vec<String>,
    /// Whether all runs share one allocation.
    pub pilot: bool,
    /// How long a run may wait for the nodes of `spark` and `ray`.
    pub wait: Duration,
    /// The application of `spark`.
    pub spark: SparkSettings,
    /// The cluster of `ray`.
    pub ray: RaySettings,
}

impl EngineSettings {
    /// How long silence is borne by default. A dead controller must leave no
    /// process behind after 30 s.
    pub const SILENCE: Duration = Duration::from_secs(20);

    /// How long a run waits for executors by default.
    pub const WAIT: Duration = Duration::from_secs(300);

    /// This machine.
    #[must_use]
    pub fn local() -> Self {
        Self {
            kind: EngineKind::Local,
            hosts: Vec::new(),
            nodes: None,
            tasks_per_node: 1,
            binary: Supply::Ship,
            data: Supply::Shared,
            ssh_config: None,
            address: None,
            silence: Self::SILENCE,
            partition: None,
            account: None,
            qos: None,
            time: None,
            extra: Vec::new(),
            pilot: false,
            wait: Self::WAIT,
            spark: SparkSettings::default(),
            ray: RaySettings::default(),
        }
    }

    /// Nodes of a run for which nothing says how many.
    #[must_use]
    pub fn usual_nodes(&self) -> u32 {
        match (self.nodes, self.kind) {
            (Some(nodes), _) => nodes,
            (None, EngineKind::Ssh) => u32::try_from(self.hosts.len()).unwrap_or(u32::MAX),
            (None, _) => 1,
        }
    }

    /// The most nodes that a run can have, if that is known before it is asked for.
    #[must_use]
    pub fn most_nodes(&self) -> Option<u32> {
        match self.kind {
            EngineKind::Local => Some(1),
            EngineKind::Ssh => Some(u32::try_from(self.hosts.len()).unwrap_or(u32::MAX)),
            EngineKind::Spark | EngineKind::Slurm | EngineKind::Ray => None,
        }
    }

    /// Reads `[engine]`; without one, runs execute here. The second value is
    /// where its kind stands.
    pub(crate) fn read(
        entry: Option<&Entry>,
        problems: &mut Vec<Problem>,
    ) -> (Option<Self>, Place) {
        let section = Section::open(entry.map(|entry| &entry.node), &ENGINE, problems);
        let (kind, place) = match section.entry("kind") {
            Some(kind) => (section.one_of("kind", problems), kind.node.place.clone()),
            None => (Some(EngineKind::Local), Place::START),
        };
        let Some(kind) = kind else {
            return (None, place);
        };
        for entry in section.entries() {
            check_use(entry, kind, problems);
        }
        let small = |n: u64| u32::try_from(n).expect("the table of keys bounds it");
        let text = |key, problems: &mut Vec<Problem>| plain_text(&section, key, problems);
        let usual = Self::local();
        let settings = Self {
            kind,
            hosts: hosts(&section, kind, &place, problems),
            nodes: section.whole("nodes", problems).map(small),
            tasks_per_node: section
                .whole("tasks_per_node", problems)
                .map_or(usual.tasks_per_node, small),
            binary: section.one_of("binary", problems).unwrap_or(usual.binary),
            data: section.one_of("data", problems).unwrap_or(usual.data),
            ssh_config: text("ssh_config", problems),
            address: text("address", problems),
            silence: section
                .duration("silence", problems)
                .unwrap_or(usual.silence),
            partition: text("partition", problems),
            account: text("account", problems),
            qos: text("qos", problems),
            time: section.duration("time", problems),
            extra: section
                .texts("extra", problems)
                .into_iter()
                .map(|(text, _)| text.to_owned())
                .collect(),
            pilot: section.switch("pilot", problems).unwrap_or(usual.pilot),
            wait: section.duration("wait", problems).unwrap_or(usual.wait),
            spark: SparkSettings::read(&section, kind, &place, problems),
            ray: RaySettings::read(&section, kind, &place, problems),
        };
        if kind == EngineKind::Slurm {
            check_supply(&section, &settings, problems);
        }
        if let (Some(nodes), Some(most)) = (settings.nodes, settings.most_nodes())
            && nodes > most
            && let Some(entry) = section.entry("nodes")
        {
            problems.push(too_many(&entry.node.place, nodes, kind, most));
        }
        (Some(settings), place)
    }
}

/// Slurm gives nodes before anybody can copy something to them: its jobs start from
/// what the nodes see. A copy that is asked for and not made would be found out by
/// the command, if at all.
fn check_supply(section: &Section<'_>, settings: &EngineSettings, problems: &mut Vec<Problem>) {
    for (key, supply) in [("binary", settings.binary), ("data", settings.data)] {
        if supply == Supply::Ship
            && let Some(entry) = section.entry(key)
        {
            let what =
                format!("engine \"slurm\" copies nothing to its nodes: `{key}` cannot be \"ship\"");
            problems.push(Problem::new(&entry.place, what).hint(
                "put study, data and paceline on a file system that the nodes share, or copy \
                 them by `sbcast` in the command",
            ));
        }
    }
}

/// A run is to have more nodes than there are.
pub(crate) fn too_many(place: &Place, nodes: u32, kind: EngineKind, most: u32) -> Problem {
    let problem = Problem::new(
        place,
        format!("{nodes} nodes are asked for, and there are {most}"),
    );
    match kind {
        EngineKind::Local => {
            problem.hint("the local engine has one node; [engine] names a cluster")
        }
        _ => problem.hint("`hosts` under [engine] lists them"),
    }
}

fn hosts(
    section: &Section<'_>,
    kind: EngineKind,
    place: &Place,
    problems: &mut Vec<Problem>,
) -> Vec<String> {
    let typed = section.texts("hosts", problems);
    let mut seen = BTreeSet::new();
    for (host, place) in &typed {
        if host.starts_with('-') || !is_plain(host, place, "hosts", problems) {
            if host.starts_with('-') {
                problems.push(Problem::new(place, format!("`{host}` is not a host")));
            }
        } else if !seen.insert(*host) {
            problems.push(
                Problem::new(place, format!("host `{host}` is listed twice"))
                    .hint("tasks_per_node = 2 starts two commands on each host"),
            );
        }
    }
    if kind == EngineKind::Ssh && section.entry("hosts").is_none() {
        problems.push(
            Problem::new(place, "engine \"ssh\" needs hosts")
                .hint("add hosts = [\"a\", \"b\"], as `ssh a` and `ssh b` reach them"),
        );
    } else if kind == EngineKind::Ssh && typed.is_empty() {
        problems.push(Problem::new(place, "`hosts` is empty"));
    }
    typed.into_iter().map(|(host, _)| host.to_owned()).collect()
}

/// The text of a key, if it is one that a command line takes as it is.
pub(crate) fn plain_text(
    section: &Section<'_>,
    key: &str,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    let entry = section.entry(key)?;
    let text = section.text(key, problems)?;
    is_plain(text, &entry.node.place, key, problems).then(|| text.to_owned())
}

/// A word that a command line takes as it is.
fn is_plain(text: &str, place: &Place, key: &str, problems: &mut Vec<Problem>) -> bool {
    let plain = !text.is_empty()
        && !text.contains(|c: char| c.is_control() || (c == ' ' && key == "hosts"));
    if !plain {
        problems.push(Problem::new(place, format!("`{key}` cannot be {text:?}")));
    }
    plain
}

/// Keys that only some engines read.
const ONLY: &[(&str, &[EngineKind])] = &[
    ("hosts", &[EngineKind::Ssh]),
    ("ssh_config", &[EngineKind::Ssh]),
    ("nodes", CLUSTERS),
    ("binary", CLUSTERS),
    ("data", &[EngineKind::Ssh, EngineKind::Slurm]),
    ("address", CLUSTERS),
    ("silence", CLUSTERS),
    ("partition", &[EngineKind::Slurm]),
    ("account", &[EngineKind::Slurm]),
    ("qos", &[EngineKind::Slurm]),
    ("time", &[EngineKind::Slurm]),
    ("extra", &[EngineKind::Slurm]),
    ("pilot", &[EngineKind::Slurm]),
    ("wait", &[EngineKind::Spark, EngineKind::Ray]),
    ("python", &[EngineKind::Spark, EngineKind::Ray]),
    ("master", &[EngineKind::Spark]),
    ("executor_cores", &[EngineKind::Spark]),
    ("executor_memory", &[EngineKind::Spark]),
    ("conf", &[EngineKind::Spark]),
    ("spark_home", &[EngineKind::Spark]),
    ("dashboard", &[EngineKind::Ray]),
    ("token_file", &[EngineKind::Ray]),
    ("bundle", &[EngineKind::Ray]),
];

/// Engines whose nodes are not this machine.
const CLUSTERS: &[EngineKind] = &[
    EngineKind::Ssh,
    EngineKind::Slurm,
    EngineKind::Spark,
    EngineKind::Ray,
];

fn check_use(entry: &Entry, kind: EngineKind, problems: &mut Vec<Problem>) {
    let Some((key, kinds)) = ONLY.iter().find(|(key, _)| *key == entry.key) else {
        return;
    };
    if !kinds.contains(&kind) {
        let readers: Vec<_> = kinds
            .iter()
            .map(|kind| format!("\"{}\"", kind.word()))
            .collect();
        problems.push(
            Problem::new(
                &entry.place,
                format!("`{key}` means nothing to engine \"{}\"", kind.word()),
            )
            .hint(format!("engines that read it: {}", readers.join(", "))),
        );
    }
}
