//! Slurm's own programs: `sbatch`, `squeue`, `scancel`.

use super::SlurmError;
use std::io::Write;
use std::process::{Command, Stdio};

/// The queue of a cluster, and our name in it.
pub(super) struct Queue {
    name: String,
}

/// Where a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JobState {
    Waiting,
    Running,
    /// It has ended, or Slurm does not know it any more.
    Over(String),
}

impl Queue {
    pub(super) fn new(name: String) -> Self {
        Self { name }
    }

    /// Submits a script for so many nodes, and gives the job's id.
    pub(super) fn submit(
        &self,
        nodes: u32,
        words: &[String],
        script: &str,
    ) -> Result<String, SlurmError> {
        let mut sbatch = command("sbatch");
        sbatch
            .arg("--parsable")
            .arg(format!("--job-name={}", self.name))
            .arg(format!("--nodes={nodes}"))
            // A requeued job would begin a run that somebody has given up.
            .args(["--no-requeue", "--output=/dev/null", "--error=/dev/null"])
            .args(words);
        let out = run("sbatch", sbatch, Some(script))?;
        // `--parsable` prints ID or ID;CLUSTER.
        let id = out.trim().split(';').next().unwrap_or_default();
        match id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_digit()) {
            true => Err(SlurmError::Refused {
                program: "sbatch",
                said: format!("{:?} is no job id", out.trim()),
            }),
            false => Ok(id.to_owned()),
        }
    }

    pub(super) fn state(&self, job: &str) -> Result<JobState, SlurmError> {
        let mut squeue = command("squeue");
        squeue.args(["--noheader", "--format=%T", "--jobs", job]);
        match run("squeue", squeue, None) {
            Ok(out) => Ok(parse_state(&out)),
            // A job that is long over is not known any more.
            Err(SlurmError::Refused { said, .. }) if said.contains("Invalid job id") => {
                Ok(JobState::Over("UNKNOWN".to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn cancel(&self, job: &str) {
        let mut scancel = command("scancel");
        scancel.arg(job);
        // A job that has ended needs no end.
        let _ = run("scancel", scancel, None);
    }

    /// Cancels every job of our name.
    pub(super) fn cancel_named(&self) -> Result<(), SlurmError> {
        let mut scancel = command("scancel");
        scancel.arg(format!("--name={}", self.name)).arg("--me");
        run("scancel", scancel, None).map(drop)
    }
}

/// The state of one job, as `squeue` prints it.
fn parse_state(out: &str) -> JobState {
    match out.lines().next().map_or("", str::trim) {
        "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "SUSPENDED" => JobState::Waiting,
        "RUNNING" => JobState::Running,
        "" => JobState::Over("UNKNOWN".to_owned()),
        state => JobState::Over(state.to_owned()),
    }
}

fn command(program: &'static str) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "Slurm's programs are how it is asked"
    )]
    let mut command = Command::new(program);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a program prints, if it succeeds.
fn run(
    program: &'static str,
    mut command: Command,
    input: Option<&str>,
) -> Result<String, SlurmError> {
    let failed = |source| SlurmError::Program { program, source };
    command.stdin(match input {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    });
    let mut child = command.spawn().map_err(failed)?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // A program that does not read says why by its exit.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(SlurmError::Refused {
            program,
            said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_waits_runs_or_is_over() {
        assert_eq!(parse_state("PENDING\n"), JobState::Waiting);
        assert_eq!(parse_state("RUNNING\n"), JobState::Running);
        assert_eq!(
            parse_state("NODE_FAIL\n"),
            JobState::Over("NODE_FAIL".to_owned())
        );
        assert_eq!(parse_state(""), JobState::Over("UNKNOWN".to_owned()));
    }
}
