//! Nodes as network namespaces on one bridge, each with its own address, host
//! name and `/var/tmp`; the host itself is on the bridge too.

use super::ledger::{Ledger, Made, Node};
use super::process;
use crate::shell;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

/// The last number of the address of the node that holds controllers.
const HEAD: u8 = 200;
/// The last number of the host's own address.
const HOST: u8 = 254;

/// The network prefix of cluster `number`.
fn prefix(number: u8) -> String {
    format!("10.77.{number}")
}

/// The host's address on the bridge: what nodes connect to.
pub(crate) fn host_address(ledger: &Ledger) -> String {
    format!("{}.{HOST}", prefix(ledger.number))
}

/// Makes `workers` nodes, and a head if asked, each link limited to `rate`.
/// The head is the last of the ledger's nodes.
pub(crate) fn up(
    ledger: &mut Ledger,
    folder: &Path,
    workers: u8,
    with_head: bool,
    rate: &str,
) -> Result<()> {
    let bridge = claim(ledger)?;
    let number = ledger.number;
    let prefix = prefix(number);
    let host = host_address(ledger);
    shell::output(
        "ip",
        &["address", "add", &format!("{host}/24"), "dev", &bridge],
    )?;
    shell::output("ip", &["link", "set", &bridge, "up"])?;
    let mut places: Vec<(String, String)> = (1..=workers)
        .map(|i| (format!("{bridge}-{i}"), format!("{prefix}.{i}")))
        .collect();
    if with_head {
        places.push((format!("{bridge}-head"), format!("{prefix}.{HEAD}")));
    }
    let own_name = shell::output("hostname", &[]).unwrap_or_default();
    let mut hosts = format!("127.0.0.1 localhost\n{host} {}\n", own_name.trim());
    for (name, address) in &places {
        hosts.push_str(&format!("{address} {name}\n"));
    }
    fs::write(folder.join("hosts"), hosts)?;
    if !Path::new("/run/netns").exists() {
        ledger.record(Made::SharedFolder("/run/netns".into()))?;
    }
    for (name, address) in places {
        let node = node(ledger, folder, &bridge, name, address)?;
        slow(&node, rate)?;
        ledger.nodes.push(node);
        ledger.save()?;
    }
    Ok(())
}

/// Takes the first free number: the bridge's name is the claim, because two
/// bridges of one name cannot be.
fn claim(ledger: &mut Ledger) -> Result<String> {
    for number in 1..=99 {
        let name = format!("pl{number}");
        let net = format!("{}.0/24", prefix(number));
        let in_use = !shell::output("ip", &["-4", "route", "show", &net])?
            .trim()
            .is_empty();
        if in_use || Path::new("/sys/class/net").join(&name).exists() {
            continue;
        }
        if shell::answers("ip", &["link", "add", &name, "type", "bridge"]) {
            ledger.number = number;
            ledger.record(Made::Link(name.clone()))?;
            return Ok(name);
        }
        if !Path::new("/sys/class/net").join(&name).exists() {
            // Not taken meanwhile, so this machine has no bridges; ip says why.
            shell::output("ip", &["link", "add", &name, "type", "bridge"])?;
        }
    }
    bail!("99 clusters are up on this machine")
}

