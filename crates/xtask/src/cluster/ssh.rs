//! Hosts that are reached over ssh: one `sshd` per node, keys of their own.

use super::ledger::{Ledger, Made};
use super::{Wish, network, packages, process};
use crate::shell;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// Starts the daemons; returns what a person pastes.
pub(crate) fn up(ledger: &mut Ledger, folder: &Path, wish: &Wish) -> Result<String> {
    packages::debian(&[
        ("sshd", "openssh-server"),
        ("ssh", "openssh-client"),
        ("nsenter", "util-linux"),
        ("tc", "iproute2"),
    ])?;
    network::up(ledger, folder, wish.nodes, false, &wish.rate)?;
    // Debian's own service makes it at its start; every sshd needs it.
    fs::create_dir_all("/run/sshd")?;
    let sockets = super::sockets(ledger)?;
    let logs = folder.join("log");
    fs::create_dir(&logs)?;
    key(&folder.join("id"), "paceline cluster")?;
    fs::copy(folder.join("id.pub"), folder.join("authorized_keys"))?;
    let mut known = String::new();
    let mut config = String::new();
    for node in ledger.nodes.clone() {
        let (name, address) = (&node.name, &node.address);
        let host_key = folder.join("nodes").join(name).join("host_key");
        key(&host_key, name)?;
        let public = fs::read_to_string(host_key.with_extension("pub"))?;
        known.push_str(&format!("{name},{address} {public}"));
        config.push_str(&format!("Host {name}\n  HostName {address}\n"));
        let settings = folder.join("nodes").join(name).join("sshd_config");
        fs::write(&settings, server(address, &host_key, folder))?;
        let log = logs.join(format!("{name}.log"));
        let settings = settings.to_string_lossy();
        let words = ["/usr/sbin/sshd", "-D", "-e", "-f", &settings];
        process::daemon(ledger, &node, "sshd", &log, &words, &[])?;
    }
    fs::write(folder.join("known_hosts"), known)?;
    let path = folder.join("config");
    config.push_str(&client(folder, &sockets, ledger.number));
    fs::write(&path, config)?;
    let names: Vec<String> = ledger.nodes.iter().map(|node| node.name.clone()).collect();
    let shown = path.to_string_lossy().into_owned();
    process::ready(ledger, 100, "the hosts", &logs, || {
        names
            .iter()
            .all(|name| shell::answers("ssh", &["-F", &shown, name, "true"]))
    })?;
    for name in &names {
        ledger.record(Made::SshMaster {
            config: path.clone(),
            host: name.clone(),
        })?;
        let seen = shell::output("ssh", &["-F", &shown, name, "hostname"])?;
        if seen.trim() != name {
            bail!("{name} calls itself {}", seen.trim());
        }
    }
    let hosts: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    Ok(format!(
        "[engine]\nkind = \"ssh\"\nhosts = [{}]\nssh_config = \"{shown}\"\n\n\
         # by hand: ssh -F {shown} {} hostname\n\
         # this machine, as the hosts see it: {}\n",
        hosts.join(", "),
        names.first().context("a cluster has nodes")?,
        network::host_address(ledger),
    ))
}

fn key(path: &Path, comment: &str) -> Result<()> {
    let path = path.to_string_lossy();
    let words = ["-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", &path];
    shell::output("ssh-keygen", &words).map(drop)
}

/// The daemon's settings: keys only, nothing of this machine's own sshd.
fn server(address: &str, host_key: &Path, folder: &Path) -> String {
    format!(
        "ListenAddress {address}\n\
         Port 22\n\
         HostKey {}\n\
         PidFile none\n\
         AuthorizedKeysFile {}\n\
         StrictModes no\n\
         PasswordAuthentication no\n\
         KbdInteractiveAuthentication no\n\
         PermitRootLogin prohibit-password\n\
         UsePAM no\n\
         UseDNS no\n\
         Subsystem sftp internal-sftp\n\
         ClientAliveInterval 5\n\
         ClientAliveCountMax 3\n",
        host_key.display(),
        folder.join("authorized_keys").display(),
    )
}

/// The client's settings for every host of the cluster.
fn client(folder: &Path, sockets: &Path, number: u8) -> String {
    format!(
        "Host pl{number}-*\n\
         \x20 User root\n\
         \x20 IdentityFile {}\n\
         \x20 IdentitiesOnly yes\n\
         \x20 UserKnownHostsFile {}\n\
         \x20 StrictHostKeyChecking yes\n\
         \x20 BatchMode yes\n\
         \x20 ConnectTimeout 5\n\
         \x20 ServerAliveInterval 5\n\
         \x20 ServerAliveCountMax 3\n\
         \x20 ControlMaster auto\n\
         \x20 ControlPath {}/cm-%C\n\
         \x20 ControlPersist 60\n",
        folder.join("id").display(),
        folder.join("known_hosts").display(),
        sockets.display(),
    )
}
