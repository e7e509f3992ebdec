//! One job of Ray's jobs API.

use super::RayError;
use super::http::RayApi;
use serde_json::{Value, json};

const DRIVER: &str = include_str!("driver.py");
/// What the driver's own lines in the log begin with.
const MARK: &str = "paceline: ";
/// The key of a job's metadata that says whose it is.
const OWNER: &str = "paceline_key";

/// A submitted job.
pub(super) struct Job {
    pub(super) id: String,
    api: RayApi,
}

/// Where a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JobState {
    Open,
    /// It has ended; what Ray says of it.
    Over(String),
}

/// Stores `bytes` in the cluster, and gives what the driver finds them by. Nothing
/// of it is written to a disk, and only who has the cluster's token can read it.
pub(super) fn put(api: &RayApi, name: &str, bytes: &[u8]) -> Result<String, RayError> {
    let file = format!("_ray_pkg_{name}.zip");
    api.ask(&format!("PUT /api/packages/gcs/{file}"), bytes)?;
    Ok(format!("gcs://{file}"))
}

impl Job {
    /// Submits a job that does what `wanted` says. What is secret of it is neither
    /// in the command nor in the environment, which the dashboard shows: the
    /// driver fetches it, and removes it.
    pub(super) fn submit(
        api: &RayApi,
        python: &str,
        key: &str,
        group: &str,
        wanted: &Value,
    ) -> Result<Self, RayError> {
        // A text of JSON in JSON is a text of Python as well.
        let text = Value::String(wanted.to_string());
        let program = format!("import json\nwanted = json.loads({text})\n{DRIVER}");
        let place = put(api, &format!("{group}-driver"), program.as_bytes())?;
        let boot = format!(
            "import ray; ray.init(log_to_driver=False); \
             from ray.experimental import internal_kv; \
             text = internal_kv._internal_kv_get(\"{place}\"); \
             internal_kv._internal_kv_del(\"{place}\"); exec(text)"
        );
        let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
        let job = json!({
            "entrypoint": format!("{} -u -c {}", quoted(python), quoted(&boot)),
            "metadata": { OWNER: key },
            "runtime_env": {},
        });
        let answer = api.ask("POST /api/jobs/", job.to_string().as_bytes())?;
        let answer = parse(&answer)?;
        match answer["submission_id"].as_str() {
            Some(id) if is_id(id) => Ok(Self {
                id: id.to_owned(),
                api: api.clone(),
            }),
            _ => Err(RayError::Answer(answer.to_string())),
        }
    }

    pub(super) fn state(&self) -> Result<JobState, RayError> {
        let answer = self.api.ask(&format!("GET /api/jobs/{}", self.id), b"")?;
        Ok(state_of(&parse(&answer)?))
    }

    /// What the driver said of its end, or the last line of its log.
    pub(super) fn reason(&self) -> Option<String> {
        let request = format!("GET /api/jobs/{}/logs", self.id);
        let answer = parse(&self.api.ask(&request, b"").ok()?).ok()?;
        reason_in(answer["logs"].as_str()?)
    }

    pub(super) fn stop(&self) {
        // A job that has ended needs no end.
        let _ = self
            .api
            .ask(&format!("POST /api/jobs/{}/stop", self.id), b"");
    }

    /// Stops every job that a controller of this key has left.
    pub(super) fn stop_all(api: &RayApi, key: &str) -> Result<(), RayError> {
        let answer = parse(&api.ask("GET /api/jobs/", b"")?)?;
        for job in answer.as_array().into_iter().flatten() {
            let is_ours = job["metadata"][OWNER].as_str() == Some(key);
            let id = job["submission_id"].as_str().filter(|id| is_id(id));
            if let Some(id) = id.filter(|_| is_ours && state_of(job) == JobState::Open) {
                let api = api.clone();
                let id = id.to_owned();
                Self { id, api }.stop();
            }
        }
        Ok(())
    }
}

/// True for what may stand in a path.
fn is_id(id: &str) -> bool {
    !id.is_empty()
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn parse(text: &str) -> Result<Value, RayError> {
    serde_json::from_str(text).map_err(|_| RayError::Answer(text.chars().take(200).collect()))
}

fn state_of(job: &Value) -> JobState {
    match job["status"].as_str() {
        Some("SUCCEEDED" | "FAILED" | "STOPPED") => {
            let said = job["message"].as_str().unwrap_or("no reason was given");
            JobState::Over(said.trim().to_owned())
        }
        _ => JobState::Open,
    }
}

fn reason_in(log: &str) -> Option<String> {
    let own = log.lines().rev().filter_map(|line| {
        let (_, word) = line.split_once(MARK)?;
        let word: Value = serde_json::from_str(word).ok()?;
        word["what"].as_str().map(str::to_owned)
    });
    let last = || {
        log.lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())
    };
    own.into_iter().next().or_else(|| last().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_open_until_ray_says_otherwise() {
        let state = |status: &str| state_of(&json!({ "status": status, "message": "m" }));
        assert_eq!(state("PENDING"), JobState::Open);
        assert_eq!(state("RUNNING"), JobState::Open);
        for over in ["SUCCEEDED", "FAILED", "STOPPED"] {
            assert_eq!(state(over), JobState::Over("m".to_owned()));
        }
    }

    #[test]
    fn the_reason_is_the_drivers_own_word_or_the_last_line() {
        let log = "x\npaceline: {\"event\": \"failed\", \"what\": \"too few\"}\nTraceback\n";
        assert_eq!(reason_in(log).as_deref(), Some("too few"));
        let log = "x\nModuleNotFoundError: No module named 'ray'\n\n";
        let last = "ModuleNotFoundError: No module named 'ray'";
        assert_eq!(reason_in(log).as_deref(), Some(last));
        assert_eq!(reason_in(""), None);
    }

    #[test]
    fn ids_are_no_paths() {
        assert!(is_id("raysubmit_a1"));
        for bad in ["", "a/b", "../x", "a b"] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
