//! What a cluster consists of, in a file that `down` undoes from its end to its
//! beginning: all that `up` made, also an `up` that was killed half way, and
//! nothing else.

use super::process;
use crate::shell;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// One thing that `up` made on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// A folder with all that is in it.
    Folder(PathBuf),
    /// A folder that others may use too: it goes when it is empty.
    SharedFolder(PathBuf),
    /// A network link; its other end goes with it.
    Link(String),
    /// A network namespace with every process in it.
    Namespace(String),
    /// Control groups of this name, below every controller.
    Cgroups(String),
    /// A process: its start tells it from a later one with the same id.
    Process {
        pid: u32,
        started: u64,
        what: String,
    },
    /// A client's shared connections, by the configuration that opened them.
    SshMaster { config: PathBuf, host: String },
}

/// One node as `up` made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its host name, the name of its namespace too.
    pub(crate) name: String,
    pub(crate) address: String,
    /// The process that keeps its mounts and its name.
    pub(crate) holder: u32,
}

/// The file and what it says.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    /// The number that makes names and addresses the cluster's own.
    pub(crate) number: u8,
    pub(crate) nodes: Vec<Node>,
    made: Vec<Made>,
    /// What a person pastes; present once `up` has come to its end.
    pub(crate) instructions: Option<String>,
}

impl Ledger {
    /// Makes `folder`, which must not exist, and an empty ledger in it.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let parent = folder.parent().context("the folder lies below target")?;
        fs::create_dir_all(parent)?;
        // Fails if another `up` was faster.
        fs::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut ledger = Self {
            path: folder.join("ledger.json"),
            number: 0,
            nodes: Vec::new(),
            made: Vec::new(),
            instructions: None,
        };
        ledger.record(Made::Folder(folder.to_owned()))?;
        Ok(ledger)
    }

    /// What was written below `folder`, if anything was.
    pub(crate) fn open(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join("ledger.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(_) if !folder.exists() => return Ok(None),
            Err(error) => bail!(
                "{}: {error}; remove the folder by hand if it is not wanted",
                path.display()
            ),
        };
        parse(&path, &text)
            .with_context(|| format!("{} is damaged", path.display()))
            .map(Some)
    }

    /// Writes down that `made` exists or is about to.
    pub(crate) fn record(&mut self, made: Made) -> Result<()> {
        self.made.push(made);
        self.save()
    }

    /// Writes the file, whole or not at all.
    pub(crate) fn save(&self) -> Result<()> {
        let nodes: Vec<Value> = self
            .nodes
            .iter()
            .map(|node| json!({"name": node.name, "address": node.address, "holder": node.holder}))
            .collect();
        let value = json!({
            "number": self.number,
            "nodes": nodes,
            "made": self.made.iter().map(Made::to_json).collect::<Vec<_>>(),
            "instructions": self.instructions,
        });
        let partial = self.path.with_extension("partial");
        fs::write(&partial, format!("{value:#}\n"))?;
        fs::rename(&partial, &self.path)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Daemons that should live and do not.
    pub(crate) fn dead(&self) -> Vec<&str> {
        self.made
            .iter()
            .filter_map(|made| match made {
                Made::Process { pid, started, what } if !process::lives(*pid, *started) => {
                    Some(what.as_str())
                }
                _ => None,
            })
            .collect()
    }

    /// A node by its name.
    pub(crate) fn node(&self, name: &str) -> Result<&Node> {
        self.nodes
            .iter()
            .find(|node| node.name == name)
            .with_context(|| {
                let known: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
                format!("no node `{name}`; there are {}", known.join(", "))
            })
    }

    /// Removes everything, the newest first. What resists is told and stays in
    /// the file, so that `down` can be said again.
    pub(crate) fn undo(mut self) -> Result<()> {
        let mut resisted = Vec::new();
        while let Some(made) = self.made.pop() {
            // The last one is the folder with the file itself.
            if self.made.is_empty() && !resisted.is_empty() {
                self.made.push(made);
                break;
            }
            if let Err(error) = made.remove() {
                println!("{error:#}");
                resisted.push(made);
            }
        }
        if resisted.is_empty() {
            return Ok(());
        }
        let count = resisted.len();
        self.made.extend(resisted.into_iter().rev());
        self.instructions = None;
        self.save()?;
        bail!("{count} things could not be removed; say `down` again")
    }
}

