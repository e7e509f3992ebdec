//! `[engine]`: where runs execute.

use crate::words::words;

words! {
    /// Where runs execute.
    pub enum EngineKind {
        Local = "local", "Processes on this machine.";
        Spark = "spark", "A Spark cluster.";
        Slurm = "slurm", "A Slurm cluster.";
        Ray = "ray", "A Ray cluster.";
    }
}
