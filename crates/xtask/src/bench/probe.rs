//! The probe against dstat, psutil and prometheus-node-exporter: CPU time per
//! sample of cores, memory, disks and interfaces.
//!
//! Everybody is measured after its start and at its own pace: the probe,
//! psutil and the exporter at 10 Hz, dstat at 1 Hz, which is its fastest; the
//! probe is therefore measured at 1 Hz as well, since a reading after a longer
//! sleep finds colder caches. The probe also reads pressure, faults and
//! retransmits, and hands over typed samples; dstat prints its own, the
//! exporter renders and sends its own, and psutil only builds objects.

use crate::shell;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

const PSUTIL: &str = include_str!("probe.py");
const REQUIREMENTS: [&str; 1] = ["psutil==7.2.2"];

/// Samples of those that take ten a second.
const SAMPLES: usize = 200;
/// Samples of those that take one a second.
const SLOW_SAMPLES: usize = 20;
/// How long a peer may take to come up.
const PATIENCE: Duration = Duration::from_secs(10);

struct Row {
    name: String,
    hz: u32,
    micros: f64,
    note: String,
}

/// A name for when it is absent, and how it is measured.
type Peer = (&'static str, fn() -> Result<Row>);

/// Prints the table.
pub(crate) fn run() -> Result<()> {
    let words = ["build", "--release", "--quiet", "-p", "paceline-probe"];
    shell::run("cargo", &[&words[..], &["--example", "cost"]].concat())?;
    let ours = probe(10, SAMPLES, None)?;
    let slow = probe(1, SLOW_SAMPLES, None)?;
    let own_pid = std::process::id().to_string();
    let with_run = probe(10, SAMPLES, Some(&own_pid))?;
    let (fast_base, slow_base) = (ours.micros, slow.micros);
    let mut rows = vec![ours, slow, with_run];
    let peers: [Peer; 3] = [
        ("dstat", dstat),
        ("psutil", psutil),
        ("prometheus-node-exporter", exporter),
    ];
    let mut absent = Vec::new();
    for (name, peer) in peers {
        match peer() {
            Ok(row) => rows.push(row),
            Err(error) => absent.push(format!("{name} is absent: {error:#}")),
        }
    }
    println!("\nCPU time per sample, start excluded; ratio to the probe at the same pace");
    println!(
        "{:34} {:>4} {:>12} {:>8} {:>9}  ",
        "", "Hz", "µs/sample", "ratio", "% of core"
    );
    for row in rows {
        let base = if row.hz == 1 { slow_base } else { fast_base };
        println!(
            "{:34} {:>4} {:>12.1} {:>7.1}x {:>8.3}%  {}",
            row.name,
            row.hz,
            row.micros,
            row.micros / base,
            row.micros * f64::from(row.hz) / 1e4,
            row.note,
        );
    }
    for line in absent {
        println!("{line}");
    }
    Ok(())
}

fn probe(hz: u32, samples: usize, pid: Option<&str>) -> Result<Row> {
    let program = target().join("release/examples/cost");
    let (rate, count) = (hz.to_string(), samples.to_string());
    let mut words = vec![rate.as_str(), count.as_str()];
    words.extend(pid);
    let printed = shell::output(&program.to_string_lossy(), &words)?;
    let cost: serde_json::Value = serde_json::from_str(&printed)?;
    let number = |key: &str| {
        let value = cost[key].as_f64();
        value.with_context(|| format!("the probe's cost has no {key}"))
    };
    let megabytes = number("rss_bytes")? / 1e6;
    let what = if pid.is_some() {
        "node and a run"
    } else {
        "node"
    };
    Ok(Row {
        name: format!("paceline probe ({what})"),
        hz,
        micros: number("cpu_us_per_sample")?,
        note: format!("{megabytes:.1} MB resident"),
    })
}

/// dstat prints a line per second; its CPU time is read at one line and again
/// at a later one.
fn dstat() -> Result<Row> {
    let count = (SLOW_SAMPLES + 3).to_string();
    let words = ["-cdngym", "--noheaders", "--nocolor", "1", &count];
    let mut child = Ended(
        shell::command("dstat", &words)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("it does not start")?,
    );
    let output = child.0.stdout.take().context("its output is piped")?;
    // Two lines of headings and a first one about the time since boot.
    let mut lines = BufReader::new(output).lines().skip(3);
    lines.next().context("it printed nothing")??;
    let begin = cpu_ns(child.0.id())?;
    for _ in 0..SLOW_SAMPLES {
        lines.next().context("it ended early")??;
    }
    let spent = cpu_ns(child.0.id())? - begin;
    Ok(Row {
        name: "dstat -cdngym".to_owned(),
        hz: 1,
        micros: spent as f64 / 1e3 / SLOW_SAMPLES as f64,
        note: String::new(),
    })
}

fn psutil() -> Result<Row> {
    let folder = target().join("peers/psutil");
    let python = folder.join("bin/python");
    let python = python.to_string_lossy();
    if !shell::answers(&python, &["-c", "import psutil"]) {
        shell::run("python3", &["-m", "venv", &folder.to_string_lossy()])?;
        let install = ["-m", "pip", "install", "--quiet"];
        shell::run(&python, &[&install[..], &REQUIREMENTS].concat())?;
    }
    let printed = shell::output(&python, &["-c", PSUTIL, &SAMPLES.to_string()])?;
    let (name, micros) = printed
        .trim()
        .split_once('|')
        .context("it prints its version and its time")?;
    Ok(Row {
        name: name.to_owned(),
        hz: 10,
        micros: micros.parse()?,
        note: String::new(),
    })
}

/// The exporter with the collectors of the same columns, scraped over loopback.
fn exporter() -> Result<Row> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port();
    let listen = format!("--web.listen-address=127.0.0.1:{port}");
    let collectors = ["cpu", "meminfo", "diskstats", "netdev", "stat", "vmstat"];
    let mut words = vec![listen, "--collector.disable-defaults".to_owned()];
    words.push("--web.disable-exporter-metrics".to_owned());
    words.extend(collectors.map(|name| format!("--collector.{name}")));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let child = Ended(
        shell::command("prometheus-node-exporter", &words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("it does not start")?,
    );
    let pause = Duration::from_millis(100);
    let mut tries = 0;
    while scrape(port).is_err() {
        tries += 1;
        if pause * tries > PATIENCE {
            bail!("it does not answer");
        }
        std::thread::sleep(pause);
    }
    let begin = cpu_ns(child.0.id())?;
    let mut bytes = 0;
    for _ in 0..SAMPLES {
        std::thread::sleep(pause);
        bytes = scrape(port)?;
    }
    let spent = cpu_ns(child.0.id())? - begin;
    Ok(Row {
        name: "prometheus-node-exporter".to_owned(),
        hz: 10,
        micros: spent as f64 / 1e3 / SAMPLES as f64,
        note: format!("{:.1} kB per scrape", bytes as f64 / 1e3),
    })
}

/// Asks for one page and returns its size.
fn scrape(port: u16) -> Result<usize> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut page = Vec::new();
    stream.read_to_end(&mut page)?;
    if !page.starts_with(b"HTTP/1.0 200") {
        bail!("it answers with an error");
    }
    Ok(page.len())
}

/// CPU time of all threads of a process in nanoseconds, the first field of
/// each `schedstat` (Documentation/scheduler/sched-stats.rst).
fn cpu_ns(pid: u32) -> Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let word = text
            .split(' ')
            .next()
            .context("schedstat has a first field")?;
        sum += word.parse::<u64>()?;
    }
    Ok(sum)
}

/// A peer that is ended with the benchmark, whatever happens.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn target() -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo names the target folder by the environment"
    )]
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from)
}