fn node(
    ledger: &mut Ledger,
    folder: &Path,
    bridge: &str,
    name: String,
    address: String,
) -> Result<Node> {
    ledger.record(Made::Namespace(name.clone()))?;
    let ip = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        shell::output("ip", &words)
    };
    ip(&format!("netns add {name}"))?;
    let link = link(&name);
    ledger.record(Made::Link(link.clone()))?;
    ip(&format!(
        "link add {link} type veth peer name eth0 netns {name}"
    ))?;
    ip(&format!("link set {link} master {bridge} up"))?;
    ip(&format!("-n {name} link set lo up"))?;
    ip(&format!("-n {name} address add {address}/24 dev eth0"))?;
    ip(&format!("-n {name} link set eth0 up"))?;
    let own = folder.join("nodes").join(&name);
    fs::create_dir_all(own.join("var-tmp"))?;
    // The holder keeps the node's name and mounts for those who enter later.
    let script = "hostname \"$1\" && mount --bind \"$2\" /etc/hosts \
                  && mount --bind \"$3\" /var/tmp && echo ready && exec sleep infinity";
    let mut holder = shell::command("setsid", &["nsenter"]);
    holder
        .arg(format!("--net=/run/netns/{name}"))
        .args(["unshare", "--uts", "--mount", "--propagation", "slave"])
        .args(["sh", "-c", script, "holder", &name])
        .args([folder.join("hosts"), own.join("var-tmp")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // It lives on: whoever reads our output must not wait for it.
        .stderr(fs::File::create(own.join("holder.log"))?);
    let mut child = holder.spawn().context("cannot start nsenter")?;
    let started = process::started(child.id()).context("the holder of a node ended at once")?;
    ledger.record(Made::Process {
        pid: child.id(),
        started,
        what: format!("holder of {name}"),
    })?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    if line.trim() != "ready" {
        bail!("node {name} cannot have its own host name and mounts");
    }
    Ok(Node {
        name,
        address,
        holder: child.id(),
    })
}

/// The host's end of a node's link.
fn link(node: &str) -> String {
    format!("v{node}")
}

/// Limits a node's link in both directions.
pub(crate) fn slow(node: &Node, rate: &str) -> Result<()> {
    let burst = burst(rate)?;
    let words = |device: &str| {
        format!("tc qdisc replace dev {device} root tbf rate {rate} burst {burst} latency 50ms")
    };
    let limit = |device: &str| {
        let words = words(device);
        words.split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    let outside = limit(&link(&node.name));
    let refs: Vec<&str> = outside[1..].iter().map(String::as_str).collect();
    shell::output("tc", &refs)?;
    let inner = limit("eth0");
    let refs: Vec<&str> = inner.iter().map(String::as_str).collect();
    quietly(process::inside(node, &refs))
}

/// Takes the limit off a node's link.
pub(crate) fn fast(node: &Node) -> Result<()> {
    shell::output("tc", &["qdisc", "del", "dev", &link(&node.name), "root"])?;
    quietly(process::inside(
        node,
        &["tc", "qdisc", "del", "dev", "eth0", "root"],
    ))
}

/// Unplugs a node: its link stays up, nothing passes.
pub(crate) fn cut(node: &Node) -> Result<()> {
    shell::output("ip", &["link", "set", &link(&node.name), "nomaster"]).map(drop)
}

/// Plugs a node in again.
pub(crate) fn heal(ledger: &Ledger, node: &Node) -> Result<()> {
    let bridge = format!("pl{}", ledger.number);
    shell::output("ip", &["link", "set", &link(&node.name), "master", &bridge]).map(drop)
}

fn quietly(mut command: std::process::Command) -> Result<()> {
    let status = command.status().context("cannot start nsenter")?;
    if !status.success() {
        bail!("{:?} failed: {status}", command.get_args());
    }
    Ok(())
}

/// The bytes a link may send at once: what passes in 4 ms, because a timer may
/// be that late, and never less than a few full packets.
fn burst(rate: &str) -> Result<u64> {
    let units = [("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)];
    let bits = units
        .iter()
        .find_map(|(unit, factor)| Some(rate.strip_suffix(unit)?.parse::<f64>().ok()? * factor))
        .filter(|bits| (1e4..=1e11).contains(bits))
        .with_context(|| format!("`{rate}` is no rate; write 10mbit, 1gbit or 500kbit"))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most 10^11 bits, which is 50 MB in 4 ms"
    )]
    let bytes = (bits / 8.0 * 0.004) as u64;
    Ok(bytes.max(32 * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_follows_the_rate_and_nonsense_is_refused() {
        assert_eq!(burst("10mbit").unwrap(), 32 * 1024);
        assert_eq!(burst("1gbit").unwrap(), 500_000);
        for wrong in ["", "fast", "0mbit", "-1gbit", "1e9gbit", "NaNgbit", "10"] {
            assert!(burst(wrong).is_err(), "{wrong}");
        }
    }
}
