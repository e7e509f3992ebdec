//! `paceline doctor --engine`: a run of `true` on a cluster, and what is missing.

use super::ask::{self, program};
use crate::engines;
use crate::failure::Failure;
use anyhow::anyhow;
use clap::ValueEnum;
use paceline_agent::{RayApi, RayApiError};
use paceline_model::error_chain;
use paceline_probe::Offer;
use std::path::PathBuf;
use std::time::Duration;

/// Where runs could execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum EngineName {
    /// Hosts that OpenSSH reaches: --host
    Ssh,
    /// A Slurm cluster: --partition
    Slurm,
    /// A Spark cluster: --master
    Spark,
    /// A Ray cluster: --address, --token-file
    Ray,
}

#[derive(Debug, clap::Args)]
pub(super) struct EngineArgs {
    /// Try a run of `true` on a cluster, and say what is missing
    #[arg(long, value_enum)]
    pub(super) engine: Option<EngineName>,
    /// A host for --engine ssh; may be repeated
    #[arg(long, value_name = "HOST", requires = "engine")]
    host: Vec<String>,
    /// The configuration of OpenSSH for --engine ssh
    #[arg(long, value_name = "FILE", requires = "engine")]
    ssh_config: Option<PathBuf>,
    /// The partition for --engine slurm
    #[arg(long, value_name = "NAME", requires = "engine")]
    partition: Option<String>,
    /// The master for --engine spark, such as spark://HOST:7077; what Spark's settings say by default
    #[arg(long, value_name = "URL", requires = "engine")]
    master: Option<String>,
    /// The dashboard for --engine ray, such as http://HOST:8265
    #[arg(long, value_name = "URL", requires = "engine")]
    address: Option<String>,
    /// The file with the bearer token for --engine ray
    #[arg(long, value_name = "FILE", requires = "engine")]
    token_file: Option<PathBuf>,
}

/// What each step of a run of `true` found.
pub(super) fn examine(args: &EngineArgs, engine: EngineName) -> Result<Vec<Offer>, Failure> {
    match engine {
        EngineName::Ssh => ssh(args),
        EngineName::Slurm => Ok(slurm(args)),
        EngineName::Spark => Ok(spark(args)),
        EngineName::Ray => ray(args),
    }
}

fn good(name: &'static str, what: impl Into<String>) -> Offer {
    Offer {
        name,
        found: Ok(what.into()),
        advice: None,
    }
}

fn bad(name: &'static str, lost: impl Into<String>, advice: &str) -> Offer {
    Offer {
        name,
        found: Err(lost.into()),
        advice: Some(advice.to_owned()),
    }
}

/// Whether a program answers to its version flag.
fn client(name: &'static str, words: &[&str], package: &str) -> Offer {
    let answer = program(20, words);
    match answer.is_good() {
        true => good(name, answer.first_line()),
        false => bad(name, answer.last_line(), package),
    }
}

fn ssh(args: &EngineArgs) -> Result<Vec<Offer>, Failure> {
    if args.host.is_empty() {
        return Err(Failure::user(anyhow!("--engine ssh needs a host"))
            .hint("name each with --host, as `ssh HOST` reaches it"));
    }
    if let Some(wrong) = args.host.iter().find(|host| host.starts_with('-')) {
        return Err(Failure::user(anyhow!("`{wrong}` is no host")));
    }
    let client = client(
        "ssh",
        &["ssh", "-V"],
        "install OpenSSH's client (Debian: openssh-client)",
    );
    let mut offers = vec![client];
    if offers[0].found.is_err() {
        return Ok(offers);
    }
    let config = args
        .ssh_config
        .as_ref()
        .map(|path| path.to_string_lossy().into_owned());
    for host in &args.host {
        let mut words = vec!["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"];
        if let Some(config) = &config {
            words.extend(["-F", config]);
        }
        words.extend([&host[..], "true && uname -sm"]);
        let answer = program(30, &words);
        offers.push(match answer.is_good() {
            true => good("true over ssh", format!("{host}: {}", answer.last_line())),
            false => {
                let lost = answer.last_line();
                let advice = ssh_advice(&lost);
                bad("true over ssh", format!("{host}: {lost}"), advice)
            }
        });
    }
    Ok(offers)
}

fn ssh_advice(lost: &str) -> &'static str {
    let known = [
        (
            "Permission denied",
            "put your key into the host's authorized_keys (ssh-copy-id), and add it to the agent",
        ),
        (
            "Host key verification failed",
            "connect once by hand and compare the host's key",
        ),
        (
            "Could not resolve",
            "check the name, or give it a HostName in ~/.ssh/config",
        ),
        (
            "timed out",
            "check that the host is up and that no firewall drops port 22",
        ),
        (
            "Connection refused",
            "start sshd on the host, or name its port in ~/.ssh/config",
        ),
        ("Can't open user config", "check the path of --ssh-config"),
    ];
    let found = known.iter().find(|(text, _)| lost.contains(text));
    found.map_or("`ssh -v` says more", |(_, advice)| advice)
}

