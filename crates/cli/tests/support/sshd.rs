//! Hosts for tests: an `sshd` of the test's own per host, on a port of this
//! machine's loopback.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Hosts with names of this test's own; they go with the value.
pub(crate) struct Hosts {
    dir: PathBuf,
    servers: Vec<Child>,
    pub(crate) names: Vec<String>,
}

const SERVER: &str = "/usr/sbin/sshd";

fn program(name: &str) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests prepare their surroundings"
    )]
    Command::new(name)
}

impl Hosts {
    /// So many hosts; in words why this machine has none.
    pub(crate) fn start(dir: &Path, count: usize) -> Result<Self, String> {
        if !Path::new(SERVER).exists() {
            return Err("there is no sshd (openssh-server)".to_owned());
        }
        // The directory that sshd keeps empty for its unprivileged part.
        let _ = std::fs::create_dir_all("/run/sshd");
        std::fs::create_dir_all(dir).map_err(|error| error.to_string())?;
        let mut hosts = Self {
            dir: dir.to_owned(),
            servers: Vec::new(),
            names: (1..=count)
                .map(|i| format!("n{i}-{}", std::process::id()))
                .collect(),
        };
        hosts.key("id")?;
        let (mut config, mut known) = (String::new(), String::new());
        let ports = paceline_engine::host::free_ports(count).map_err(|e| e.to_string())?;
        for (name, port) in hosts.names.clone().into_iter().zip(ports) {
            let public = hosts.key(&name)?;
            let at = |file: &str| dir.join(file).display().to_string();
            known += &format!("[127.0.0.1]:{port} {public}\n");
            config += &format!(
                "Host {name}\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  \
                 IdentitiesOnly yes\n  UserKnownHostsFile {}\n  StrictHostKeyChecking yes\n",
                at("id"),
                at("known_hosts"),
            );
            let server = format!(
                "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nPidFile none\n\
                 AuthorizedKeysFile {}\nStrictModes no\nPasswordAuthentication no\n\
                 KbdInteractiveAuthentication no\nUsePAM no\nUseDNS no\n",
                at(&name),
                at("id.pub"),
            );
            let file = dir.join(format!("{name}.conf"));
            std::fs::write(&file, server).map_err(|error| error.to_string())?;
            let server = program(SERVER)
                .args(["-D", "-e", "-f"])
                .arg(&file)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|error| error.to_string())?;
            hosts.servers.push(server);
        }
        for (file, text) in [("config", &config), ("known_hosts", &known)] {
            std::fs::write(dir.join(file), text).map_err(|error| error.to_string())?;
        }
        hosts.wait()?;
        Ok(hosts)
    }

    /// Makes a key and gives its public half.
    fn key(&self, name: &str) -> Result<String, String> {
        let path = self.dir.join(name);
        let made = program("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&path)
            .output()
            .map_err(|error| error.to_string())?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        std::fs::read_to_string(path.with_extension("pub")).map_err(|error| error.to_string())
    }

    /// Waits until every host lets us in.
    fn wait(&self) -> Result<(), String> {
        for name in &self.names {
            let mut said = String::new();
            let reached = (0..50).any(|_| {
                let Output { status, stderr, .. } = match self.ssh(name, "true") {
                    Ok(output) => output,
                    Err(error) => {
                        said = error.to_string();
                        return false;
                    }
                };
                said = String::from_utf8_lossy(&stderr).into_owned();
                if !status.success() {
                    std::thread::sleep(Duration::from_millis(200));
                }
                status.success()
            });
            if !reached {
                return Err(format!("{name}: {said}"));
            }
        }
        Ok(())
    }

    fn ssh(&self, host: &str, command: &str) -> std::io::Result<Output> {
        program("ssh")
            .arg("-F")
            .arg(self.config())
            .args([
                "-o",
                "BatchMode=yes",
                "-o",
                "ConnectTimeout=10",
                host,
                command,
            ])
            .stdin(Stdio::null())
            .output()
    }

    /// The client's configuration.
    pub(crate) fn config(&self) -> PathBuf {
        self.dir.join("config")
    }

    /// The `[engine]` section for all hosts.
    pub(crate) fn engine(&self, more: &str) -> String {
        format!(
            "[engine]\nkind = \"ssh\"\nhosts = {:?}\nssh_config = {:?}\nbinary = \"shared\"\n{more}",
            self.names,
            self.config(),
        )
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// The processes whose command line is exactly these words, zombies aside.
pub(crate) fn processes(words: &[&str]) -> Vec<u32> {
    let wanted: Vec<u8> = words
        .iter()
        .flat_map(|word| word.bytes().chain([0]))
        .collect();
    all_processes(|command| command == wanted)
}

/// The agents that are started with this word.
pub(crate) fn agents(word: &str) -> Vec<u32> {
    all_processes(|command| {
        let words: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&b"agent".as_slice()) && words.contains(&word.as_bytes())
    })
}

/// The processes of whose command `part` is a part.
pub(crate) fn processes_with(part: &[u8]) -> Vec<u32> {
    all_processes(|command| command.windows(part.len()).any(|it| it == part))
}

/// The parents of a process, the nearest first.
pub(crate) fn ancestors(pid: u32) -> Vec<u32> {
    let parent = |pid: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // A process's name may hold anything, but for what follows the last bracket.
        let (_, rest) = text.rsplit_once(')')?;
        rest.split_whitespace().nth(1)?.parse().ok()
    };
    std::iter::successors(Some(pid), parent)
        .skip(1)
        .take_while(|pid| *pid > 1)
        .collect()
}

fn all_processes(is_wanted: impl Fn(&[u8]) -> bool) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries.flatten().filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        (!command.is_empty() && is_wanted(&command)).then_some(number)
    });
    numbers.collect()
}
