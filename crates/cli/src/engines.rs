//! The engine that a study or a command asks for.

use crate::context;
use crate::failure::Failure;
use paceline_agent::{
    ClusterEngine, OpenClusterError, RayApi, RayOptions, SlurmOptions, SparkOptions, SshOptions,
    ray_engine, slurm_engine, spark_engine, ssh_engine,
};
use paceline_engine::{LocalEngine, NodeRequest, StartError};
use paceline_model::NodeName;
use paceline_probe::Roots;
use paceline_runner::study::SyncEngine;
use paceline_study::{EngineKind, EngineSettings, RawStudy, Supply, Word};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Where a command is run, as `run` has it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct EngineArgs {
    /// Run the command elsewhere: ssh:HOST,HOST, slurm, spark:MASTER, ray:DASHBOARD, or a file with
    /// an `engine` section such as a study.toml
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// On so many nodes [default: all hosts of ssh, else 1]
    #[arg(long, value_name = "N", requires = "engine", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes: Option<u32>,
    /// Start the command so many times on each node, each with its rank
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) tasks_per_node: Option<u32>,
}

impl EngineArgs {
    /// The engine's settings, those of the command line over those of the file.
    pub(crate) fn settings(&self) -> Result<EngineSettings, Failure> {
        let mut settings = match &self.engine {
            None => EngineSettings::local(),
            Some(text) => parse(text)?,
        };
        if let Some(most) = settings.most_nodes()
            && let Some(nodes) = self.nodes.filter(|nodes| *nodes > most)
        {
            return Err(Failure::user(anyhow::anyhow!(
                "{nodes} nodes are asked for, and there are {most}"
            )));
        }
        settings.nodes = self.nodes.or(settings.nodes);
        settings.tasks_per_node = self.tasks_per_node.unwrap_or(settings.tasks_per_node);
        Ok(settings)
    }
}

fn parse(text: &str) -> Result<EngineSettings, Failure> {
    let (name, toml) = match text.split_once(':') {
        Some(("ssh", hosts)) => {
            let hosts: Vec<String> = hosts.split(',').map(|host| format!("{host:?}")).collect();
            let toml = format!("[engine]\nkind = \"ssh\"\nhosts = [{}]\n", hosts.join(", "));
            ("--engine", toml)
        }
        Some(("spark", master)) => {
            let toml = format!("[engine]\nkind = \"spark\"\nmaster = {master:?}\n");
            ("--engine", toml)
        }
        Some(("ray", dashboard)) => {
            let toml = format!("[engine]\nkind = \"ray\"\ndashboard = {dashboard:?}\n");
            ("--engine", toml)
        }
        _ if text == "spark" => ("--engine", "[engine]\nkind = \"spark\"\n".to_owned()),
        _ if text == "slurm" => ("--engine", "[engine]\nkind = \"slurm\"\n".to_owned()),
        _ if text == "local" => return Ok(EngineSettings::local()),
        _ => {
            let file = paceline_answers::study_file::file_of(Path::new(text));
            let read = paceline_files::read_text(&file, 4 << 20);
            let toml = read.map_err(|error| {
                Failure::user(error).hint("--engine takes ssh:HOST,HOST, slurm, spark:MASTER, ray:DASHBOARD or a file with [engine]")
            })?;
            (text, toml)
        }
    };
    let settings = RawStudy::parse(name, &toml).and_then(|raw| raw.engine());
    let settings = settings.map_err(Failure::user)?;
    match AVAILABLE.contains(&settings.kind) {
        true => Ok(settings),
        false => Err(Failure::user(anyhow::anyhow!(
            "engine \"{}\" is not available in this version",
            settings.kind.word()
        ))),
    }
}

/// The engines of this version.
pub(crate) const AVAILABLE: &[EngineKind] = <EngineKind as Word>::ALL;

/// What a run asks for of which only the settings say how many nodes it has.
pub(crate) fn request(settings: &EngineSettings) -> NodeRequest {
    NodeRequest {
        cores: settings.spark.executor_cores,
        ..NodeRequest::machines(settings.usual_nodes())
    }
}