fn slurm(args: &EngineArgs) -> Vec<Offer> {
    let mut offers = Vec::new();
    // Whether it is there; a client without its configuration tells no version.
    for (name, question) in [
        ("sbatch", "command -v sbatch"),
        ("srun", "command -v srun"),
        ("scancel", "command -v scancel"),
    ] {
        offers.push(client(
            name,
            &["sh", "-c", question],
            "install Slurm's clients (Debian: slurm-client)",
        ));
    }
    if offers.iter().any(|offer| offer.found.is_err()) {
        return offers;
    }
    let nodes = program(30, &["sinfo", "-h", "-o", "%P %D %t"]);
    if !nodes.is_good() {
        let lost = nodes.last_line();
        let advice = slurm_advice(&nodes.text);
        offers.push(bad("controller", lost, advice));
        return offers;
    }
    let lines: Vec<&str> = nodes.text.lines().map(str::trim).collect();
    offers.push(good(
        "controller",
        format!("partitions, nodes, state: {}", lines.join("; ")),
    ));
    let mut words = vec![
        "srun",
        "--nodes=1",
        "--ntasks=1",
        "--time=1",
        "--immediate=30",
    ];
    if let Some(partition) = &args.partition {
        words.extend(["--partition", partition]);
    }
    words.extend(["sh", "-c", "true && hostname"]);
    let ran = program(60, &words);
    offers.push(match ran.is_good() {
        true => good("true by srun", format!("on {}", ran.last_line())),
        false => bad("true by srun", ran.last_line(), slurm_advice(&ran.text)),
    });
    offers
}

fn slurm_advice(text: &str) -> &'static str {
    let known = [
        (
            "munge",
            "start munged with the cluster's key (/etc/munge/munge.key)",
        ),
        (
            "Munge",
            "start munged with the cluster's key (/etc/munge/munge.key)",
        ),
        (
            "auth",
            "start munged with the cluster's key (/etc/munge/munge.key)",
        ),
        (
            "resolve",
            "name slurm.conf with $SLURM_CONF, or put it into /etc/slurm",
        ),
        (
            "configuration source",
            "name slurm.conf with $SLURM_CONF, or put it into /etc/slurm",
        ),
        (
            "Could not establish",
            "name slurm.conf with $SLURM_CONF, or put it into /etc/slurm",
        ),
        (
            "invalid partition",
            "`sinfo` lists the partitions; name one with --partition",
        ),
        (
            "Requested nodes are busy",
            "no node was free within 30 s: try again, or another partition",
        ),
        (
            "contact slurm controller",
            "check that slurmctld runs and that its host can be reached",
        ),
    ];
    let found = known.iter().find(|(part, _)| text.contains(part));
    found.map_or("`scontrol ping` and `sinfo -R` say more", |(_, advice)| {
        advice
    })
}

/// One task that runs `true` on an executor.
const SPARK_TRUE: &str = "\
import os, socket, subprocess
from pyspark import SparkContext

