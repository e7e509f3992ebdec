//! A training on three hosts whose network is slow.
//!
//! The hosts are network namespaces, joined by a bridge; a link is slowed by
//! the kernel's token bucket (`tc tbf`). Who may not make namespaces is told
//! that nothing was checked.

mod support;

use paceline_records::Run;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::members::{Talking, Trainer};
use support::paceline;

/// The trainer and the server are on the first host, a worker on each other.
const HOSTS: usize = 3;

/// What a slowed link carries: an update of 31 kB takes 31 ms.
const SLOW: [&str; 7] = ["tbf", "rate", "8mbit", "burst", "16kb", "latency", "500ms"];

/// How long a link stays slow where slowness goes round.
const TURN: Duration = Duration::from_millis(300);

/// Hosts of this test alone: everything of theirs goes with them.
struct Network {
    /// The names of the hosts' namespaces, and last the switch's.
    names: Vec<String>,
}

/// Runs `ip` or `tc`; what went wrong in words if it did.
fn system(program: &str, args: &[&str]) -> Result<(), String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests prepare their surroundings"
    )]
    let run = Command::new(program).args(args).output();
    match run {
        Err(error) => Err(format!("{program}: {error}")),
        Ok(Output { status, stderr, .. }) if !status.success() => {
            let words = String::from_utf8_lossy(&stderr).trim().to_owned();
            Err(format!("{program} {}: {words}", args.join(" ")))
        }
        Ok(_) => Ok(()),
    }
}

impl Network {
    /// Hosts that are joined by a bridge; in words why this machine has none.
    fn new() -> Result<Self, String> {
        let pid = std::process::id();
        let mut network = Self { names: Vec::new() };
        for place in 0..=HOSTS {
            let name = format!("paceline{pid}-{place}");
            system("ip", &["netns", "add", &name])?;
            network.names.push(name);
        }
        network.join()?;
        // Not every kernel has token buckets.
        network.slow(1)?;
        Ok(network)
    }

    fn join(&self) -> Result<(), String> {
        let switch = &self.names[HOSTS];
        let bridge = ["link", "add", "br0", "up", "type", "bridge"];
        system("ip", &[&["-n", switch], &bridge[..]].concat())?;
        for (place, host) in self.names[..HOSTS].iter().enumerate() {
            let port = format!("port{place}");
            let address = format!("{}/24", self.address(place));
            let veth = ["link", "add", &port, "netns", switch, "type", "veth"];
            let peer = ["peer", "name", "eth0", "netns", host];
            system("ip", &[&veth[..], &peer].concat())?;
            for (name, words) in [
                (switch, &["link", "set", &port, "master", "br0", "up"][..]),
                (host, &["addr", "add", &address, "dev", "eth0"]),
                (host, &["link", "set", "eth0", "up"]),
                (host, &["link", "set", "lo", "up"]),
            ] {
                system("ip", &[&["-n", name], words].concat())?;
            }
        }
        Ok(())
    }

    fn address(&self, place: usize) -> String {
        format!("10.77.0.{}", 1 + place)
    }

    /// Slows what a worker's host sends, and frees the other's.
    fn slow(&self, worker: usize) -> Result<(), String> {
        let [slow, free] = [1 + worker, 2 - worker].map(|place| self.names[place].as_str());
        let limit = ["-n", slow, "qdisc", "replace", "dev", "eth0", "root"];
        system("tc", &[&limit[..], &SLOW].concat())?;
        // A link that is free already has nothing to remove.
        let _ = system("tc", &["-n", free, "qdisc", "del", "dev", "eth0", "root"]);
        Ok(())
    }

    fn free(&self) {
        for host in &self.names[1..HOSTS] {
            let _ = system("tc", &["-n", host, "qdisc", "del", "dev", "eth0", "root"]);
        }
    }

    /// The same command on a host.
    fn on(&self, place: usize, command: &Command) -> Command {
        #[expect(clippy::disallowed_methods, reason = "tests start the real binary")]
        let mut there = Command::new("ip");
        there
            .args(["netns", "exec", &self.names[place]])
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(command.get_current_dir().expect("a test's directory"))
            .stdin(std::process::Stdio::null());
        for (name, value) in command.get_envs() {
            there.env(name, value.unwrap_or_default());
        }
        there
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            // Interfaces and queues go with their namespace.
            let _ = system("ip", &["netns", "del", name]);
        }
    }
}

/// Which links are slow.
#[derive(Clone, Copy)]
enum Links {
    Free,
    /// That of worker 1.
    OneSlow,
    /// One after the other.
    InTurn,
}

/// What the record says of a run.
struct Seen {
    /// By worker.
    iterations: [f64; 2],
    /// By worker: the seconds it waited, and those that it waited for the other.
    waiting: [f64; 2],
    waited_for_other: [f64; 2],
}

impl Seen {
    fn all_iterations(&self) -> f64 {
        self.iterations.iter().sum()
    }

