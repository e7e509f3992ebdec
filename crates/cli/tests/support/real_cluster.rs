//! A real cluster of Spark or Ray for one test, as `cargo xtask cluster` makes it:
//! nodes are network namespaces, the daemons are the real ones.

use super::sshd::{processes, processes_with};
use paceline_testkit::wait_within;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long the daemons of a cluster may take for anything, on a machine that is
/// busy with other tests: an application of Spark needs 15 s of an idle one.
pub(crate) const CLUSTER_PATIENCE: Duration = Duration::from_secs(400);
/// The same as a key of `[engine]`, a little less: the engine says what it waited
/// for, which a test that gives up cannot.
pub(crate) const ENGINE_WAIT: Duration = Duration::from_secs(300);

/// A cluster that goes with the value.
pub(crate) struct RealCluster {
    kind: &'static str,
    folder: PathBuf,
    /// What `up` printed: the section to paste.
    up: String,
}

impl RealCluster {
    /// So many nodes; in words why this machine has none.
    pub(crate) fn start(kind: &'static str, dir: &Path, nodes: u32) -> Result<Self, String> {
        let user = std::fs::metadata("/proc/self").map_err(|error| error.to_string())?;
        if std::os::unix::fs::MetadataExt::uid(&user) != 0 {
            return Err(format!("a {kind} cluster of namespaces needs root"));
        }
        let python = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../target/cluster-python")
            .join(kind)
            .join("complete");
        if !python.exists() {
            return Err(format!(
                "there is no Python with {kind}; `cargo xtask cluster prepare` makes it"
            ));
        }
        if !xtask().exists() {
            return Err("there is no paceline-xtask; `cargo xtask` builds it".to_owned());
        }
        let mut cluster = Self {
            kind,
            folder: dir.join("cluster"),
            up: String::new(),
        };
        cluster.up = cluster.tell(&["up", "--nodes", &nodes.to_string()])?;
        Ok(cluster)
    }

    /// The `[engine]` section for the cluster. The nodes see Paceline's program
    /// where it is.
    pub(crate) fn engine(&self, more: &str) -> String {
        let start = self.up.find("[engine]").expect("`up` prints the section");
        let section = self.up[start..].split("\n\n").next().unwrap_or_default();
        format!("{section}\nbinary = \"shared\"\n{more}\n")
    }

    /// The value of a key of that section.
    pub(crate) fn value(&self, key: &str) -> String {
        let section = self.engine("");
        let found = section.lines().find_map(|line| {
            let (own, value) = line.split_once(" = ")?;
            (own == key).then(|| value.trim_matches('"').to_owned())
        });
        found.unwrap_or_else(|| panic!("no `{key}` in {section}"))
    }

    /// Starts a run that sleeps on `nodes` nodes: on each in its command and in a
    /// session that the command makes of its own. Returns once all of them sleep.
    pub(crate) fn sleeping(&self, dir: &Path, nodes: usize, mark: &str) -> Child {
        let wait = ENGINE_WAIT.as_secs();
        let engine = self.engine(&format!("nodes = {nodes}\nwait = \"{wait}s\""));
        std::fs::create_dir_all(dir).expect("a test may write to its own directory");
        std::fs::write(dir.join("engine.toml"), engine).expect("the same");
        let script = format!("setsid sleep {mark} & echo up; exec sleep {mark}");
        let words = "run --quiet --out record --engine engine.toml -- sh -c".split(' ');
        let mut child = super::paceline(dir, words.chain([script.as_str()]))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be started");
        let mut has_ended = false;
        wait_within(CLUSTER_PATIENCE, "every node runs", || {
            has_ended = child.try_wait().is_ok_and(|status| status.is_some());
            has_ended || processes(&["sleep", mark]).len() == 2 * nodes
        });
        if has_ended {
            let ran = super::Ran::from(child.wait_with_output().expect("it has ended"));
            panic!("the run ended instead: {ran:?}");
        }
        child
    }

    /// This cluster's processes of whose command `part` is a part. Another test, or
    /// another checkout, may have a cluster of the same kind at the same time.
    pub(crate) fn processes_with(&self, part: &str) -> Vec<u32> {
        let folder = self.folder.display().to_string();
        let own = processes_with(folder.as_bytes());
        let alike = processes_with(part.as_bytes());
        own.into_iter().filter(|it| alike.contains(it)).collect()
    }

    fn tell(&self, words: &[&str]) -> Result<String, String> {
        #[expect(
            clippy::disallowed_methods,
            reason = "tests prepare their surroundings"
        )]
        let mut command = Command::new(xtask());
        let ran = command
            .args(["cluster", self.kind, "--folder"])
            .arg(&self.folder)
            .args(words)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let out = String::from_utf8_lossy(&ran.stdout).into_owned();
        match ran.status.success() {
            true => Ok(out),
            false => Err(format!("{out}{}", String::from_utf8_lossy(&ran.stderr))),
        }
    }
}

impl Drop for RealCluster {
    fn drop(&mut self) {
        if let Err(said) = self.tell(&["down"])
            && !std::thread::panicking()
        {
            panic!("the cluster did not go: {said}");
        }
    }
}

/// The developers' program, which stands beside the one that is tested.
fn xtask() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_paceline")).with_file_name("paceline-xtask")
}