/// What an engine is opened for.
pub(crate) struct Purpose<'a> {
    /// What tells its agents from those of others: where the study or the run is
    /// recorded.
    pub(crate) place: &'a Path,
    /// The directory that is copied to nodes, if anything is.
    pub(crate) base: &'a Path,
    /// Whether one run takes place at a time.
    pub(crate) sole: bool,
    /// What is known to be asked for.
    pub(crate) requests: Vec<NodeRequest>,
    /// This machine.
    pub(crate) node: NodeName,
}

impl Purpose<'_> {
    /// The nodes of the largest run that is known.
    fn most_nodes(&self) -> u32 {
        let nodes = self.requests.iter().map(|it| it.nodes);
        nodes.max().unwrap_or(1)
    }
}

/// Opens the engine. No node is reached yet.
pub(crate) fn open(
    settings: &EngineSettings,
    purpose: &Purpose<'_>,
) -> Result<Box<dyn SyncEngine>, Failure> {
    match settings.kind {
        EngineKind::Ssh => Ok(Box::new(ssh(settings, purpose)?)),
        EngineKind::Slurm => Ok(Box::new(slurm(settings, purpose)?)),
        EngineKind::Spark => Ok(Box::new(spark(settings, purpose)?)),
        EngineKind::Ray => Ok(Box::new(ray(settings, purpose)?)),
        EngineKind::Local => Ok(Box::new(LocalEngine::new(
            purpose.node.clone(),
            Roots::default(),
            purpose.sole,
        ))),
    }
}

fn ssh(settings: &EngineSettings, purpose: &Purpose<'_>) -> Result<ClusterEngine, Failure> {
    let key = key(purpose);
    let options = SshOptions {
        hosts: settings.hosts.clone(),
        config: settings
            .ssh_config
            .as_ref()
            .map(|config| purpose.base.join(config)),
        address: settings.address.clone(),
        silence: settings.silence,
        ships_program: settings.binary == Supply::Ship,
        ships: (settings.data == Supply::Ship).then(|| purpose.base.to_owned()),
        program: context::program()?,
        // A Unix socket's path is short, so the directory is near the root.
        sockets: PathBuf::from(format!("/tmp/paceline-{key}-{}", std::process::id())),
        key,
    };
    ssh_engine(options).map_err(cannot_open)
}

fn slurm(settings: &EngineSettings, purpose: &Purpose<'_>) -> Result<ClusterEngine, Failure> {
    let options = [
        ("partition", &settings.partition),
        ("account", &settings.account),
        ("qos", &settings.qos),
    ];
    let given = options.into_iter();
    let given = given.filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?)));
    let mut words: Vec<String> = given.collect();
    if let Some(time) = settings.time {
        // Slurm counts in minutes unless it is told more.
        words.push(format!("--time=0:{}", time.as_secs().max(1)));
    }
    words.extend(settings.extra.iter().cloned());
    let options = SlurmOptions {
        words,
        is_pilot: settings.pilot,
        pilot_nodes: purpose.most_nodes(),
        address: settings.address.clone(),
        silence: settings.silence,
        program: context::program()?,
        key: key(purpose),
    };
    slurm_engine(options).map_err(cannot_open)
}

fn spark(settings: &EngineSettings, purpose: &Purpose<'_>) -> Result<ClusterEngine, Failure> {
    let spark = &settings.spark;
    let variable = |name| context::variable(name).map(|it| it.to_string_lossy().into_owned());
    let python = spark.python.clone();
    let python = python
        .or_else(|| variable("PYSPARK_DRIVER_PYTHON"))
        .or_else(|| variable("PYSPARK_PYTHON"));
    let options = SparkOptions {
        master: spark.master.clone(),
        executor_memory: spark.executor_memory.clone(),
        conf: spark.conf.clone(),
        python: python.unwrap_or_else(|| "python3".to_owned()),
        executor_python: spark.python.clone(),
        home: spark.home.clone(),
        requests: purpose.requests.clone(),
        address: settings.address.clone(),
        silence: settings.silence,
        wait: settings.wait,
        ships_program: settings.binary == Supply::Ship,
        program: context::program()?,
        key: key(purpose),
    };
    spark_engine(options).map_err(cannot_open)
}

