//! Workers and servers as processes: this test program again, as a member.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use paceline_data::Split;
use paceline_nets::Model;
use paceline_train::{
    Cadence, Checkpoint, CheckpointSettings, Cluster, ClusterOutcome, ClusterSession, Ended,
    Ending, Evaluation, Goal, Kill, Launcher, Notice, ProgressReport, Rendezvous, Settings,
    StartMemberError, TrainError, Watch, is_process_stopped, serve, work,
};
use paceline_wire::{Address, Member, Role, Security, Token};

use crate::support::{
    Heard, bits, blobs, cluster, network, on_threads, pairs, settings, sparse, wide_network,
};

/// What a member of a test must know, in words that its environment carries.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What the model is called.
    pub(crate) model: &'static str,
    pub(crate) data: &'static str,
    pub(crate) optimizer: &'static str,
    pub(crate) sync: &'static str,
    pub(crate) workers: u32,
    pub(crate) servers: u32,
    pub(crate) steps: u64,
    pub(crate) slow: &'static str,
    pub(crate) compress: &'static str,
    pub(crate) policy: &'static str,
    /// The time-out for failures, in seconds.
    pub(crate) timeout: u64,
}

pub(crate) const PLAN: Plan = Plan {
    model: "net",
    data: "blobs",
    optimizer: "momentum",
    sync: "bsp",
    workers: 2,
    servers: 1,
    steps: 60,
    slow: "",
    compress: "none",
    policy: "replace",
    timeout: 5,
};

impl Plan {
    fn words(&self) -> String {
        format!(
            "{} {} {} {} {} {} {} {} {} {} {}",
            self.model,
            self.data,
            self.optimizer,
            self.sync,
            self.workers,
            self.servers,
            self.steps,
            self.policy,
            self.timeout,
            self.compress,
            self.slow
        )
    }

    fn cluster(&self) -> Cluster {
        Cluster {
            slow: self.slow.parse().into_iter().collect(),
            on_worker_loss: Some(self.policy.parse().expect("a policy")),
            failure_timeout: Duration::from_secs(self.timeout),
            compress: self.compress.parse().expect("a compression"),
            ..cluster(self.workers, self.servers, self.sync)
        }
    }

    fn settings(&self, checkpoint: &Path) -> Settings {
        Settings {
            goal: Goal {
                steps: Some(self.steps),
                ..Goal::default()
            },
            evaluate_every: Cadence::Steps(20),
            checkpoint: Some(CheckpointSettings {
                path: checkpoint.to_owned(),
                every: Cadence::Steps(10),
                words: Default::default(),
            }),
            ..settings(self.optimizer, 0)
        }
    }

    pub(crate) fn session(&self, checkpoint: &Path) -> ClusterSession {
        let (data, model) = self.material();
        let (settings, cluster) = (self.settings(checkpoint), self.cluster());
        ClusterSession::new(self.model, model, data, settings, cluster).expect("the plan is sound")
    }

    /// Goes on where the checkpoint stands.
    pub(crate) fn resumed(&self, checkpoint: &Path) -> ClusterSession {
        let (data, model) = self.material();
        let (settings, cluster) = (self.settings(checkpoint), self.cluster());
        let kept = Checkpoint::read(model.layout(), checkpoint).expect("a checkpoint");
        ClusterSession::resume(self.model, model, data, settings, cluster, kept)
            .expect("the plan is sound")
    }

    fn material(&self) -> (Split, Arc<dyn Model>) {
        if self.data == "sparse" {
            return sparse();
        }
        if let Some(seed) = self.data.strip_prefix("pairs") {
            return pairs(seed, self.model);
        }
        let data = blobs();
        let model = match self.data {
            "wide" => wide_network(&data),
            _ => network(&data),
        };
        (data, model)
    }
}