impl Made {
    fn remove(&self) -> Result<()> {
        match self {
            Self::Folder(path) => match fs::remove_dir_all(path) {
                Err(error) if path.exists() => {
                    Err(error).with_context(|| format!("cannot remove {}", path.display()))
                }
                _ => Ok(()),
            },
            Self::SharedFolder(path) => {
                let is_empty = fs::read_dir(path).is_ok_and(|mut inside| inside.next().is_none());
                if is_empty {
                    // `ip netns` mounts its folder; where nothing is mounted this does nothing.
                    shell::answers("umount", &[&path.to_string_lossy()]);
                    fs::remove_dir(path)
                        .with_context(|| format!("cannot remove {}", path.display()))?;
                }
                Ok(())
            }
            Self::Link(name) => {
                if Path::new("/sys/class/net").join(name).exists() {
                    shell::output("ip", &["link", "delete", name])?;
                }
                Ok(())
            }
            Self::Namespace(name) => {
                if !Path::new("/run/netns").join(name).exists() {
                    return Ok(());
                }
                process::end_all(&process::in_namespace(name)?)?;
                shell::output("ip", &["netns", "delete", name]).map(drop)
            }
            Self::Cgroups(name) => remove_cgroups(name),
            Self::Process { pid, started, .. } => process::end(*pid, *started),
            Self::SshMaster { config, host } => {
                let config = config.to_string_lossy();
                // Fails where nobody has connected, which is as good.
                shell::answers("ssh", &["-F", &config, "-O", "exit", host]);
                Ok(())
            }
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Folder(path) => json!({"folder": path}),
            Self::SharedFolder(path) => json!({"shared_folder": path}),
            Self::Link(name) => json!({"link": name}),
            Self::Namespace(name) => json!({"namespace": name}),
            Self::Cgroups(name) => json!({"cgroups": name}),
            Self::Process { pid, started, what } => {
                json!({"process": what, "pid": pid, "started": started})
            }
            Self::SshMaster { config, host } => json!({"ssh_master": host, "config": config}),
        }
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        let number = |key: &str| value.get(key)?.as_u64();
        if let Some(path) = text("folder") {
            return Some(Self::Folder(path.into()));
        }
        if let Some(path) = text("shared_folder") {
            return Some(Self::SharedFolder(path.into()));
        }
        if let Some(name) = text("link") {
            return Some(Self::Link(name));
        }
        if let Some(name) = text("namespace") {
            return Some(Self::Namespace(name));
        }
        if let Some(name) = text("cgroups") {
            return Some(Self::Cgroups(name));
        }
        if let Some(host) = text("ssh_master") {
            let config = text("config")?.into();
            return Some(Self::SshMaster { config, host });
        }
        Some(Self::Process {
            what: text("process")?,
            pid: u32::try_from(number("pid")?).ok()?,
            started: number("started")?,
        })
    }
}

fn parse(path: &Path, text: &str) -> Result<Ledger> {
    let value: Value = serde_json::from_str(text)?;
    let list = |key: &str| value[key].as_array().cloned().unwrap_or_default();
    let node = |node: &Value| {
        Some(Node {
            name: node["name"].as_str()?.to_owned(),
            address: node["address"].as_str()?.to_owned(),
            holder: u32::try_from(node["holder"].as_u64()?).ok()?,
        })
    };
    Ok(Ledger {
        path: path.to_owned(),
        number: value["number"]
            .as_u64()
            .and_then(|number| u8::try_from(number).ok())
            .context("it has no number")?,
        nodes: list("nodes")
            .iter()
            .map(|entry| node(entry).with_context(|| format!("no node: {entry}")))
            .collect::<Result<_>>()?,
        made: list("made")
            .iter()
            .map(|entry| Made::from_json(entry).with_context(|| format!("unknown: {entry}")))
            .collect::<Result<_>>()?,
        instructions: value["instructions"].as_str().map(str::to_owned),
    })
}

/// Removes the control groups of `name` below every controller, leaves first:
/// the kernel refuses a group that has children.
fn remove_cgroups(name: &str) -> Result<()> {
    let Ok(controllers) = fs::read_dir("/sys/fs/cgroup") else {
        return Ok(());
    };
    for controller in controllers.flatten() {
        let group = controller.path().join(name);
        if group.is_dir() {
            // A process that was just killed leaves its group a moment later.
            process::until(50, || remove_groups_below(&group).is_ok())
                .with_context(|| format!("cannot remove {}", group.display()))?;
        }
    }
    Ok(())
}

fn remove_groups_below(group: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(group)?.flatten() {
        if entry.file_type()?.is_dir() {
            remove_groups_below(&entry.path())?;
        }
    }
    fs::remove_dir(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_reads_back_as_it_was_written() {
        let folder = std::env::temp_dir().join(format!("paceline-ledger-{}", std::process::id()));
        let mut ledger = Ledger::create(&folder).unwrap();
        ledger.number = 7;
        ledger.nodes.push(Node {
            name: "pl7-1".to_owned(),
            address: "10.77.7.1".to_owned(),
            holder: 4,
        });
        let all = [
            Made::SharedFolder("/run/netns".into()),
            Made::Link("pl7".to_owned()),
            Made::Namespace("pl7-1".to_owned()),
            Made::Cgroups("slurm_pl7-1".to_owned()),
            Made::Process {
                pid: 3,
                started: 9,
                what: "sshd".to_owned(),
            },
            Made::SshMaster {
                config: "/x/config".into(),
                host: "pl7-1".to_owned(),
            },
        ];
        for made in &all {
            ledger.record(made.clone()).unwrap();
        }
        let read = Ledger::open(&folder).unwrap().unwrap();
        assert_eq!(read.made[1..], all);
        assert_eq!(read.nodes, ledger.nodes);
        assert_eq!((read.number, read.instructions), (7, None));
        // Two `up` at once: the second one is told.
        assert!(Ledger::create(&folder).is_err());
        fs::remove_dir_all(&folder).unwrap();
        assert!(Ledger::open(&folder).unwrap().is_none());
    }

    #[test]
    fn undoing_leaves_a_stranger_with_a_recycled_id_alone() {
        let folder = std::env::temp_dir().join(format!("paceline-undo-{}", std::process::id()));
        let mut ledger = Ledger::create(&folder).unwrap();
        // This very process, but with another start: as if the id had come round.
        let pid = std::process::id();
        let started = process::started(pid).unwrap();
        ledger
            .record(Made::Process {
                pid,
                started: started + 1,
                what: "somebody else".to_owned(),
            })
            .unwrap();
        assert_eq!(ledger.dead(), ["somebody else"]);
        ledger.undo().unwrap();
        assert!(!folder.exists());
    }
}
