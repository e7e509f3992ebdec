//! What every engine promises, checked against real processes.
//!
//! [`EngineContract::check`] runs all of it. An engine that cannot pass a part
//! needs another contract, not an exception.

use paceline_engine::{
    Allocation, Command, Engine, Job, Launch, Leftovers, Message, NodeRequest, Rank, RunClock,
    StartError, Stdin,
};
use paceline_model::{ExitStatus, Micros, NodeName, RunId, Stream, WorkerId};
use paceline_probe::Interval;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// An engine, and how many nodes it can give.
pub struct EngineContract<'a> {
    /// The engine.
    pub engine: &'a dyn Engine,
    /// The same engine, or one of the same cluster that waits less long for nodes:
    /// it is asked for what cannot be had.
    pub hasty: &'a dyn Engine,
    /// Nodes of each run; at least one.
    pub nodes: u32,
}

/// Everything that a run has told.
#[derive(Debug, Default)]
pub struct Told {
    /// What each worker printed on stdout.
    pub out: BTreeMap<u32, Vec<u8>>,
    /// What each worker printed on stderr.
    pub err: BTreeMap<u32, Vec<u8>>,
    /// How each worker exited.
    pub exits: BTreeMap<u32, ExitStatus>,
    /// When each node was sampled.
    pub samples: BTreeMap<NodeName, Vec<Micros>>,
    started: BTreeMap<u32, Micros>,
    is_over: bool,
}

/// 100 MB of one worker.
const MUCH: usize = 100_000_000;
const LINE: &[u8] = b"paceline\n";

