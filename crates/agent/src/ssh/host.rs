//! One host: what it lacks is brought there, and its agent is started.

use super::client::{Client, answer, quoted, quoted_path};
use super::{Cargo, SshError, SshOptions, Way};
use paceline_model::NodeName;
use paceline_wire::Token;
use parking_lot::Mutex;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A host that is to have an agent.
pub(super) struct Host<'a> {
    pub(super) name: &'a str,
    pub(super) node: &'a NodeName,
    pub(super) client: &'a Client,
    pub(super) options: &'a SshOptions,
}

/// A host whose agent was started.
pub(super) struct Running {
    child: Child,
    /// Held open: its end tells the agent that we are gone.
    stdin: Option<ChildStdin>,
    said: Arc<Mutex<Said>>,
    /// Where the copied data are.
    pub(super) data: Option<PathBuf>,
}

#[derive(Default)]
struct Said {
    /// The agent's exit code, once its shell has told it.
    ended: Option<String>,
    /// The last lines of stderr.
    errors: Vec<String>,
}

/// What marks a line as ours: login scripts may print anything.
const MARK: &str = "PACELINE-HOST";
/// Lines of stderr that are kept.
const KEPT: usize = 8;
/// How long an agent may take to end when it is let go.
const FAREWELL: Duration = Duration::from_secs(5);

impl Host<'_> {
    pub(super) fn start(
        &self,
        cargo: &Cargo,
        way: &Way,
        port: u16,
        token: &Token,
        group: &str,
    ) -> Result<Running, SshError> {
        let home = self.look(cargo)?;
        let program = match self.options.ships_program {
            true => home
                .cache
                .join("bin")
                .join(&cargo.program_hash)
                .join("paceline"),
            false => self.options.program.clone(),
        };
        if !home.has_program && self.options.ships_program {
            self.ship_program(&program)?;
        }
        let data = cargo
            .data
            .as_ref()
            .map(|parcel| home.cache.join("data").join(&parcel.hash));
        if let (Some(parcel), Some(data), false) = (&cargo.data, &data, home.has_data) {
            self.ship_data(parcel, data)?;
        }
        self.start_agent(&program, data, way, port, token, group)
    }

    /// What the host is and has.
    fn look(&self, cargo: &Cargo) -> Result<Found, SshError> {
        let data = cargo.data.as_ref().map_or("", |parcel| &parcel.hash);
        let script = format!(
            r#"c="$HOME/.cache/paceline"; p=no; d=no
[ -x "$c/bin/{}/paceline" ] && p=yes
[ -n "{data}" ] && [ -d "$c/data/{data}" ] && d=yes
echo "{MARK} $p $d $(uname -s)-$(uname -m) $c""#,
            cargo.program_hash
        );
        let answer = self
            .client
            .ask(self.name, &script, None)
            .map_err(SshError::Client)?;
        let line = answer.out.lines().find_map(|line| line.strip_prefix(MARK));
        let words: Vec<&str> = line.unwrap_or("").trim().splitn(4, ' ').collect();
        let &[program, data, machine, cache] = words.as_slice() else {
            return Err(SshError::Unreachable {
                host: self.name.to_owned(),
                said: last_words(&answer.err),
            });
        };
        let own = rustix::system::uname();
        let wanted = format!(
            "{}-{}",
            own.sysname().to_string_lossy(),
            own.machine().to_string_lossy()
        );
        if self.options.ships_program && machine != wanted {
            return Err(SshError::OtherMachine {
                host: self.name.to_owned(),
                found: machine.to_owned(),
                wanted,
            });
        }
        Ok(Found {
            has_program: program == "yes",
            has_data: data == "yes",
            cache: PathBuf::from(cache),
        })
    }

    /// Copies the program; it is there under its name only once it is whole.
    fn ship_program(&self, to: &std::path::Path) -> Result<(), SshError> {
        let from = &self.options.program;
        let unreadable = |source| SshError::Parcel {
            path: from.clone(),
            source,
        };
        let file = File::open(from).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let to = quoted_path(to);
        let script = format!(
            r#"set -e; umask 077; t={to}.$$; mkdir -p "$(dirname {to})"; cat >"$t"
[ "$(wc -c <"$t")" -eq {size} ]; chmod 700 "$t"; mv "$t" {to}; echo {MARK}"#
        );
        let answer = self
            .client
            .ask(self.name, &script, Some(file))
            .map_err(SshError::Client)?;
        self.expect_mark("the program", &answer.out, &answer.err)
    }

    /// Copies the data; they are there under their name only once they are whole.
    fn ship_data(&self, parcel: &super::Parcel, to: &std::path::Path) -> Result<(), SshError> {
        let to = quoted_path(to);
        let script = format!(
            r#"set -e; umask 077; t={to}.$$; mkdir -p "$t"; tar -xf - -C "$t"
[ -d {to} ] && rm -rf "$t" || mv "$t" {to}; echo {MARK}"#
        );
        #[expect(
            clippy::disallowed_methods,
            reason = "`tar` packs what is copied to hosts"
        )]
        let mut tar = std::process::Command::new("tar");
        tar.args(["-C"])
            .arg(&parcel.base)
            .args(["-h", "--no-recursion", "--null", "-cf", "-", "-T", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut tar = tar.spawn().map_err(SshError::Client)?;
        let list = parcel.list();
        let stdin = tar.stdin.take();
        let feeding = std::thread::spawn(move || {
            if let Some(mut stdin) = stdin {
                // A `tar` that ends early says so by its exit code.
                let _ = stdin.write_all(&list);
            }
        });
        let packed = tar.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let mut command = self.client.command(self.name, &script);
        command
            .stdin(packed)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let answer = answer(command.spawn().map_err(SshError::Client)?);
        let answer = answer.map_err(SshError::Client)?;
        // It has nothing more to wait for.
        let _ = feeding.join();
        let packed = tar.wait().map_err(SshError::Client)?;
        if !packed.success() {
            return Err(self.not_shipped("the data", "`tar` does not pack them"));
        }
        self.expect_mark("the data", &answer.out, &answer.err)
    }

    fn expect_mark(&self, what: &'static str, out: &str, err: &str) -> Result<(), SshError> {
        match out.lines().any(|line| line.trim() == MARK) {
            true => Ok(()),
            false => Err(self.not_shipped(what, &last_words(err))),
        }
    }

    fn not_shipped(&self, what: &'static str, said: &str) -> SshError {
        SshError::Ship {
            host: self.name.to_owned(),
            what,
            said: said.to_owned(),
        }
    }

    fn start_agent(
        &self,
        program: &std::path::Path,
        data: Option<PathBuf>,
        way: &Way,
        port: u16,
        token: &Token,
        group: &str,
    ) -> Result<Running, SshError> {
        // The first word of $SSH_CONNECTION is where we are, as the host sees it;
        // the third is where it was reached.
        let socket = format!("/tmp/paceline-{}-{port}.sock", self.options.key);
        let controller = match way {
            Way::Back => format!(
                r#"a=${{SSH_CONNECTION%% *}}; case $a in *:*) a="[$a]";; esac; a="tcp://$a:{port}""#
            ),
            Way::To(host, _) => {
                let host = match host.contains(':') {
                    true => format!("[{host}]"),
                    false => host.clone(),
                };
                format!("a={}", quoted(&format!("tcp://{host}:{port}")))
            }
            Way::Tunnel => format!("a={}", quoted(&format!("unix://{socket}"))),
        };
        let script = format!(
            r#"{controller}; s=${{SSH_CONNECTION#* * }}; s=${{s%% *}}
{} agent --controller "$a" --address "$s" --node {} --group {} --key {} --silence {}ms --attached
echo "{MARK} $?""#,
            quoted_path(program),
            quoted(self.node.as_str()),
            quoted(group),
            quoted(&self.options.key),
            self.options.silence.as_millis(),
        );
        let mut command = match way {
            Way::Tunnel => {
                let forward = format!("{socket}:127.0.0.1:{port}");
                self.client.forwarding(self.name, &forward, &script)
            }
            Way::Back | Way::To(..) => self.client.command(self.name, &script),
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(SshError::Client)?;
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            // Neither a command line nor an environment hides it as well.
            let handed = writeln!(stdin, "{}", token.reveal());
            handed.map_err(SshError::Client)?;
        }
        let said = Arc::new(Mutex::new(Said::default()));
        listen(child.stdout.take(), &said, |said, line| {
            if let Some(code) = line.strip_prefix(MARK) {
                said.ended = Some(code.trim().to_owned());
            }
        });
        listen(child.stderr.take(), &said, |said, line| {
            if said.errors.len() == KEPT {
                said.errors.remove(0);
            }
            said.errors.push(line.to_owned());
        });
        Ok(Running {
            child,
            stdin,
            said,
            data,
        })
    }
}

