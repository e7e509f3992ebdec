//! `cluster KIND up|down`: a real cluster on this machine, to try engines and to
//! test them.
//!
//! Nodes are network namespaces with their own addresses, host names and
//! limited links; the daemons are the real ones. Memory, cores and files are
//! this machine's, shared by all nodes, but for `/var/tmp`.

mod http;
mod ledger;
mod network;
mod packages;
mod process;
mod ray;
mod slurm;
mod spark;
mod ssh;

use crate::shell;
use anyhow::{Context, Result, bail};
use ledger::{Ledger, Made};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const USAGE: &str = "\
usage: cargo xtask cluster KIND [--folder DIR] COMMAND, as root

  KIND is ssh, slurm, spark or ray; DIR tells several of a kind apart

  prepare (without KIND)          fetches the Python packages of spark and ray
  up [--nodes 3] [--rate 1gbit]   starts it and prints the [engine] section to paste
  down                            ends and removes all of it; installed packages stay
  status                          the section again, and which daemons have died
  in NODE WORD…                   a command inside a node
  slow NODE RATE | fast NODE      limits a node's link, as in 10mbit; takes the limit off
  cut NODE | heal NODE            unplugs a node; plugs it in again";

/// What `up` was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) nodes: u8,
    pub(crate) rate: String,
}

type Up = fn(&mut Ledger, &Path, &Wish) -> Result<String>;

const KINDS: &[(&str, Up)] = &[
    ("ssh", ssh::up),
    ("slurm", slurm::up),
    ("spark", spark::up),
    ("ray", ray::up),
];

/// Fetches what clusters of Spark and Ray consist of, so that tests find it: as
/// root of a machine that may install, and at most once.
pub(crate) fn prepare() {
    let is_root = shell::output("id", &["-u"]).is_ok_and(|user| user.trim() == "0");
    if !is_root {
        println!("clusters of Spark and Ray need root: their tests check nothing");
        return;
    }
    for (kind, fetch) in [
        ("spark", spark::fetch as fn() -> Result<PathBuf>),
        ("ray", ray::fetch),
    ] {
        if let Err(error) = fetch() {
            println!("without a Python that has {kind} its tests check nothing: {error:#}");
        }
    }
}

/// Does what `words` say.
pub(crate) fn cluster(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words == ["prepare"] {
        prepare();
        return Ok(());
    }
    let [kind, rest @ ..] = &words[..] else {
        bail!("{USAGE}");
    };
    let Some((_, start)) = KINDS.iter().find(|(name, _)| name == kind) else {
        bail!("there is no cluster of kind `{kind}`\n\n{USAGE}");
    };
    if shell::output("id", &["-u"])?.trim() != "0" {
        bail!("network namespaces need root");
    }
    let (folder, rest) = match rest {
        ["--folder", folder, rest @ ..] => (std::path::absolute(folder)?, rest),
        rest => (
            shell::workspace_root()?.join("target/cluster").join(kind),
            rest,
        ),
    };
    match rest {
        ["up", options @ ..] => up(kind, &folder, &wish(options)?, *start),
        ["down"] => down(kind, &folder),
        ["status"] => status(&existing(kind, &folder)?),
        ["in", node, words @ ..] if !words.is_empty() => {
            let ledger = existing(kind, &folder)?;
            let status = process::inside(ledger.node(node)?, words).status()?;
            std::process::exit(status.code().unwrap_or(1));
        }
        ["slow", node, rate] => network::slow(existing(kind, &folder)?.node(node)?, rate),
        ["fast", node] => network::fast(existing(kind, &folder)?.node(node)?),
        ["cut", node] => network::cut(existing(kind, &folder)?.node(node)?),
        ["heal", node] => {
            let ledger = existing(kind, &folder)?;
            network::heal(&ledger, ledger.node(node)?)
        }
        _ => bail!("{USAGE}"),
    }
}

fn wish(options: &[&str]) -> Result<Wish> {
    let mut wish = Wish {
        nodes: 3,
        rate: "1gbit".to_owned(),
    };
    let mut rest = options;
    while let [name, value, more @ ..] = rest {
        match *name {
            "--nodes" => {
                wish.nodes = value
                    .parse()
                    .ok()
                    .filter(|nodes| (1..=32).contains(nodes))
                    .with_context(|| format!("--nodes {value}: 1 to 32"))?;
            }
            "--rate" => (*value).clone_into(&mut wish.rate),
            _ => bail!("unknown option {name}\n\n{USAGE}"),
        }
        rest = more;
    }
    match rest {
        [] => Ok(wish),
        [odd, ..] => bail!("{odd} lacks its value\n\n{USAGE}"),
    }
}

fn existing(kind: &str, folder: &Path) -> Result<Ledger> {
    Ledger::open(folder)?
        .with_context(|| format!("no {kind} cluster is up; say `cargo xtask cluster {kind} up`"))
}

fn up(kind: &str, folder: &Path, wish: &Wish, start: Up) -> Result<()> {
    if let Some(ledger) = Ledger::open(folder)? {
        status(&ledger)?;
        println!("the {kind} cluster was already up; nothing was changed");
        return Ok(());
    }
    let mut ledger = Ledger::create(folder)?;
    match start(&mut ledger, folder, wish) {
        Ok(instructions) => {
            println!("{instructions}");
            ledger.instructions = Some(instructions);
            ledger.save()
        }
        Err(error) => {
            println!("taking down what was made");
            match ledger.undo() {
                Ok(()) => Err(error),
                Err(second) => Err(error.context(format!("{second:#}"))),
            }
        }
    }
}

fn down(kind: &str, folder: &Path) -> Result<()> {
    match Ledger::open(folder)? {
        Some(ledger) => ledger.undo(),
        None => {
            println!("no {kind} cluster is up");
            Ok(())
        }
    }
}

fn status(ledger: &Ledger) -> Result<()> {
    let Some(instructions) = &ledger.instructions else {
        bail!("`up` did not come to its end; say `down` first");
    };
    println!("{instructions}");
    let dead = ledger.dead();
    if dead.is_empty() {
        return Ok(());
    }
    bail!("no longer running: {}; say `down` first", dead.join(", "))
}

/// A folder with a short name: the path of a socket has 107 bytes at most, and
/// other users than root must reach it.
fn sockets(ledger: &mut Ledger) -> Result<PathBuf> {
    let folder = PathBuf::from(format!("/run/pl{}", ledger.number));
    ledger.record(Made::Folder(folder.clone()))?;
    fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_nonsense_is_refused() {
        let read = wish(&["--rate", "10mbit", "--nodes", "5"]).unwrap();
        assert_eq!((read.nodes, read.rate.as_str()), (5, "10mbit"));
        for wrong in [&["--nodes"][..], &["--nodes", "0"], &["--size", "3"]] {
            assert!(wish(wrong).is_err(), "{wrong:?}");
        }
    }
}