impl EngineContract<'_> {
    /// Checks everything.
    ///
    /// # Panics
    /// If the engine breaks its promises.
    pub fn check(&self) {
        self.each_command_keeps_its_own_exit();
        self.both_streams_arrive();
        self.a_command_knows_its_rank();
        self.every_node_is_sampled_in_order();
        self.a_signal_reaches_every_command();
        self.a_kill_ends_what_ignores_signals();
        self.a_missing_program_starts_nothing();
        self.thirty_two_workers_end_together();
        self.much_output_arrives_whole_and_in_order();
        self.more_nodes_than_there_are_cannot_be_had();
    }

    fn each_command_keeps_its_own_exit(&self) {
        let told = self.run(2, "if [ $RANK = 0 ]; then kill -9 $$; fi; exit $RANK");
        for rank in 0..2 * self.nodes {
            let expected = match rank {
                0 => ExitStatus::Signalled(9),
                rank => ExitStatus::Exited(i32::try_from(rank).expect("few ranks")),
            };
            assert_eq!(told.exits.get(&rank), Some(&expected), "rank {rank}");
        }
    }

    fn both_streams_arrive(&self) {
        let told = self.run(1, "echo out $RANK; echo err $RANK >&2");
        for rank in 0..self.nodes {
            assert_eq!(told.out[&rank], format!("out {rank}\n").as_bytes());
            assert_eq!(told.err[&rank], format!("err {rank}\n").as_bytes());
        }
    }

    fn a_command_knows_its_rank(&self) {
        let told = self.run(
            2,
            "echo $RANK $WORLD_SIZE $LOCAL_RANK $NODE_RANK; test -n \"$MASTER_ADDR\" && \
             test \"$MASTER_PORT\" -gt 0 && echo \"$TF_CONFIG\" | grep -q '\"index\": '$RANK'}'",
        );
        for rank in 0..2 * self.nodes {
            let expected = format!("{rank} {} {} {}\n", 2 * self.nodes, rank % 2, rank / 2);
            assert_eq!(String::from_utf8_lossy(&told.out[&rank]), expected);
            assert_eq!(told.exits[&rank], ExitStatus::Exited(0), "rank {rank}");
        }
    }

    fn every_node_is_sampled_in_order(&self) {
        let told = self.run(1, "sleep 0.6");
        assert_eq!(
            told.samples.len(),
            self.nodes as usize,
            "{:?}",
            told.samples
        );
        for (node, times) in &told.samples {
            assert!(times.len() >= 2, "{node}: {times:?}");
            assert!(times.windows(2).all(|two| two[0] < two[1]), "{node}");
        }
    }

    fn a_signal_reaches_every_command(&self) {
        let script = "trap 'exit 42' TERM; echo ready; while :; do sleep 0.05; done";
        let told = self.run_and(1, script, |job| job.signal(15));
        for rank in 0..self.nodes {
            assert_eq!(told.exits[&rank], ExitStatus::Exited(42), "rank {rank}");
        }
    }

    fn a_kill_ends_what_ignores_signals(&self) {
        let script = "trap '' TERM INT HUP; echo ready; while :; do sleep 0.05; done";
        let told = self.run_and(1, script, |job| job.kill());
        for rank in 0..self.nodes {
            assert_eq!(told.exits[&rank], ExitStatus::Signalled(9), "rank {rank}");
        }
    }

    fn a_missing_program_starts_nothing(&self) {
        let allocation = self.allocate();
        let mut launch = self.launch(&allocation, 1, "true");
        for command in &mut launch.commands {
            command.argv[0] = "/no/such/program".into();
        }
        let (sender, messages) = sync_channel(64);
        let started = self.engine.start(launch, RunClock::start(), sender);
        let error = started.err().expect("there is no such program");
        assert!(error.to_string().contains("/no/such/program"), "{error}");
        let told = messages
            .iter()
            .filter(|it| !matches!(it, Message::Output { .. }));
        assert_eq!(told.count(), 0);
        self.engine.release(&allocation);
    }

    fn thirty_two_workers_end_together(&self) {
        let told = self.run(32_u32.div_ceil(self.nodes), "echo $RANK");
        assert!(told.exits.len() >= 32);
        for (rank, status) in &told.exits {
            assert_eq!(*status, ExitStatus::Exited(0));
            assert_eq!(told.out[rank], format!("{rank}\n").as_bytes());
        }
    }

    fn much_output_arrives_whole_and_in_order(&self) {
        let script = format!("if [ $RANK = 0 ]; then yes paceline | head -c {MUCH}; fi");
        let told = self.run(1, &script);
        let out = &told.out[&0];
        assert_eq!(out.len(), MUCH);
        let whole = out.chunks(LINE.len()).all(|line| LINE.starts_with(line));
        assert!(whole, "the output is not what was printed");
    }

    fn more_nodes_than_there_are_cannot_be_had(&self) {
        match self
            .hasty
            .allocate(&NodeRequest::machines(self.nodes + 1000), &|| false)
        {
            Err(StartError::TooFewNodes { .. } | StartError::Cluster(_)) => {}
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    fn allocate(&self) -> Allocation {
        let allocation = self
            .engine
            .allocate(&NodeRequest::machines(self.nodes), &|| false);
        allocation.expect("the nodes can be had")
    }

    /// Runs `script` in a shell, `per_node` times on each node.
    #[must_use]
    pub fn run(&self, per_node: u32, script: &str) -> Told {
        let (_, messages, allocation) = self.start(per_node, script);
        let mut told = Told::default();
        told.hear(&messages, |_| false);
        self.engine.release(&allocation);
        told.is_complete();
        told
    }

    /// The same; once every worker has printed something, `act` is done.
    #[must_use]
    pub fn run_and(&self, per_node: u32, script: &str, act: impl FnOnce(&dyn Job)) -> Told {
        let (job, messages, allocation) = self.start(per_node, script);
        let all = (per_node * self.nodes) as usize;
        let mut told = Told::default();
        told.hear(&messages, |told| told.out.len() == all);
        act(job.as_ref());
        told.hear(&messages, |_| false);
        self.engine.release(&allocation);
        told.is_complete();
        told
    }

    fn start(&self, per_node: u32, script: &str) -> (Arc<dyn Job>, Receiver<Message>, Allocation) {
        let allocation = self.allocate();
        let launch = self.launch(&allocation, per_node, script);
        let (sender, messages) = sync_channel(64);
        let job = self.engine.start(launch, RunClock::start(), sender);
        (job.expect("a shell can be started"), messages, allocation)
    }

    fn launch(&self, allocation: &Allocation, per_node: u32, script: &str) -> Launch {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let ranks = Rank::all(1, self.nodes, per_node);
        let command = |rank: Rank| Command {
            worker: WorkerId(rank.rank),
            rank: Some(rank),
            argv: ["/bin/sh", "-c", script].map(Into::into).to_vec(),
            env: Vec::new(),
            cwd: None,
            cpus: None,
            tee_out: None,
            tee_err: None,
        };
        Launch {
            run: RunId::new(&format!("contract-{number}-{}", std::process::id()))
                .expect("letters and digits"),
            commands: ranks.map(command).collect(),
            nodes: allocation.names(),
            stdin: Stdin::Null,
            memory_max: None,
            interval: Interval::new(Duration::from_millis(100)).expect("long enough"),
            leftovers: Leftovers::End,
        }
    }
}

impl Told {
    /// Listens until the end, or until `enough`.
    fn hear(&mut self, messages: &Receiver<Message>, enough: impl Fn(&Self) -> bool) {
        for message in messages {
            self.take(message);
            if enough(self) {
                return;
            }
        }
    }

    fn take(&mut self, message: Message) {
        assert!(!self.is_over, "nothing follows the end: {message:?}");
        match message {
            Message::Started { worker, at, .. } => {
                let before = self.started.insert(worker.0, at);
                assert!(before.is_none(), "{worker} starts twice");
            }
            Message::Output {
                worker,
                stream,
                bytes,
                ..
            } => {
                let of = match stream {
                    Stream::Out => &mut self.out,
                    Stream::Err => &mut self.err,
                };
                of.entry(worker.0).or_default().extend(bytes);
            }
            Message::Sample { node, sample } => {
                self.samples.entry(node).or_default().push(sample.at);
            }
            Message::Exited {
                worker, status, at, ..
            } => {
                let before = self.exits.insert(worker.0, status);
                assert!(before.is_none(), "{worker} exits twice");
                if let Some(started) = self.started.get(&worker.0) {
                    assert!(at >= *started, "{worker} exits before it starts");
                }
            }
            Message::Ended(_) => self.is_over = true,
            Message::Suspended { .. } | Message::Reports { .. } | Message::Noticed { .. } => {}
        }
    }

    fn is_complete(&self) {
        assert!(self.is_over, "the last message is the end");
        let started: Vec<_> = self.started.keys().collect();
        let exited: Vec<_> = self.exits.keys().collect();
        for worker in &started {
            assert!(exited.contains(worker), "worker {worker} never exits");
        }
    }
}
