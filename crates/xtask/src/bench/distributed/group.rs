//! Starting a peer's workers, servers and schedulers on this machine.

use crate::bench::Options;
use crate::bench::peers::{self, Printed};
use anyhow::Result;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(150);

/// Workers of every side.
pub(crate) const WORKERS: usize = 2;

/// Two processes of PyTorch's DDP that meet by gloo.
pub(crate) fn torch(tasks: &[&str], options: Options) -> Result<Printed> {
    let python = peers::torch()?;
    let port = free_port()?;
    let seconds = options.seconds().to_string();
    let words = [&[seconds.as_str()][..], tasks].concat();
    let members = (0..WORKERS).map(|rank| {
        let mut command = peers::script(&python, "distributed_torch.py", &words);
        command
            .env("RANK", rank.to_string())
            .env("WORLD_SIZE", WORKERS.to_string())
            .env("MASTER_ADDR", "127.0.0.1")
            .env("MASTER_PORT", port.to_string())
            .env("GLOO_SOCKET_IFNAME", "lo");
        one_thread(command)
    });
    peers::together(members.collect(), PATIENCE)
}

/// A chief, a server and two workers of TensorFlow.
pub(crate) fn tensorflow(tasks: &[&str], options: Options) -> Result<Printed> {
    let python = peers::tensorflow()?;
    let ports = [(); WORKERS + 2].map(|()| free_port());
    let places = ports
        .into_iter()
        .map(|port| Ok(format!("127.0.0.1:{}", port?)))
        .collect::<Result<Vec<String>>>()?;
    let cluster = serde_json::json!({
        "chief": [places[0]],
        "ps": [places[1]],
        "worker": places[2..],
    });
    let seconds = options.seconds().to_string();
    let words = [&[seconds.as_str()][..], tasks].concat();
    let mut roles = vec![("chief", 0), ("ps", 0)];
    roles.extend((0..WORKERS).map(|rank| ("worker", rank)));
    let members = roles.into_iter().map(|(role, index)| {
        let mut command = peers::script(&python, "distributed_tensorflow.py", &words);
        let place = serde_json::json!({"type": role, "index": index});
        let config = serde_json::json!({"cluster": cluster, "task": place});
        command.env("TF_CONFIG", config.to_string());
        one_thread(command)
    });
    peers::together(members.collect(), PATIENCE)
}

/// Two workers, a server and a scheduler of MXNet; `kind` is `dist_sync` or
/// `dist_async`.
pub(crate) fn mxnet(kind: &str, tasks: &[&str], options: Options) -> Result<Printed> {
    let python = peers::mxnet()?;
    let port = free_port()?;
    let seconds = options.seconds().to_string();
    let words = [&[kind, seconds.as_str()][..], tasks].concat();
    let mut roles = vec!["worker"; WORKERS];
    roles.extend(["server", "scheduler"]);
    let members = roles.into_iter().map(|role| {
        let mut command = peers::script(&python, "distributed_mxnet.py", &words);
        command
            .env("DMLC_ROLE", role)
            .env("DMLC_PS_ROOT_URI", "127.0.0.1")
            .env("DMLC_PS_ROOT_PORT", port.to_string())
            .env("DMLC_NODE_HOST", "127.0.0.1")
            .env("DMLC_NUM_WORKER", WORKERS.to_string())
            .env("DMLC_NUM_SERVER", "1")
            .env("MXNET_CPU_WORKER_NTHREADS", "1");
        one_thread(command)
    });
    // Either worker may be the one of rank 0 that prints.
    peers::together_from(members.collect(), WORKERS, PATIENCE)
}

fn one_thread(mut command: Command) -> Command {
    command.env("OMP_NUM_THREADS", "1");
    command
}

/// A port that nobody listens on at this moment.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}
