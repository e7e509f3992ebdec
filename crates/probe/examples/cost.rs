//! Prints what probing costs on this machine, as JSON.
//!
//! ```text
//! cost HZ SAMPLES [PID]
//! ```
//!
//! Samples the node and, with PID, the tree of that process, as `paceline run`
//! does. `cpu_us_per_sample` is the CPU time of the whole process after the
//! probe was opened, waking up and handing samples over included; reading alone
//! is `reading_us_per_sample`.

use paceline_model::Micros;
use paceline_probe::{Counted, Interval, Probe, Processes, Sampler, Target};
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match words.as_slice() {
        [hz, samples] => parse(hz, samples, None),
        [hz, samples, pid] => parse(hz, samples, Some(pid)),
        _ => None,
    };
    let Some((hz, samples, pid)) = parsed else {
        let _ = writeln!(io::stderr(), "usage: cost HZ SAMPLES [PID]");
        return ExitCode::from(2);
    };
    match measure(hz, samples, pid) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(3)
        }
    }
}

fn parse(hz: &str, samples: &str, pid: Option<&String>) -> Option<(f64, usize, Option<i32>)> {
    let hz = hz
        .parse()
        .ok()
        .filter(|hz: &f64| *hz > 0.0 && *hz <= 10.0)?;
    let pid = match pid {
        Some(pid) => Some(pid.parse().ok()?),
        None => None,
    };
    Some((hz, samples.parse().ok()?, pid))
}

#[expect(clippy::disallowed_methods, reason = "the example owns its clock")]
fn measure(hz: f64, samples: usize, pid: Option<i32>) -> Result<(), Box<dyn std::error::Error>> {
    let target = Target {
        processes: pid.map(Processes::Tree),
        counted: Counted::FromBaseline,
        ..Target::default()
    };
    let interval = Interval::new(Duration::from_secs_f64(1.0 / hz))?;
    let mut probe = Probe::new(&target, Micros::ZERO)?;
    let opened_s = probe.cost().cpu_s;
    let begin = process_cpu_s();
    let (sender, receiver) = sync_channel(8);
    let sampler = Sampler::spawn(probe, interval, Instant::now(), move |sample| {
        // Whoever has seen enough samples has hung up.
        let _ = sender.send(sample);
    })?;
    let parts = receiver.iter().take(samples).last().map(|s| s.parts.len());
    let process_s = process_cpu_s() - begin;
    drop(receiver);
    let cost = sampler.stop()?;
    let per_sample = process_s / samples.max(1) as f64;
    let reading = (cost.cpu_s - opened_s) / cost.samples.max(1) as f64;
    writeln!(
        io::stdout(),
        "{{\"hz\":{hz},\"samples\":{samples},\"parts\":{},\"cpu_us_per_sample\":{:.1},\
         \"reading_us_per_sample\":{:.1},\"share_of_core\":{:.6},\"rss_bytes\":{}}}",
        parts.unwrap_or(0),
        per_sample * 1e6,
        reading * 1e6,
        per_sample * hz,
        cost.rss_bytes.unwrap_or(0),
    )?;
    Ok(())
}

fn process_cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