struct Found {
    has_program: bool,
    has_data: bool,
    cache: PathBuf,
}

impl Running {
    /// Whether the agent has ended: its shell told it. A line that is merely cut
    /// tells nothing.
    pub(super) fn has_ended(&mut self) -> bool {
        self.said.lock().ended.is_some()
    }

    /// What was said, if the agent or the way to its host has ended.
    pub(super) fn ended(&mut self) -> Option<String> {
        let is_over = self.has_ended() || matches!(self.child.try_wait(), Ok(Some(_)) | Err(_));
        if !is_over {
            return None;
        }
        // What it said last may still be on its way.
        std::thread::sleep(Duration::from_millis(50));
        let said = self.said.lock();
        Some(match said.errors.as_slice() {
            [] => match &said.ended {
                Some(code) => format!("exit code {code}"),
                None => "the connection ended".to_owned(),
            },
            lines => lines.join("; "),
        })
    }

    /// Lets the agent go and waits for it.
    pub(super) fn end(mut self) {
        drop(self.stdin.take());
        let pause = Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        while waited < FAREWELL {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(pause);
            waited += pause;
        }
        // A cut line: the agent ends by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hears a stream, line by line, on a thread of its own.
fn listen(
    from: Option<impl Read + Send + 'static>,
    said: &Arc<Mutex<Said>>,
    mut hear: impl FnMut(&mut Said, &str) + Send + 'static,
) {
    let Some(from) = from else { return };
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        // A line without an end is cut, so that it cannot fill the memory.
        let mut reader = BufReader::new(from);
        let mut line = Vec::new();
        while let Ok(1..) = reader.by_ref().take(4096).read_until(b'\n', &mut line) {
            hear(&mut said.lock(), String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    });
}

/// The last line that says something.
fn last_words(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .next_back()
        .map_or_else(|| "it said nothing".to_owned(), str::to_owned)
}
