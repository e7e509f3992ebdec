//! Spark standalone: a master on the head, one worker per node.

use super::ledger::Ledger;
use super::{Wish, http, network, packages, process};
use crate::shell;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Java and a Python with Spark; fetched once.
pub(crate) fn fetch() -> Result<PathBuf> {
    packages::debian(&[("java", "default-jre-headless")])?;
    packages::python("spark", &["pyspark==3.5.*", "numpy"])
}

/// Starts the daemons; returns what a person pastes.
pub(crate) fn up(ledger: &mut Ledger, folder: &Path, wish: &Wish) -> Result<String> {
    packages::debian(&[("nsenter", "util-linux"), ("tc", "iproute2")])?;
    let python = fetch()?;
    let interpreter = python.join("bin/python").to_string_lossy().into_owned();
    let home = shell::output(
        &interpreter,
        &["-c", "import pyspark; print(pyspark.__path__[0])"],
    )?;
    let home = home.trim();
    network::up(ledger, folder, wish.nodes, true, &wish.rate)?;
    let logs = folder.join("log");
    for name in ["log", "conf", "tmp", "local", "work"] {
        fs::create_dir(folder.join(name))?;
    }
    let head = ledger.nodes.last().context("a head was asked for")?.clone();
    let host = network::host_address(ledger);
    let master = format!("spark://{}:7077", head.address);
    let conf = folder.join("conf");
    // What Java leaves in /tmp would outlive the cluster.
    let java = format!("-Djava.io.tmpdir={}/tmp -XX:-UsePerfData", folder.display());
    fs::write(
        conf.join("spark-defaults.conf"),
        format!(
            "spark.master {master}\n\
             spark.driver.host {host}\n\
             spark.driver.bindAddress {host}\n\
             spark.local.dir {}\n\
             spark.driver.defaultJavaOptions {java}\n\
             spark.executor.defaultJavaOptions {java}\n\
             spark.ui.showConsoleProgress false\n",
            folder.join("local").display(),
        ),
    )?;
    let class = format!("{home}/bin/spark-class");
    let conf = conf.to_string_lossy().into_owned();
    let common = |address: &str| {
        [
            ("SPARK_HOME", home.to_owned()),
            ("SPARK_CONF_DIR", conf.clone()),
            ("PYSPARK_PYTHON", interpreter.clone()),
            ("SPARK_DAEMON_MEMORY", "256m".to_owned()),
            ("SPARK_DAEMON_JAVA_OPTS", java.clone()),
            ("SPARK_LOCAL_IP", address.to_owned()),
        ]
    };
    let package = "org.apache.spark.deploy";
    let program = format!("{package}.master.Master");
    let words = [
        &class,
        &program,
        "--host",
        &head.address,
        "--port",
        "7077",
        "--webui-port",
        "8080",
    ];
    let environment = common(&head.address);
    let environment = environment
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let log = logs.join("master.out");
    process::daemon(ledger, &head, "Spark's master", &log, &words, &environment)?;
    let page = format!("{}:8080", head.address);
    process::ready(ledger, 600, "the master's pages", &logs, || {
        http::get(&page, "/json/", None).is_ok()
    })?;
    let workers = ledger.nodes[..ledger.nodes.len() - 1].to_vec();
    for node in &workers {
        let local = folder.join("local").join(&node.name);
        let work = folder.join("work").join(&node.name);
        fs::create_dir(&local)?;
        fs::create_dir(&work)?;
        let (local, work) = (local.to_string_lossy(), work.to_string_lossy());
        let program = format!("{package}.worker.Worker");
        let words = [
            &class,
            &program,
            "--host",
            &node.address,
            "--port",
            "7078",
            "--webui-port",
            "8081",
            "-c",
            "2",
            "-m",
            "2g",
            "-d",
            &work,
            &master,
        ];
        let environment = common(&node.address);
        let mut environment: Vec<(&str, &str)> = environment
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        environment.push(("SPARK_LOCAL_DIRS", &local));
        let log = logs.join(format!("{}.out", node.name));
        process::daemon(ledger, node, "Spark's worker", &log, &words, &environment)?;
    }
    process::ready(ledger, 900, "Spark's workers", &logs, || {
        http::get(&page, "/json/", None).is_ok_and(|text| {
            serde_json::from_str::<serde_json::Value>(&text)
                .is_ok_and(|state| state["aliveworkers"] == workers.len())
        })
    })?;
    let settings = folder.join("env.sh");
    fs::write(
        &settings,
        format!(
            "export PATH=\"{}/bin:$PATH\"\n\
             export SPARK_HOME=\"{home}\"\n\
             export SPARK_CONF_DIR=\"{conf}\"\n\
             export PYSPARK_PYTHON=\"{interpreter}\"\n\
             export SPARK_LOCAL_IP=\"{host}\"\n",
            python.display(),
        ),
    )?;
    Ok(format!(
        ". {}\n\n\
         [engine]\nkind = \"spark\"\nmaster = \"{master}\"\nexecutor_memory = \"600m\"\n\
         python = \"{interpreter}\"\n\n\
         # or, for an application of your own:\n\
         # [job]\n# kind = \"spark-submit\"\n# master = \"{master}\"\n\n\
         # {} workers of 2 cores and 2 GiB; the master's page: http://{page}\n\
         # this machine, as the nodes see it: {host}\n",
        settings.display(),
        workers.len(),
    ))
}
