//! The machine that a benchmark runs on, and the best that it can do.

use super::peers;
use crate::shell;
use anyhow::{Context, Result};
use std::fs;

/// What a reader must know to judge the figures.
pub(crate) struct Machine {
    cpu: String,
    cpus: usize,
    kernel: String,
    date: String,
    /// The load average of the last minute.
    load: f64,
}

/// A load above this for each CPU is more than the build before a benchmark
/// leaves behind.
const BUSY: f64 = 1.5;

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
        let machine = Self {
            cpu: named.unwrap_or_else(|| "unnamed CPU".to_owned()),
            cpus: std::thread::available_parallelism()?.get(),
            kernel: shell::output("uname", &["-sr"])?.trim().to_owned(),
            date: shell::output("date", &["-u", "+%Y-%m-%d"])?
                .trim()
                .to_owned(),
            load: load_of(&load)?,
        };
        if machine.is_busy() {
            println!("notice: the machine is busy, load average {}", machine.load);
        }
        Ok(machine)
    }

    /// Machine and day for the page, with a warning if others kept it busy.
    pub(crate) fn line(&self) -> String {
        let line = format!(
            "{}: {}, {} CPUs, {}; load average before the run {}.",
            self.date, self.cpu, self.cpus, self.kernel, self.load
        );
        if !self.is_busy() {
            return line;
        }
        format!(
            "{line}\n\n**The machine was busy with other work: these figures are not its own, and \
             ratios between sides that wait differently for a CPU say little.**\n"
        )
    }

    /// Whether others use so much of the machine that figures say little.
    fn is_busy(&self) -> bool {
        self.load > BUSY * self.cpus as f64
    }
}

/// The first number of `/proc/loadavg` (proc_loadavg(5)).
fn load_of(text: &str) -> Result<f64> {
    let first = text.split(' ').next().unwrap_or_default();
    first.parse().context("/proc/loadavg has no load")
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
    fn a_busy_machine_is_named_as_one() {
        let machine = |load| Machine {
            cpu: "CPU".to_owned(),
            cpus: 2,
            kernel: "Linux".to_owned(),
            date: "2026-01-01".to_owned(),
            load: load_of(load).unwrap(),
        };
        assert!(!machine("0.41 0.5 0.6 1/100 7").line().contains("busy"));
        assert!(machine("3.10 0.5 0.6 1/100 7").line().contains("busy"));
    }

    #[test]
    fn limits_are_read_for_one_thread_and_for_all() {
        let printed = r#"{"gflops": [190, 380], "triad_gb_s": [14, 20], "read_gb_s": [12, 18.5]}"#;
        let peak = Peak::read_line(printed).unwrap();
        assert_eq!(peak.read, [12.0, 18.5]);
        assert!(Peak::read_line("{}").is_err());
    }
}
