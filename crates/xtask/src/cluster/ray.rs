//! Ray: a head on the first node, the jobs API behind a token.

use super::ledger::Ledger;
use super::{Wish, http, network, packages, process};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A Python with Ray; fetched once.
pub(crate) fn fetch() -> Result<PathBuf> {
    packages::python("ray", &["ray[default]==2.*"])
}

/// Starts the daemons; returns what a person pastes.
pub(crate) fn up(ledger: &mut Ledger, folder: &Path, wish: &Wish) -> Result<String> {
    packages::debian(&[("nsenter", "util-linux"), ("tc", "iproute2")])?;
    let python = fetch()?;
    network::up(ledger, folder, wish.nodes, false, &wish.rate)?;
    // Ray names sockets after its folder, so the path must be short; and two
    // nodes in one folder would take each other's sockets.
    let shared = super::sockets(ledger)?.join("ray");
    fs::create_dir(&shared)?;
    let logs = folder.join("log");
    fs::create_dir(&logs)?;
    let token = token(&folder.join("token"))?;
    let ray = python.join("bin/ray").to_string_lossy().into_owned();
    let token_path = folder.join("token").to_string_lossy().into_owned();
    let environment = [
        ("RAY_AUTH_MODE", "token"),
        ("RAY_AUTH_TOKEN_PATH", token_path.as_str()),
        ("RAY_DEDUP_LOGS", "0"),
    ];
    let nodes = ledger.nodes.clone();
    let head = nodes.first().context("a cluster has nodes")?;
    let (temporary, page) = (shared.to_string_lossy(), format!("{}:8265", head.address));
    let join = format!("{}:6379", head.address);
    for (index, node) in nodes.iter().enumerate() {
        let own = folder.join("nodes").join(&node.name).join("ray");
        fs::create_dir(&own)?;
        let own = own.to_string_lossy();
        let mut mount = process::inside(node, &["mount", "--bind", &own, &temporary]);
        if !mount.status().is_ok_and(|status| status.success()) {
            bail!("{} cannot have a session folder of its own", node.name);
        }
        let mut words = vec![
            &ray[..],
            "start",
            "--block",
            "--node-ip-address",
            &node.address,
        ];
        words.extend(["--num-cpus", "2", "--object-store-memory", "200000000"]);
        if index == 0 {
            words.extend(["--head", "--port", "6379", "--disable-usage-stats"]);
            words.extend([
                "--dashboard-host",
                &node.address,
                "--dashboard-port",
                "8265",
            ]);
            words.extend(["--temp-dir", &temporary]);
        } else {
            words.extend(["--address", &join]);
        }
        let log = logs.join(format!("{}.out", node.name));
        process::daemon(ledger, node, "ray", &log, &words, &environment)?;
        if index == 0 {
            process::ready(ledger, 900, "the head's pages", &logs, || {
                http::get(&page, "/api/version", Some(&token)).is_ok()
            })?;
        }
    }
    process::ready(ledger, 900, "Ray's nodes", &logs, || {
        http::get(&page, "/nodes?view=summary", Some(&token))
            .is_ok_and(|text| alive(&text) == nodes.len())
    })?;
    Ok(format!(
        "[engine]\nkind = \"ray\"\ndashboard = \"http://{page}\"\ntoken_file = \"{token_path}\"\n\
         python = \"{}\"\n\n\
         # by hand: RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH={token_path} {ray} job submit --address http://{page} -- hostname\n\
         # this machine, as the nodes see it: {}\n",
        python.join("bin/python").display(),
        network::host_address(ledger),
    ))
}

/// How many nodes the dashboard calls alive.
fn alive(text: &str) -> usize {
    let Ok(answer) = serde_json::from_str::<serde_json::Value>(text) else {
        return 0;
    };
    let nodes = answer["data"]["summary"].as_array();
    nodes.map_or(0, |nodes| {
        nodes
            .iter()
            .filter(|node| node["raylet"]["state"] == "ALIVE")
            .count()
    })
}

/// A token of chance, readable by its owner alone.
fn token(path: &Path) -> Result<String> {
    let mut bytes = [0; 24];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(token.as_bytes())?;
    Ok(token)
}