    fn all_waited_for_other(&self) -> f64 {
        self.waited_for_other.iter().sum()
    }

    fn of(record: &Path) -> Self {
        let run = Run::open(record).expect("a record");
        let events = run.events().expect("its events");
        let last = |worker: u32, name: &str| {
            let of_worker = |event: &&paceline_model::Event| {
                event.worker.is_some_and(|id| id.0 == worker) && event.name == name
            };
            let event = events.iter().rev().find(of_worker);
            event.and_then(|event| event.value).expect("a metric")
        };
        Self {
            iterations: [0, 1].map(|worker| last(worker, "iterations")),
            waiting: [0, 1].map(|worker| last(worker, "waiting_s")),
            waited_for_other: [0, 1]
                .map(|worker| last(worker, &format!("waited_for_worker{}_s", 1 - worker))),
        }
    }
}

/// Trains on the three hosts for a while.
fn train(network: &Network, dir: &Path, out: &str, sync: &str, links: Links) -> Seen {
    match links {
        Links::Free => network.free(),
        Links::OneSlow | Links::InTurn => network.slow(1).expect("a link can be slowed"),
    }
    let at = format!("--at=tcp://{}:7001", network.address(0));
    let (sync, into) = (format!("--sync={sync}"), format!("--out={out}"));
    let words = [
        "train",
        "softmax",
        "--data=synthetic:blobs,rows=2000,test=100,width=784,classes=10,seed=2",
        "--batch-size=10",
        "--threads=1",
        "--for=2s",
        "--eval-every=1000000",
        "--no-checkpoint",
        "--workers=2",
        "--spawn=hosts",
        "--token-file=token",
        "--wait=60s",
        &at,
        &sync,
        &into,
    ];
    let mut trainer = Trainer::start(network.on(0, &paceline(dir, words)), 3);
    let start = |place, member: &str| {
        let command = trainer.command_for(dir, member, str::to_owned);
        Talking::start(network.on(place, &command))
    };
    let mut members = [
        start(0, "server 0"),
        start(1, "worker 0"),
        start(2, "worker 1"),
    ];
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if let Links::InTurn = links {
            scope.spawn(|| {
                for turn in 0.. {
                    if has_ended.load(Ordering::Relaxed) {
                        break;
                    }
                    std::thread::sleep(TURN);
                    network.slow(turn % 2).expect("a link can be slowed");
                }
            });
        }
        let ended = trainer.talk.end();
        has_ended.store(true, Ordering::Relaxed);
        assert_eq!(ended.0, Some(0), "{}", trainer.talk.complaints());
    });
    for member in &mut members {
        assert_eq!(member.end().0, Some(0), "{}", member.complaints());
    }
    Seen::of(&dir.join(out))
}

#[test]
fn on_slow_networks_bsp_suffers_ssp_less_and_the_record_says_why() {
    let network = match Network::new() {
        Ok(network) => network,
        Err(why) => {
            paceline_testkit::skipped(why);
            return;
        }
    };
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let free = train(&network, dir, "free", "bsp", Links::Free);
    let slowed = train(&network, dir, "slowed", "bsp", Links::OneSlow);
    let bsp = train(&network, dir, "bsp", "bsp", Links::InTurn);
    let ssp = train(&network, dir, "ssp", "ssp:256", Links::InTurn);
    let told = [
        ("free", &free),
        ("slowed", &slowed),
        ("bsp", &bsp),
        ("ssp", &ssp),
    ];
    let told = told.map(|(name, seen)| {
        format!(
            "{name}: iterations {:?}, waiting {:.2?} s, of that for the other {:.2?} s\n",
            seen.iterations, seen.waiting, seen.waited_for_other
        )
    });
    let told = told.concat();
    writeln!(std::io::stderr(), "{told}").expect("stderr is open");

    // One slow link holds both workers, and the record names it.
    assert!(
        slowed.all_iterations() < 0.5 * free.all_iterations(),
        "{told}"
    );
    let lead = (slowed.iterations[0] - slowed.iterations[1]).abs();
    assert!(lead <= 1.0, "under bsp nobody is ahead\n{told}");
    assert!(
        slowed.waited_for_other[0] > 0.5 * slowed.waiting[0],
        "{told}"
    );
    assert!(
        slowed.waited_for_other[0] > slowed.waited_for_other[1],
        "{told}"
    );

    // Where slowness goes round, bsp always waits for the slowest link; ssp
    // lets a worker go on until the other has its turn.
    assert!(ssp.all_iterations() > 1.25 * bsp.all_iterations(), "{told}");
    assert!(
        ssp.all_waited_for_other() < bsp.all_waited_for_other(),
        "{told}"
    );
    let lead = (ssp.iterations[0] - ssp.iterations[1]).abs();
    // One iteration under way, and one that the server has counted but whose worker was
    // told to stop before it could write it down.
    assert!(lead <= 258.0, "ssp keeps its bound\n{told}");
}
