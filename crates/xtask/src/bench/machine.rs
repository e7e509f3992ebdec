//! The machine that a benchmark runs on, and the best that it can do.

use super::peers;
use crate::shell;
use anyhow::{Context, Result};
use std::fs;

/// What a reader must know to judge the figures.
pub(crate) struct Machine {
    cpu: String,
    pub(crate) cpus: usize,
    kernel: String,
    date: String,
    load: String,
}

/// Measured limits, for one thread and for all.
pub(crate) struct Peak {
    /// Float32 operations a second, in thousand millions.
    pub(crate) gflops: [f64; 2],
    /// STREAM's triad from memory, in GB/s.
    pub(crate) triad: [f64; 2],
    /// Reading memory in order, in GB/s.
    pub(crate) read: [f64; 2],
}

impl Machine {
    pub(crate) fn look() -> Result<Self> {
        let info = fs::read_to_string("/proc/cpuinfo").context("cannot read /proc/cpuinfo")?;
        let named = info.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == "model name").then(|| value.trim().to_owned())
        });
        let load = fs::read_to_string("/proc/loadavg").context("cannot read /proc/loadavg")?;
        Ok(Self {
            cpu: named.unwrap_or_else(|| "unnamed CPU".to_owned()),
            cpus: std::thread::available_parallelism()?.get(),
            kernel: shell::output("uname", &["-sr"])?.trim().to_owned(),
            date: shell::output("date", &["-u", "+%Y-%m-%d"])?
                .trim()
                .to_owned(),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
        })
    }

    /// One line for the page.
    pub(crate) fn line(&self) -> String {
        format!(
            "{}: {}, {} CPUs, {}; load average before the run {}.",
            self.date, self.cpu, self.cpus, self.kernel, self.load
        )
    }
}

impl Peak {
    /// Measures with a small C program, which is neither side's code.
    pub(crate) fn measure(threads: usize) -> Result<Self> {
        let folder = peers::target().join("bench");
        fs::create_dir_all(&folder)?;
        let program = std::path::absolute(folder.join("machine"))?;
        let program = program.to_string_lossy();
        let flags = ["-O3", "-march=native", "-ffast-math", "-pthread", "-o"];
        let source = peers::source("machine.c");
        shell::run("cc", &[&flags[..], &[&program, &source]].concat())?;
        Self::read_line(&shell::output(&program, &[&threads.to_string()])?)
    }

    fn read_line(printed: &str) -> Result<Self> {
        let value: serde_json::Value = serde_json::from_str(printed)?;
        let pair = |key: &str| {
            let at = |index: usize| value[key][index].as_f64();
            let both = at(0).zip(at(1)).map(|(one, all)| [one, all]);
            both.with_context(|| format!("the machine's limits have no {key}"))
        };
        Ok(Self {
            gflops: pair("gflops")?,
            triad: pair("triad_gb_s")?,
            read: pair("read_gb_s")?,
        })
    }

    /// One line for the page.
    pub(crate) fn line(&self, threads: usize) -> String {
        let Self {
            gflops,
            triad,
            read,
        } = self;
        format!(
            "Measured limits with one thread and with {threads}: {:.0} and {:.0} GFLOP/s \
             (float32 multiply-add), {:.1} and {:.1} GB/s (triad), {:.1} and {:.1} GB/s (reading).",
            gflops[0], gflops[1], triad[0], triad[1], read[0], read[1]
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_for_one_thread_and_for_all() {
        let printed = r#"{"gflops": [190, 380], "triad_gb_s": [14, 20], "read_gb_s": [12, 18.5]}"#;
        let peak = Peak::read_line(printed).unwrap();
        assert_eq!(peak.read, [12.0, 18.5]);
        assert!(Peak::read_line("{}").is_err());
    }
}
