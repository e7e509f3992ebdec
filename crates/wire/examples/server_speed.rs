//! How long a round of bulk-synchronous training takes beyond its compute:
//! `server_speed [workers] [unix|tcp|tls] [spin in µs]`.
//!
//! Every worker is a process that pushes an update and waits for the
//! parameters; the server, on one thread, sums the updates in the order of the
//! workers and answers them. Times are the server's, from one round's
//! parameters to the next's.
#![expect(clippy::print_stdout, reason = "its output is the measurement")]

use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use paceline_wire::{
    Address, Credentials, Deadline, Header, Held, Kind, Listener, Member, Payload, ReadHalf, Role,
    Security, Settings, Token, WriteHalf, connect, wait_any,
};

const BYTES: [usize; 4] = [1_000, 31_400, 100_000, 1_000_000];

const PUSH: Kind = Kind(1);
const PARAMETERS: Kind = Kind(2);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize| arguments.get(index).map(String::as_str);
    let workers: u32 = word(0).unwrap_or("2").parse()?;
    let transport = word(1).unwrap_or("unix");
    let settings = Settings {
        spin: Duration::from_micros(word(2).unwrap_or("50").parse()?),
        ..Settings::default()
    };
    match (word(3), word(4)) {
        (Some(address), Some(rank)) => work(transport, &settings, &address.parse()?, rank.parse()?),
        _ => serve(workers, transport, &settings),
    }
}

fn serve(workers: u32, transport: &str, settings: &Settings) -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("paceline-wire-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
    let address = match transport {
        "unix" => Address::unix(&directory.join("server-0"))?,
        _ => Address::loopback(),
    };
    let token = Token::random()?;
    let here = credentials(transport, token.clone(), Role::Server, 0);
    let listener = Listener::bind(&address, &here, settings)?;
    let mut children = Vec::new();
    for rank in 0..workers {
        let place = [listener.address().to_string(), rank.to_string()];
        children.push(start(transport, settings, &place, &token)?);
    }
    let mut links = Vec::new();
    for _ in 0..workers {
        links.push(listener.accept(soon())?.split());
    }
    links.sort_by_key(|(reader, _)| reader.peer().rank);
    println!(
        "{workers} workers and a server over {transport}, spinning {:?}",
        settings.spin
    );
    for bytes in BYTES {
        let mut parameters = vec![0.0; bytes / 4];
        let mut micros = Vec::new();
        let mut begun = clock();
        for _ in 0..rounds(bytes) {
            round(&mut links, &mut parameters)?;
            let now = clock();
            micros.push((now - begun).as_secs_f64() * 1e6);
            begun = now;
        }
        micros.sort_by(f64::total_cmp);
        println!(
            "  round of {bytes:>8} bytes  median {:>8.1} µs  least {:>8.1} µs",
            micros[micros.len() / 2],
            micros[0]
        );
    }
    for mut child in children {
        child.wait()?;
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Takes an update of every worker, sums them and answers.
fn round(
    links: &mut [(ReadHalf, WriteHalf)],
    parameters: &mut [f32],
) -> Result<(), Box<dyn Error>> {
    let mut pending: Vec<usize> = (0..links.len()).collect();
    while !pending.is_empty() {
        let awaited: Vec<_> = pending.iter().map(|&rank| &links[rank].0).collect();
        wait_any(&awaited, &[], soon())?;
        let mut still = Vec::new();
        for rank in pending {
            if links[rank].0.try_receive()?.is_none() {
                still.push(rank);
            }
        }
        pending = still;
    }
    let mut held = Held::default();
    for (reader, _) in &mut *links {
        reader.hold(&mut held);
        let frame = held.frame().ok_or("every worker has pushed")?;
        let Payload::Dense(update) = frame.payload()? else {
            return Err("updates are dense here".into());
        };
        for (parameter, change) in parameters.iter_mut().zip(update) {
            *parameter += change;
        }
    }
    for (_, writer) in links {
        writer.send(&Header::new(PARAMETERS), Payload::Dense(parameters))?;
    }
    Ok(())
}

fn work(
    transport: &str,
    settings: &Settings,
    server: &Address,
    rank: u32,
) -> Result<(), Box<dyn Error>> {
    let mut token = String::new();
    std::io::stdin().read_to_string(&mut token)?;
    let here = credentials(transport, token.parse()?, Role::Worker, rank);
    let mut server = connect(server, &here, settings, soon())?;
    for bytes in BYTES {
        let mut values = vec![0.0; bytes / 4];
        for _ in 0..rounds(bytes) {
            server.send(&Header::new(PUSH), Payload::Dense(&values))?;
            server.receive_into(PARAMETERS, &mut values, soon())?;
        }
    }
    Ok(())
}

fn rounds(bytes: usize) -> usize {
    (100_000_000 / bytes).clamp(15, 3000)
}

fn credentials(transport: &str, token: Token, role: Role, rank: u32) -> Credentials {
    Credentials {
        me: Member {
            role,
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

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(30))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark of several processes starts the others"
)]
fn start(
    transport: &str,
    settings: &Settings,
    place: &[String],
    token: &Token,
) -> Result<Child, Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["0", transport])
        .arg(settings.spin.as_micros().to_string())
        .args(place)
        .stdin(Stdio::piped())
        .spawn()?;
    let mut stdin = child
        .stdin
        .take()
        .ok_or("the worker has no standard input")?;
    stdin.write_all(token.reveal().as_bytes())?;
    Ok(child)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn clock() -> Instant {
    Instant::now()
}