/// Not a test of its own: what a member's process runs.
#[test]
fn member() {
    #[expect(clippy::disallowed_methods, reason = "how a member learns its part")]
    let Ok(words) = std::env::var("PACELINE_TEST_MEMBER") else {
        return;
    };
    let words: Vec<&str> = words.split(' ').collect();
    let [
        role,
        rank,
        incarnation,
        dir,
        model,
        data,
        optimizer,
        sync,
        workers,
        servers,
        steps,
        policy,
        timeout,
        compress,
        slow,
    ] = words[..]
    else {
        panic!("a member's part has other words");
    };
    let keep = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let plan = Plan {
        model: keep(model),
        data: keep(data),
        optimizer: keep(optimizer),
        sync: keep(sync),
        workers: workers.parse().unwrap(),
        servers: servers.parse().unwrap(),
        steps: steps.parse().unwrap(),
        slow: keep(slow),
        policy: keep(policy),
        timeout: timeout.parse().unwrap(),
        compress: keep(compress),
    };
    let mut token = String::new();
    std::io::stdin().read_line(&mut token).unwrap();
    let meeting = meeting(Path::new(dir), plan.servers, token.parse().unwrap());
    let session = plan.session(&Path::new(dir).join("model.safetensors"));
    let rank = rank.parse().unwrap();
    if role == "server" {
        serve(&session, rank, &meeting).unwrap();
    } else {
        work(&session, rank, incarnation.parse().unwrap(), &meeting).unwrap();
    }
}

pub(crate) fn meeting(dir: &Path, servers: u32, token: Token) -> Rendezvous {
    Rendezvous {
        servers: (0..servers)
            .map(|server| Address::Unix(dir.join("sockets").join(format!("server{server}"))))
            .collect(),
        token,
        security: Security::Plain,
        wire: Default::default(),
        patience: Rendezvous::PATIENCE,
    }
}

/// Members as processes.
pub(crate) struct Children {
    plan: Plan,
    dir: PathBuf,
    token: Token,
    running: Vec<(Member, Child)>,
    /// Who was started, with its process's number.
    pub(crate) started: Arc<Mutex<Vec<(Member, u32)>>>,
}

impl Children {
    pub(crate) fn new(plan: &Plan, dir: &Path, token: &Token) -> Self {
        Self {
            plan: plan.clone(),
            dir: dir.to_owned(),
            token: token.clone(),
            running: Vec::new(),
            started: Arc::default(),
        }
    }
}

impl Launcher for Children {
    fn start(&mut self, member: Member) -> Result<(), StartMemberError> {
        let failed = |source| StartMemberError { member, source };
        let role = match member.role {
            Role::Server => "server",
            _ => "worker",
        };
        let words = format!(
            "{role} {} {} {} {}",
            member.rank,
            member.incarnation,
            self.dir.display(),
            self.plan.words()
        );
        #[expect(clippy::disallowed_methods, reason = "members are processes")]
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .args(["--exact", "processes::member", "--nocapture"])
            .env("PACELINE_TEST_MEMBER", words)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let mut stdin = child.stdin.take().expect("its input is piped");
        writeln!(stdin, "{}", self.token.reveal()).map_err(failed)?;
        let mut started = self.started.lock().expect("nobody panics");
        started.push((member, child.id()));
        self.running.push((member, child));
        Ok(())
    }

    fn ended(&mut self) -> Vec<Ended> {
        let mut fallen = Vec::new();
        self.running.retain_mut(|(member, child)| {
            let Ok(Some(status)) = child.try_wait() else {
                return true;
            };
            fallen.push(Ended {
                member: *member,
                how: status.to_string(),
            });
            false
        });
        fallen
    }

    fn is_stopped(&self, member: Member) -> bool {
        let mut running = self.running.iter();
        let process = running.find(|(other, _)| *other == member);
        process.is_some_and(|(_, child)| is_process_stopped(child.id()))
    }

    fn end(&mut self, member: Member) {
        for (other, child) in &mut self.running {
            if *other == member {
                // One that has ended already is as good.
                let _ = child.kill();
            }
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for (_, child) in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Remembers evaluations and notices.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) evaluations: Vec<Evaluation>,
    pub(crate) notices: Vec<String>,
}

impl Watch for Told {
    fn progressed(&mut self, _: &ProgressReport) {}

