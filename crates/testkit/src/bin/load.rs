//! `paceline-load`: a process that uses a stated amount of something.
//!
//! ```text
//! paceline-load cpu SECONDS [THREADS]  that much CPU time in each thread
//! paceline-load memory BYTES           touches every page, holds it
//! paceline-load disk BYTES FILE        writes and fsyncs, then removes it
//! paceline-load net BYTES              sends over a loopback connection
//! paceline-load receive ADDRESS        says so, then takes one connection to its
//!                                      end, and keeps it
//! paceline-load send ADDRESS BYTES     sends to one that receives
//! paceline-load forks N SECONDS [DEPTH]  N children one after the other, each
//!                                      of which uses SECONDS of CPU time; with
//!                                      DEPTH they do so through children
//! paceline-load orphan SECONDS         leaves a child behind that uses CPU
//! paceline-load flood BYTES            zeros to stdout, without a line end
//! paceline-load sleep                  does nothing
//! ```
//!
//! Before each mode, `hold` makes the process stay until its standard input is
//! closed: `paceline-load hold memory 1000000`. When the work is done, one line
//! of JSON on standard output (standard error for `flood`) tells what the
//! kernel has charged.

use nix::sys::resource::{Usage, UsageWho, getrusage};
use serde_json::json;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let hold = args.first().is_some_and(|arg| arg == "hold");
    if hold {
        args.remove(0);
    }
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match work(&words) {
        Ok(Some(kept)) => {
            report(words.first() == Some(&"flood"));
            if hold {
                let _ = io::stdin().read_to_end(&mut Vec::new());
            }
            drop(kept);
            ExitCode::SUCCESS
        }
        Ok(None) => {
            let _ = writeln!(io::stderr(), "usage: see the source of paceline-load");
            ExitCode::from(2)
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "paceline-load: {error}");
            ExitCode::from(3)
        }
    }
}

/// Does the work and returns what is to be held.
fn work(words: &[&str]) -> io::Result<Option<Vec<u8>>> {
    let mut kept = Vec::new();
    match *words {
        ["cpu", seconds] => spin(number(seconds)?),
        ["cpu", seconds, threads] => {
            let seconds = number(seconds)?;
            std::thread::scope(|scope| {
                for _ in 0..number(threads)? as usize {
                    scope.spawn(move || spin(seconds));
                }
                io::Result::Ok(())
            })?;
        }
        ["memory", bytes] => {
            kept = vec![0; number(bytes)? as usize];
            for page in kept.chunks_mut(4096) {
                page[0] = 1;
            }
        }
        ["disk", bytes, path] => write_disk(number(bytes)? as usize, path)?,
        ["net", bytes] => send(number(bytes)? as usize)?,
        ["receive", address] => receive(address)?,
        ["send", address, bytes] => {
            let mut sender = TcpStream::connect(address)?;
            write_blocks(&mut sender, number(bytes)? as usize)?;
            sender.shutdown(std::net::Shutdown::Write)?;
            // The other side closes when it has everything.
            sender.read_to_end(&mut Vec::new())?;
        }
        ["forks", count, seconds] => fork(number(count)? as usize, &["cpu", seconds])?,
        ["forks", count, seconds, depth] => match number(depth)? as u32 {
            0 | 1 => fork(number(count)? as usize, &["cpu", seconds])?,
            depth => {
                let below = (depth - 1).to_string();
                fork(number(count)? as usize, &["forks", count, seconds, &below])?;
            }
        },
        ["orphan", seconds] => {
            myself()?.args(["cpu", seconds]).spawn()?;
        }
        ["flood", bytes] => flood(number(bytes)? as usize)?,
        ["sleep"] => {}
        _ => return Ok(None),
    }
    Ok(Some(kept))
}

fn number(word: &str) -> io::Result<f64> {
    word.parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value >= 0.0)
        .ok_or_else(|| io::Error::other(format!("`{word}` is not a number")))
}

/// Computes until the calling thread has used `seconds` of CPU time.
fn spin(seconds: f64) {
    let mut state = 1u64;
    while thread_cpu_s() < seconds {
        for _ in 0..10_000 {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005) + 1);
        }
    }
}

fn thread_cpu_s() -> f64 {
    getrusage(UsageWho::RUSAGE_THREAD).map_or(f64::INFINITY, |usage| cpu_s(&usage))
}

fn write_disk(bytes: usize, path: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    let block = vec![b'x'; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let size = left.min(block.len());
        file.write_all(&block[..size])?;
        left -= size;
    }
    // Removed only when it is on disk: pages that never got there do not count.
    file.sync_all()?;
    std::fs::remove_file(path)
}

fn send(bytes: usize) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    let (mut receiver, _) = listener.accept()?;
    let reader = std::thread::spawn(move || io::copy(&mut receiver, &mut io::sink()));
    write_blocks(&mut sender, bytes)?;
    drop(sender);
    let received = reader.join().expect("the reader does not panic")?;
    if received == bytes as u64 {
        Ok(())
    } else {
        Err(io::Error::other("bytes were lost on the way"))
    }
}

fn write_blocks(sender: &mut TcpStream, bytes: usize) -> io::Result<()> {
    let block = vec![b'x'; 64 << 10];
    let mut left = bytes;
    while left > 0 {
        let size = left.min(block.len());
        sender.write_all(&block[..size])?;
        left -= size;
    }
    Ok(())
}

fn receive(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    writeln!(io::stdout(), "listening")?;
    let (mut receiver, _) = listener.accept()?;
    io::copy(&mut receiver, &mut io::sink())?;
    Ok(())
}

fn fork(count: usize, words: &[&str]) -> io::Result<()> {
    for _ in 0..count {
        myself()?
            .args(words)
            .stdout(std::process::Stdio::null())
            .status()?;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a load whose point is to have children"
)]
fn myself() -> io::Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

fn flood(bytes: usize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let block = [0; 64 << 10];
    let mut left = bytes;
    while left > 0 {
        let size = left.min(block.len());
        out.write_all(&block[..size])?;
        left -= size;
    }
    out.flush()
}

fn report(to_stderr: bool) {
    let (Ok(own), Ok(children)) = (
        getrusage(UsageWho::RUSAGE_SELF),
        getrusage(UsageWho::RUSAGE_CHILDREN),
    ) else {
        return;
    };
    let line = json!({
        "cpu_s": cpu_s(&own),
        "children_cpu_s": cpu_s(&children),
        "max_rss_bytes": own.max_rss() * 1024,
    });
    // A reader that has gone away does not want the line.
    let _ = if to_stderr {
        writeln!(io::stderr(), "{line}")
    } else {
        writeln!(io::stdout(), "{line}")
    };
}

fn cpu_s(usage: &Usage) -> f64 {
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}
