//! The lines of an event log, as far as they are read. Times are milliseconds
//! since 1970 unless the name says otherwise; CPU time is in nanoseconds.

use serde::Deserialize;
use std::collections::HashMap;

/// One line.
#[derive(Debug, Deserialize)]
#[serde(tag = "Event")]
pub(crate) enum Line {
    #[serde(rename = "SparkListenerLogStart")]
    LogStart {},
    #[serde(rename = "SparkListenerApplicationStart")]
    ApplicationStart {
        #[serde(rename = "App Name")]
        name: String,
        #[serde(rename = "App ID")]
        id: Option<String>,
        #[serde(rename = "Timestamp")]
        at: i64,
    },
    #[serde(rename = "SparkListenerApplicationEnd")]
    ApplicationEnd {
        #[serde(rename = "Timestamp")]
        at: i64,
    },
    #[serde(rename = "SparkListenerEnvironmentUpdate")]
    Environment {
        #[serde(rename = "Spark Properties", default)]
        properties: HashMap<String, String>,
    },
    #[serde(rename = "SparkListenerExecutorAdded")]
    ExecutorAdded {
        #[serde(rename = "Timestamp")]
        at: i64,
        #[serde(rename = "Executor ID")]
        id: String,
        #[serde(rename = "Executor Info")]
        info: ExecutorInfo,
    },
    #[serde(rename = "SparkListenerExecutorRemoved")]
    ExecutorRemoved {
        #[serde(rename = "Timestamp")]
        at: i64,
        #[serde(rename = "Executor ID")]
        id: String,
        #[serde(rename = "Removed Reason", default)]
        reason: String,
    },
    #[serde(rename = "SparkListenerJobStart")]
    JobStart {
        #[serde(rename = "Job ID")]
        id: u32,
        #[serde(rename = "Submission Time")]
        at: i64,
        #[serde(rename = "Stage IDs", default)]
        stages: Vec<u32>,
    },
    #[serde(rename = "SparkListenerJobEnd")]
    JobEnd {
        #[serde(rename = "Job ID")]
        id: u32,
        #[serde(rename = "Completion Time")]
        at: i64,
        #[serde(rename = "Job Result")]
        result: Option<JobResult>,
    },
    #[serde(rename = "SparkListenerStageSubmitted")]
    StageSubmitted {
        #[serde(rename = "Stage Info")]
        info: StageInfo,
    },
    #[serde(rename = "SparkListenerStageCompleted")]
    StageCompleted {
        #[serde(rename = "Stage Info")]
        info: StageInfo,
    },
    #[serde(rename = "SparkListenerTaskEnd")]
    TaskEnd(Box<TaskEnd>),
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ExecutorInfo {
    #[serde(rename = "Host", default)]
    pub(crate) host: String,
    #[serde(rename = "Total Cores", default)]
    pub(crate) cores: u32,
}

#[derive(Debug, Deserialize)]
pub(crate) struct JobResult {
    #[serde(rename = "Result", default)]
    pub(crate) result: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StageInfo {
    #[serde(rename = "Stage ID")]
    pub(crate) id: u32,
    #[serde(rename = "Stage Attempt ID", default)]
    pub(crate) attempt: u32,
    #[serde(rename = "Stage Name", default)]
    pub(crate) name: String,
    #[serde(rename = "Number of Tasks", default)]
    pub(crate) tasks: u32,
    #[serde(rename = "Parent IDs", default)]
    pub(crate) parents: Vec<u32>,
    #[serde(rename = "Submission Time")]
    pub(crate) submitted: Option<i64>,
    #[serde(rename = "Completion Time")]
    pub(crate) completed: Option<i64>,
    #[serde(rename = "Failure Reason")]
    pub(crate) failure: Option<String>,
    #[serde(rename = "RDD Info", default)]
    pub(crate) data: Vec<RddInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RddInfo {
    #[serde(rename = "Barrier", default)]
    pub(crate) barrier: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TaskEnd {
    #[serde(rename = "Stage ID")]
    pub(crate) stage: u32,
    #[serde(rename = "Stage Attempt ID", default)]
    pub(crate) attempt: u32,
    #[serde(rename = "Task End Reason")]
    pub(crate) reason: Option<EndReason>,
    #[serde(rename = "Task Info")]
    pub(crate) info: TaskInfo,
    // A task whose executor was lost has none.
    #[serde(rename = "Task Metrics")]
    pub(crate) metrics: Option<TaskMetrics>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct EndReason {
    #[serde(rename = "Reason", default)]
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TaskInfo {
    #[serde(rename = "Task ID")]
    pub(crate) id: u64,
    #[serde(rename = "Launch Time")]
    pub(crate) launched: i64,
    #[serde(rename = "Executor ID", default)]
    pub(crate) executor: String,
    #[serde(rename = "Getting Result Time", default)]
    pub(crate) getting_result: i64,
    #[serde(rename = "Finish Time")]
    pub(crate) finished: i64,
    #[serde(rename = "Killed", default)]
    pub(crate) killed: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TaskMetrics {
    #[serde(rename = "Executor Deserialize Time")]
    pub(crate) deserialize_ms: u64,
    #[serde(rename = "Executor Run Time")]
    pub(crate) run_ms: u64,
    #[serde(rename = "Executor CPU Time")]
    pub(crate) cpu_ns: u64,
    #[serde(rename = "Result Serialization Time")]
    pub(crate) serialize_ms: u64,
    #[serde(rename = "JVM GC Time")]
    pub(crate) gc_ms: u64,
    #[serde(rename = "Memory Bytes Spilled")]
    pub(crate) spilled_memory: u64,
    #[serde(rename = "Disk Bytes Spilled")]
    pub(crate) spilled_disk: u64,
    #[serde(rename = "Peak Execution Memory")]
    pub(crate) peak_memory: u64,
    #[serde(rename = "Shuffle Read Metrics")]
    pub(crate) read: ShuffleRead,
    #[serde(rename = "Shuffle Write Metrics")]
    pub(crate) write: ShuffleWrite,
    #[serde(rename = "Input Metrics")]
    pub(crate) input: InputMetrics,
    #[serde(rename = "Output Metrics")]
    pub(crate) output: OutputMetrics,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ShuffleRead {
    #[serde(rename = "Fetch Wait Time")]
    pub(crate) wait_ms: u64,
    #[serde(rename = "Remote Bytes Read")]
    pub(crate) remote: u64,
    #[serde(rename = "Local Bytes Read")]
    pub(crate) local: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ShuffleWrite {
    #[serde(rename = "Shuffle Bytes Written")]
    pub(crate) bytes: u64,
    #[serde(rename = "Shuffle Write Time")]
    pub(crate) ns: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InputMetrics {
    #[serde(rename = "Bytes Read")]
    pub(crate) bytes: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OutputMetrics {
    #[serde(rename = "Bytes Written")]
    pub(crate) bytes: u64,
}