    fn evaluated(&mut self, evaluation: &Evaluation) {
        self.evaluations.push(*evaluation);
    }

    fn noticed(&mut self, notice: &Notice) {
        self.notices.push(notice.to_string());
    }
}

pub(crate) struct Run {
    pub(crate) outcome: Result<ClusterOutcome, TrainError>,
    pub(crate) parameters: Vec<u32>,
    pub(crate) told: Told,
}

pub(crate) fn run(plan: &Plan, kills: &[&str]) -> Run {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("model.safetensors");
    let token = Token::random().expect("a token");
    let mut session = plan.session(&path);
    let mut crew = Children::new(plan, dir.path(), &token);
    let kills: Vec<Kill> = kills
        .iter()
        .map(|kill| kill.parse().expect("a kill"))
        .collect();
    let mut told = Told::default();
    let outcome = session.run_on_processes(
        &meeting(dir.path(), plan.servers, token),
        &mut crew,
        &kills,
        &mut told,
        &AtomicBool::new(false),
    );
    if outcome.is_ok() {
        let checkpoint = Checkpoint::read(session.layout(), &path).expect("a checkpoint");
        assert_eq!(bits(&checkpoint.parameters), bits(session.parameters()));
    }
    Run {
        outcome,
        parameters: bits(session.parameters()),
        told,
    }
}

/// The bits that the same training on threads ends with.
pub(crate) fn on_threads_instead(plan: &Plan) -> Vec<u32> {
    let dir = tempfile::tempdir().expect("a directory");
    let mut session = plan.session(&dir.path().join("model.safetensors"));
    on_threads(&mut session, &mut Heard::default());
    bits(session.parameters())
}

#[test]
fn synchronous_processes_end_with_the_bits_of_threads() {
    for (data, optimizer, servers) in [
        ("blobs", "adam", 1),
        ("blobs", "momentum", 3),
        ("sparse", "adagrad", 2),
    ] {
        let plan = Plan {
            data,
            optimizer,
            servers,
            workers: 3,
            ..PLAN
        };
        let run = run(&plan, &[]);
        let found = run.outcome.unwrap();
        assert_eq!(found.outcome.ending, Ending::Steps);
        assert_eq!(run.told.evaluations.len(), 3);
        assert!(
            run.parameters == on_threads_instead(&plan),
            "{data}, {servers} servers"
        );
    }
}

#[test]
fn processes_learn_under_every_consistency_model() {
    for sync in ["ssp:3", "async", "backup:1", "dynamic-ssp:1..8", "local:4"] {
        let plan = Plan {
            sync,
            servers: 2,
            steps: 200,
            ..PLAN
        };
        let run = run(&plan, &[]);
        let found = run.outcome.unwrap();
        assert_eq!(found.outcome.ending, Ending::Steps, "{sync}");
        let last = found.outcome.evaluation.unwrap();
        assert!(
            last.test.accuracy() > 0.9,
            "{sync}: {}",
            last.test.accuracy()
        );
        assert!(found.workers.iter().all(|worker| worker.iterations > 0));
    }
}

/// Long enough to be disturbed on the way: a member is killed when the
/// controller has seen step 20, and nobody gets far beyond without it.
pub(crate) const LONG: Plan = Plan { steps: 200, ..PLAN };

#[test]
fn a_killed_worker_is_replaced_and_the_result_is_the_same() {
    let run = run(&LONG, &["worker1@step20"]);
    let found = run.outcome.unwrap();
    assert_eq!(found.outcome.ending, Ending::Steps);
    assert!(
        run.told
            .notices
            .iter()
            .any(|notice| notice.contains("started again"))
    );
    assert!(run.parameters == on_threads_instead(&LONG));
}

#[test]
fn a_training_that_must_not_lose_a_worker_fails_and_names_it() {
    let plan = Plan {
        policy: "fail",
        ..LONG
    };
    let error = run(&plan, &["worker1@step20"]).outcome.unwrap_err();
    assert!(
        matches!(error, TrainError::Lost { worker: 1, .. }),
        "{error}"
    );
}

#[test]
fn asynchronous_workers_go_on_without_one_that_was_killed() {
    for sync in ["async", "ssp:2", "bsp"] {
        let plan = Plan {
            sync,
            policy: "continue",
            workers: 3,
            ..LONG
        };
        let run = run(&plan, &["worker1@step20"]);
        let found = run.outcome.unwrap();
        assert_eq!(found.outcome.ending, Ending::Steps, "{sync}");
        // Whoever sees it first, the servers or the parent, tells it.
        let tells = |notice: &String| notice.contains("worker1") || notice.contains("worker 1");
        assert!(run.told.notices.iter().any(tells), "{sync}");
    }
}

#[test]
fn a_killed_server_goes_on_from_the_last_snapshot() {
    for (sync, servers) in [("bsp", 1), ("bsp", 2), ("async", 2)] {
        let plan = Plan {
            sync,
            servers,
            ..LONG
        };
        let run = run(&plan, &["server0@step20"]);
        let found = run.outcome.unwrap();
        assert_eq!(found.outcome.ending, Ending::Steps, "{sync}");
        let told = run.told.notices.join("; ");
        let words = match (sync, servers) {
            ("bsp", 2) => "all servers go on from step",
            _ => "server0 goes on from step",
        };
        assert!(told.contains(words), "{told}");
        if sync == "bsp" {
            assert!(run.parameters == on_threads_instead(&plan), "{servers}");
        }
    }
}

/// A generator for schedules of faults: Marsaglia's xorshift64.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// One run with random kills of workers and servers. Whatever the seed, it ends
/// with all its steps done and its checkpoint readable (which `run` checks), or
/// as the policy documents.
fn campaign(seed: u64) {
    let mut chance = Chance::of(seed);
    let sync =
        ["bsp", "ssp:2", "async", "backup:1", "local:2", "allreduce"][chance.below(6) as usize];
    let policy = ["replace", "continue", "fail"][chance.below(3) as usize];
    let workers = 2 + chance.below(2) as u32;
    let servers = 1 + chance.below(2) as u32;
    let plan = Plan {
        sync,
        policy,
        workers,
        servers,
        ..LONG
    };
    let kills: Vec<String> = (0..1 + chance.below(3))
        .map(|_| {
            let step = 10 * (1 + chance.below(15));
            if chance.below(4) == 0 {
                format!("server{}@step{step}", chance.below(u64::from(servers)))
            } else {
                // The first worker stays: without any, nobody goes on.
                format!(
                    "worker{}@step{step}",
                    1 + chance.below(u64::from(workers) - 1)
                )
            }
        })
        .collect();
    let words: Vec<&str> = kills.iter().map(String::as_str).collect();
    let story = format!("seed {seed}: {sync}, {policy}, {workers} workers, {kills:?}");
    match run(&plan, &words).outcome {
        Ok(found) => assert_eq!(found.outcome.ending, Ending::Steps, "{story}"),
        Err(TrainError::Lost { .. }) => {
            let killed = kills.iter().any(|kill| kill.starts_with("worker"));
            // A sum without one of its members is none of all.
            let ends = policy == "fail" || (sync, policy) == ("allreduce", "continue");
            assert!(ends && killed, "{story}");
        }
        Err(error) => panic!("{story}: {error}"),
    }
}

#[test]
fn ten_trainings_with_random_kills_end_in_their_documented_state() {
    for seed in 0..10 {
        campaign(seed);
    }
}

#[test]
#[ignore = "takes minutes: the campaign in full"]
fn a_hundred_trainings_with_random_kills_end_in_their_documented_state() {
    for seed in 0..100 {
        campaign(seed);
    }
}
