//! How fast two processes of this host reduce, and how long a parameter
//! server's round takes:
//! `allreduce_speed [unix|tcp|tls] [spin in µs] [send buffer in bytes]`.
//!
//! It starts its peer itself. Times are the median and the least of many
//! repetitions. `allreduce_speed.c` next to it measures the same with MPI.
#![expect(clippy::print_stdout, reason = "its output is the measurement")]

use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use paceline_wire::{
    Address, Algorithm, Connection, Credentials, Deadline, Group, Header, Kind, Listener, Member,
    Payload, Role, Security, Settings, Token, connect,
};

const BYTES: [usize; 6] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 30_000_000];
const ROUND_BYTES: [usize; 4] = [1_000, 31_400, 100_000, 1_000_000];
const ALGORITHMS: [(&str, Algorithm); 2] =
    [("doubling", Algorithm::Doubling), ("ring", Algorithm::Ring)];

const PUSH: Kind = Kind(1);
const PARAMETERS: Kind = Kind(2);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize| arguments.get(index).map(String::as_str);
    let transport = word(0).unwrap_or("unix");
    let settings = Settings {
        spin: Duration::from_micros(word(1).unwrap_or("50").parse()?),
        send_buffer: word(2)
            .map(str::parse)
            .transpose()?
            .filter(|bytes| *bytes > 0),
        ..Settings::default()
    };
    match word(3) {
        None => lead(transport, &settings),
        Some(address) => follow(transport, &settings, &address.parse()?),
    }
}

/// Rank 0: starts its peer, and prints.
fn lead(transport: &str, settings: &Settings) -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("paceline-wire-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
    let address = match transport {
        "unix" => Address::unix(&directory.join("rank-0"))?,
        _ => Address::loopback(),
    };
    let token = Token::random()?;
    let here = credentials(transport, token.clone(), 0);
    let listener = Listener::bind(&address, &here, settings)?;
    let mut peer = start_peer(transport, settings, listener.address(), &token)?;

    println!(
        "parameter server round over {transport}, spinning {:?}",
        settings.spin
    );
    let mut server = listener.accept(soon())?;
    for bytes in ROUND_BYTES {
        let mut values = vec![0.0; bytes / 4];
        report("push and pull", bytes, repetitions(bytes), || {
            serve(&mut server, &mut values)
        })?;
    }
    drop(server);
    let addresses = [listener.address().clone(), Address::loopback()];
    let mut group = Group::form(&listener, &addresses, &here, settings, patience(), soon())?;
    println!(
        "all-reduce over {transport}, measured choice: {:?}",
        group.algorithm()
    );
    for bytes in BYTES {
        let mut values = vec![1.0; bytes / 4];
        for (name, algorithm) in ALGORITHMS {
            group.set_algorithm(algorithm);
            report(name, bytes, repetitions(bytes), || {
                Ok(group.all_reduce(&mut values)?)
            })?;
        }
    }
    drop(group);
    peer.wait()?;
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Rank 1.
fn follow(transport: &str, settings: &Settings, leader: &Address) -> Result<(), Box<dyn Error>> {
    let mut token = String::new();
    std::io::stdin().read_to_string(&mut token)?;
    let here = credentials(transport, token.parse()?, 1);
    let mut worker = connect(leader, &here, settings, soon())?;
    for bytes in ROUND_BYTES {
        let mut values = vec![0.0; bytes / 4];
        for _ in 0..repetitions(bytes) {
            worker.send(&Header::new(PUSH), Payload::Dense(&values))?;
            worker.receive_into(PARAMETERS, &mut values, soon())?;
        }
    }
    drop(worker);
    let listener = Listener::bind(&Address::loopback(), &here, settings)?;
    let addresses = [leader.clone(), listener.address().clone()];
    let mut group = Group::form(&listener, &addresses, &here, settings, patience(), soon())?;
    for bytes in BYTES {
        let mut values = vec![1.0; bytes / 4];
        for (_, algorithm) in ALGORITHMS {
            group.set_algorithm(algorithm);
            for _ in 0..repetitions(bytes) {
                group.all_reduce(&mut values)?;
            }
        }
    }
    Ok(())
}

/// The server's part of a round: an update in, parameters out.
fn serve(server: &mut Connection, values: &mut [f32]) -> Result<(), Box<dyn Error>> {
    let update = server.receive(soon())?;
    let Payload::Dense(update) = update.payload()? else {
        return Err("updates are dense here".into());
    };
    for (value, change) in values.iter_mut().zip(update) {
        *value += change;
    }
    server.send(&Header::new(PARAMETERS), Payload::Dense(values))?;
    Ok(())
}

fn report(
    name: &str,
    bytes: usize,
    repetitions: usize,
    mut operation: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut micros = Vec::new();
    for _ in 0..repetitions {
        let begun = clock();
        operation()?;
        micros.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    micros.sort_by(f64::total_cmp);
    println!(
        "  {name:<14} {bytes:>9} bytes  median {:>9.1} µs  least {:>9.1} µs",
        micros[micros.len() / 2],
        micros[0]
    );
    Ok(())
}

fn repetitions(bytes: usize) -> usize {
    (100_000_000 / bytes).clamp(15, 3000)
}

fn credentials(transport: &str, token: Token, rank: u32) -> Credentials {
    Credentials {
        me: Member {
            role: Role::Worker,
            rank,
            incarnation: 0,
        },
        token,
        security: match transport {
            "tls" => Security::Tls,
            _ => Security::Plain,
        },
    }
}

fn patience() -> Duration {
    Duration::from_secs(30)
}

fn soon() -> Deadline {
    Deadline::after(patience())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark of two processes starts the second"
)]
fn start_peer(
    transport: &str,
    settings: &Settings,
    address: &Address,
    token: &Token,
) -> Result<Child, Box<dyn Error>> {
    let mut peer = Command::new(std::env::current_exe()?)
        .arg(transport)
        .arg(settings.spin.as_micros().to_string())
        .arg(settings.send_buffer.unwrap_or(0).to_string())
        .arg(address.to_string())
        .stdin(Stdio::piped())
        .spawn()?;
    let mut stdin = peer.stdin.take().ok_or("the peer has no standard input")?;
    stdin.write_all(token.reveal().as_bytes())?;
    Ok(peer)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn clock() -> Instant {
    Instant::now()
}
