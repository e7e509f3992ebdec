//! The numbers a run is given for the Spark application it ran.

use crate::application::Application;
use crate::held::Held;

paceline_model::named! {
    /// A number that a run is given for the Spark application it ran, in the order of
    /// the record.
    pub enum Measure {
        Wall = "spark_wall_s", "from the application's start to its end, as Spark counts it";
        Driver = "spark_driver_s", "time in which no stage was running";
        Jobs = "spark_jobs", "jobs";
        Stages = "spark_stages", "stages that ran, every attempt counted";
        Tasks = "spark_tasks", "task attempts that ended";
        FailedTasks = "spark_failed_tasks", "task attempts that failed";
        Executors = "spark_executors", "the most executors at one time";
        Slots = "spark_slots", "the most tasks that could run at one time";
        Run = "spark_run_s", "running tasks' code, added up over tasks";
        Cpu = "spark_cpu_s", "CPU time of tasks";
        Gc = "spark_gc_s", "pauses of the garbage collector, added up over tasks";
        FetchWait = "spark_fetch_wait_s", "waiting for shuffle data, added up over tasks";
        SchedulerDelay = "spark_scheduler_delay_s", "launching tasks and returning results, added up over tasks";
        Deserialize = "spark_deserialize_s", "unpacking tasks, added up over tasks";
        ShuffleRead = "spark_shuffle_read_bytes", "shuffle data read, local and remote";
        ShuffleWrite = "spark_shuffle_write_bytes", "shuffle data written";
        Spill = "spark_spill_bytes", "what spilling wrote to disks";
        Input = "spark_input_bytes", "read from files";
        IdleShare = "spark_idle_share", "share of slot time in which no task ran";
        Skew = "spark_skew", "longest over median task of the stage that its longest task delayed the most";
        Simulated = "spark_simulated_s", "what the simulation gives for the slots that ran";
        CriticalPath = "spark_critical_path_s", "estimate with endless slots";
        OneSlot = "spark_one_slot_s", "the driver's time and all tasks on one slot";
    }
}

impl Measure {
    /// The measure of an application; nothing where it has no meaning.
    #[must_use]
    pub fn of(self, application: &Application, held: Option<&Held>) -> Option<f64> {
        let seconds = |ms: u64| Some(ms as f64 / 1e3);
        let totals = &application.totals;
        match self {
            Self::Wall => seconds(application.wall_ms()),
            Self::Driver => seconds(application.driver_ms()),
            Self::Jobs => Some(application.jobs.len() as f64),
            Self::Stages => {
                let ran = application.stages.iter();
                Some(ran.filter(|stage| stage.submitted.is_some()).count() as f64)
            }
            Self::Tasks => Some(totals.tasks as f64),
            Self::FailedTasks => Some(totals.failed as f64),
            Self::Executors => Some(f64::from(application.peak_executors())),
            Self::Slots => Some(f64::from(application.slots())),
            Self::Run => seconds(totals.run_ms),
            Self::Cpu => Some(totals.cpu_ns as f64 / 1e9),
            Self::Gc => seconds(totals.gc_ms),
            Self::FetchWait => seconds(totals.fetch_wait_ms),
            Self::SchedulerDelay => seconds(totals.scheduler_delay_ms),
            Self::Deserialize => seconds(totals.deserialize_ms),
            Self::ShuffleRead => {
                let local = totals.shuffle_local_bytes as f64;
                Some(local + totals.shuffle_remote_bytes as f64)
            }
            Self::ShuffleWrite => Some(totals.shuffle_write_bytes as f64),
            Self::Spill => Some(totals.spilled_disk_bytes as f64),
            Self::Input => Some(totals.input_bytes as f64),
            Self::IdleShare => Some(application.idle_share()),
            Self::Skew => application.most_skewed().map(|(_, skew)| skew),
            Self::Simulated => seconds(held?.simulated_ms),
            Self::CriticalPath => seconds(held?.critical_ms),
            Self::OneSlot => seconds(held?.one_slot_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_lists_every_measure() {
        let page = include_str!("../../../docs/guide/spark.md");
        for measure in Measure::ALL {
            let row = format!("| `{}` | {} |", measure.name(), measure.describe());
            assert!(page.contains(&row), "{row}");
        }
    }
}
