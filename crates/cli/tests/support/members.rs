//! A training whose members the test starts itself, each a process.

use super::{paceline, signal};
use paceline_train::{Numbers, TensorFile};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Rows that a test learns in a blink.
pub(crate) const BLOBS: &str = "--data=synthetic:blobs,rows=400,test=200,width=16,classes=3,seed=2";

/// An address of this process alone: every address of 127.0.0.0/8 is this
/// host's, and the process's number is in it, so that no test takes a port that
/// another has just found free.
pub(crate) fn address(port: u16) -> String {
    let pid = std::process::id();
    let [low, middle, high] = [pid & 127, pid >> 7 & 127, pid >> 14];
    format!("tcp://127.{}.{middle}.{}:{port}", 1 + high, 1 + low)
}

/// The numbers of a run's checkpoint, as bits.
pub(crate) fn bits(record: &Path) -> Vec<u32> {
    let path = record.join("checkpoint/model.safetensors");
    let file = TensorFile::read(&path).expect("a checkpoint");
    let mut bits = Vec::new();
    for tensor in file.tensors.values() {
        let Numbers::F32(values) = &tensor.numbers else {
            panic!("parameters are of single precision");
        };
        bits.extend(values.iter().map(|value| value.to_bits()));
    }
    bits
}

/// A process that is listened to, and ended with the test.
pub(crate) struct Talking {
    child: Child,
    out: BufReader<ChildStdout>,
    errors: PathBuf,
    /// What it has said so far.
    pub(crate) said: String,
}

impl Talking {
    /// Starts a command; what it says to stderr goes to a file in its directory.
    pub(crate) fn start(mut command: Command) -> Self {
        let dir = command.get_current_dir().expect("a test's directory");
        let file = tempfile::Builder::new()
            .prefix("stderr")
            .tempfile_in(dir)
            .expect("a file");
        let (file, errors) = file.keep().expect("the file stays");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        Self {
            child,
            out,
            errors,
            said: String::new(),
        }
    }

    /// Listens until a line contains `words`; gives the line.
    #[track_caller]
    pub(crate) fn until(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            let count = self.out.read_line(&mut line).expect("text");
            assert!(
                count > 0,
                "it ended before it said `{words}`: {}{}",
                self.said,
                self.complaints()
            );
            self.said.push_str(&line);
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Listens to the end; gives the exit code, and the signal that ended it.
    pub(crate) fn end(&mut self) -> (Option<i32>, Option<i32>) {
        self.out.read_to_string(&mut self.said).expect("text");
        let status = self.child.wait().expect("it was started here");
        (status.code(), status.signal())
    }

    /// What it said to stderr.
    pub(crate) fn complaints(&self) -> String {
        let mut text = String::new();
        File::open(&self.errors)
            .and_then(|mut file| file.read_to_string(&mut text))
            .expect("the file stays");
        text
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }
}

impl Drop for Talking {
    fn drop(&mut self) {
        // One that has ended already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A trainer that waits for its members, and the commands it gave for them.
pub(crate) struct Trainer {
    pub(crate) talk: Talking,
    commands: Vec<String>,
}

impl Trainer {
    /// Starts the command, and listens until it has named `members` commands.
    #[track_caller]
    pub(crate) fn start(command: Command, members: usize) -> Self {
        let mut talk = Talking::start(command);
        let commands = (0..members)
            .map(|_| talk.until("  paceline ").trim().to_owned())
            .collect();
        Self { talk, commands }
    }

    /// The command that was given for a member, after `change`.
    #[track_caller]
    pub(crate) fn command_for(
        &self,
        dir: &Path,
        member: &str,
        change: impl FnOnce(&str) -> String,
    ) -> Command {
        let (role, rank) = member.split_once(' ').expect("a role and a number");
        let begins = format!("paceline {role} --rank {rank} ");
        let line = self
            .commands
            .iter()
            .find_map(|line| line.strip_prefix(&begins))
            .unwrap_or_else(|| panic!("no command for {member}: {:?}", self.commands));
        // A shell reads the words, as the user's would.
        let own = paceline(dir, [""; 0]);
        let script = format!("exec \"$0\" {role} --rank {rank} {}", change(line));
        #[expect(clippy::disallowed_methods, reason = "tests start the real binary")]
        let mut command = Command::new("sh");
        command
            .args(["-c", &script])
            .arg(own.get_program())
            .current_dir(dir)
            .stdin(Stdio::null());
        for (name, value) in own.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command
    }

    /// Starts a member by its command.
    #[track_caller]
    pub(crate) fn member(&self, dir: &Path, member: &str) -> Talking {
        Talking::start(self.command_for(dir, member, str::to_owned))
    }
}

/// The process in `dir` whose command line has these words after the program's
/// name.
#[track_caller]
pub(crate) fn process(dir: &Path, begins: &[&str]) -> u32 {
    let dir = dir.canonicalize().expect("the test's directory");
    for entry in std::fs::read_dir("/proc").expect("Linux").flatten() {
        let process = entry.path();
        let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let mut words = words.split(|byte| *byte == 0).skip(1);
        let is_meant = begins
            .iter()
            .all(|word| words.next() == Some(word.as_bytes()));
        if is_meant && std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == dir) {
            let name = entry.file_name();
            return name.to_string_lossy().parse().expect("a process number");
        }
    }
    panic!("no {begins:?} runs in {}", dir.display());
}