def true(_):
    subprocess.check_call([\"true\"])
    return socket.gethostname()

sc = SparkContext(appName=\"paceline doctor\")
print(\"ran on\", sc.parallelize([0], 1).map(true).collect()[0], \"by Spark\", sc.version)
sc.stop()
";

fn spark(args: &EngineArgs) -> Vec<Offer> {
    let mut offers = vec![
        client(
            "java",
            &["java", "-version"],
            "install Java 8, 11 or 17 (Debian: default-jre-headless)",
        ),
        client(
            "spark-submit",
            &["sh", "-c", "command -v spark-submit"],
            "put Spark's bin on the path, or `pip install pyspark`",
        ),
    ];
    if offers.iter().any(|offer| offer.found.is_err()) {
        return offers;
    }
    let standalone = args
        .master
        .as_deref()
        .and_then(|master| master.strip_prefix("spark://"));
    // Several masters may be named; one is enough.
    for address in standalone.into_iter().flat_map(|list| list.split(',')) {
        offers.push(match ask::listens(address) {
            Ok(()) => good("master", format!("{address} listens")),
            Err(lost) => bad(
                "master",
                format!("{address}: {lost}"),
                "check host and port (7077 by default), and that the master runs",
            ),
        });
    }
    let reached = |offer: &Offer| offer.name == "master" && offer.found.is_ok();
    if standalone.is_some() && !offers.iter().any(reached) {
        return offers;
    }
    let script = match Script::write() {
        Ok(script) => script,
        Err(error) => {
            offers.push(bad(
                "true by Spark",
                error.to_string(),
                "make $TMPDIR writable",
            ));
            return offers;
        }
    };
    let path = script.0.to_string_lossy().into_owned();
    let mut words = vec!["spark-submit", "--conf", "spark.ui.enabled=false"];
    if let Some(master) = &args.master {
        words.extend(["--master", master]);
    }
    words.push(&path);
    let ran = program(120, &words);
    let line = ran.text.lines().find(|line| line.starts_with("ran on "));
    offers.push(match line {
        Some(line) => good("true by Spark", line),
        None => bad("true by Spark", spark_reason(&ran), spark_advice(&ran.text)),
    });
    offers
}

/// The application, in a file that goes when it is dropped.
struct Script(PathBuf);

impl Script {
    fn write() -> std::io::Result<Self> {
        let name = format!("paceline-doctor-{}.py", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A file that is there already is somebody else's.
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        let script = Self(path);
        std::io::Write::write_all(&mut file, SPARK_TRUE.as_bytes())?;
        Ok(script)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // Nothing more can be done about it.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The line of a long log that says why.
fn spark_reason(ran: &ask::Answer) -> String {
    let telling = ran.text.lines().rev().find(|line| {
        line.contains("Exception") || line.contains("ERROR") || line.contains("not accepted")
    });
    telling.map_or_else(|| ran.last_line(), |line| line.trim().to_owned())
}

fn spark_advice(text: &str) -> &'static str {
    let known = [
        (
            "has not accepted any resources",
            "no worker has the cores or the memory asked for, or executors cannot reach this machine: set spark.driver.host to an address they reach",
        ),
        (
            "Python in worker has different version",
            "set PYSPARK_PYTHON to the same Python on every machine",
        ),
        (
            "Cannot run program",
            "set PYSPARK_PYTHON to a Python that every executor has",
        ),
        (
            "UnsupportedClassVersionError",
            "this Spark needs a newer Java; set JAVA_HOME",
        ),
        (
            "All masters are unresponsive",
            "check the master's address and that both run the same version of Spark",
        ),
        ("Connection refused", "check the master's address"),
    ];
    let found = known.iter().find(|(part, _)| text.contains(part));
    found.map_or(
        "run the same command by hand for the whole log",
        |(_, advice)| advice,
    )
}

fn ray(args: &EngineArgs) -> Result<Vec<Offer>, Failure> {
    let Some(url) = &args.address else {
        return Err(
            Failure::user(anyhow!("--engine ray needs the dashboard's address"))
                .hint("--address http://HOST:8265"),
        );
    };
    let token = engines::ray_token(args.token_file.as_deref())?;
    let api = RayApi::new(url, token.as_deref()).map_err(|error| {
        Failure::user(error).hint("an https dashboard can be reached through a local tunnel")
    })?;
    let mut offers = Vec::new();
    match api.ask("GET /api/version", b"") {
        Ok(body) => offers.push(good("dashboard", body.trim().to_owned())),
        Err(error) => {
            let advice = match &error {
                RayApiError::Unauthorized { .. } => {
                    "name the file with the cluster's token with --token-file"
                }
                RayApiError::Refused { .. } => "check the address",
                _ => {
                    "check host and port (8265 by default), and that `ray start --head` runs with \
                     ray[default]"
                }
            };
            offers.push(bad("dashboard", error_chain(&error), advice));
            return Ok(offers);
        }
    }
    offers.push(match ray_true(&api) {
        Ok(words) => good("true by Ray", words),
        Err(lost) => bad("true by Ray", lost, "`ray job logs` says more"),
    });
    Ok(offers)
}

/// Submits a job of `true` and waits for its end, at most a minute.
fn ray_true(api: &RayApi) -> Result<String, String> {
    let ask = |request: &str, body: &str| {
        let answer = api.ask(request, body.as_bytes());
        let answer = answer.map_err(|error| error_chain(&error))?;
        serde_json::from_str::<serde_json::Value>(&answer).map_err(|error| error.to_string())
    };
    let job = ask("POST /api/jobs/", "{\"entrypoint\": \"true\"}")?;
    let id = job["submission_id"]
        .as_str()
        .ok_or("the answer names no job")?
        .to_owned();
    for _ in 0..60 {
        let state = ask(&format!("GET /api/jobs/{id}"), "")?;
        match state["status"].as_str() {
            Some("SUCCEEDED") => return Ok(format!("job {id} succeeded")),
            Some("FAILED" | "STOPPED") => {
                let why = state["message"].as_str().unwrap_or("no reason was given");
                return Err(format!("job {id} failed: {why}"));
            }
            _ => std::thread::sleep(Duration::from_secs(1)),
        }
    }
    // A job that waits for ever must not stay behind.
    let _ = ask(&format!("POST /api/jobs/{id}/stop"), "");
    Err(format!("job {id} did not end within a minute"))
}