fn ray(settings: &EngineSettings, purpose: &Purpose<'_>) -> Result<ClusterEngine, Failure> {
    let ray = &settings.ray;
    let file = ray.token_file.as_ref().map(|file| purpose.base.join(file));
    let token = ray_token(file.as_deref())?;
    let dashboard = ray.dashboard.as_deref().unwrap_or_default();
    let options = RayOptions {
        api: RayApi::new(dashboard, token.as_deref()).map_err(Failure::user)?,
        bundle: ray.bundle.clone(),
        python: ray.python.clone().unwrap_or_else(|| "python3".to_owned()),
        most_nodes: purpose.most_nodes(),
        address: settings.address.clone(),
        silence: settings.silence,
        wait: settings.wait,
        ships_program: settings.binary == Supply::Ship,
        program: context::program()?,
        key: key(purpose),
    };
    ray_engine(options).map_err(cannot_open)
}

/// The bearer token of Ray: that of `file`, else what Ray's own variables say. It
/// is never recorded.
pub(crate) fn ray_token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let variable = |name| context::variable(name).map(PathBuf::from);
    let file = match (file, context::variable("RAY_AUTH_TOKEN")) {
        (Some(file), _) => Some(file.to_owned()),
        (None, Some(token)) => return Ok(Some(token.to_string_lossy().into_owned())),
        (None, None) => variable("RAY_AUTH_TOKEN_PATH"),
    };
    let read = |file: PathBuf| {
        let text = paceline_files::read_text(&file, 64 << 10);
        text.map(|text| text.trim().to_owned()).map_err(|error| {
            Failure::user(error).hint("token_file under [engine] names the file with Ray's token")
        })
    };
    file.map(read).transpose()
}

fn cannot_open(error: OpenClusterError) -> Failure {
    match error {
        OpenClusterError::Address(_) => {
            Failure::user(error).hint("[engine] address says where nodes reach this machine")
        }
        OpenClusterError::Hub(_) | OpenClusterError::Directory { .. } => Failure::world(error),
    }
}

/// Differs between studies and machines, and not between two sessions of a study.
fn key(purpose: &Purpose<'_>) -> String {
    let place = std::path::absolute(purpose.place).unwrap_or_else(|_| purpose.place.to_owned());
    let text = format!("{}\n{}", purpose.node, place.display());
    let digest = Sha256::digest(text);
    digest[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Why a cluster has started nothing.
pub(crate) fn cannot_start(error: StartError, kind: EngineKind) -> Failure {
    match &error {
        StartError::TooFewNodes { .. } => {
            Failure::user(error).hint("a cluster is named under [engine]; `hosts` lists its nodes")
        }
        StartError::OnNode {
            is_the_users: true, ..
        } => Failure::user(error)
            .hint("a command has to be there on every node; data = \"ship\" copies what is here"),
        StartError::Cluster(_) => Failure::world(error).hint(match kind {
            EngineKind::Spark => {
                "`paceline doctor --engine spark` tries each step; wait under [engine] says how \
                 long executors are waited for, address where they reach this machine"
            }
            EngineKind::Ray => {
                "`paceline doctor --engine ray` tries each step; python under [engine] is one that \
                 has Ray, address says where nodes reach this machine"
            }
            EngineKind::Slurm => {
                "`paceline doctor --engine slurm` tries each step; address under [engine] says \
                 where nodes reach this machine"
            }
            EngineKind::Local | EngineKind::Ssh => {
                "every host must be reached by `ssh -o BatchMode=yes HOST true`; address under \
                 [engine] says where hosts reach this machine"
            }
        }),
        _ => Failure::world(error),
    }
}
