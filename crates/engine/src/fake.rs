//! An engine without processes, for tests of whoever drives one.
//!
//! It tells what its script says and is stricter than a real engine: it panics
//! if it is asked to start nonsense, if the listener leaves before the end, and
//! if a call that the script waits for never comes.

use crate::{Command, Ending, Engine, Job, Launch, Message, RunClock, StartError};
use paceline_model::WorkerId;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a script waits for a call before the test has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was asked of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// [`Job::signal`] with this signal.
    Signal(i32),
    /// [`Job::kill`].
    Kill,
}

/// One step of a run that does not take place.
pub enum Step {
    /// Tells this; anything but the end.
    Tell(Message),
    /// Turns the clock of [`FakeEngine::clock`] on.
    Advance(Duration),
    /// Goes on once this was asked.
    Await(Call),
    /// Does something to the world.
    Do(Box<dyn FnOnce() + Send>),
}

/// An engine that follows a script.
pub struct FakeEngine {
    clock: RunClock,
    plan: Mutex<Option<Plan>>,
    calls: Arc<Calls>,
    script: Mutex<Option<JoinHandle<()>>>,
}

enum Plan {
    Follow(Vec<Step>, Ending),
    Refuse(StartError),
}

#[derive(Default)]
struct Calls {
    made: Mutex<Vec<Call>>,
    changed: Condvar,
}

impl FakeEngine {
    /// Follows `steps`, then tells `ending`.
    #[must_use]
    pub fn new(steps: Vec<Step>, ending: Ending) -> Self {
        Self::with(Plan::Follow(steps, ending))
    }

    /// Refuses to start anything.
    #[must_use]
    pub fn refusing(error: StartError) -> Self {
        Self::with(Plan::Refuse(error))
    }

    fn with(plan: Plan) -> Self {
        Self {
            clock: RunClock::by_hand(),
            plan: Mutex::new(Some(plan)),
            calls: Arc::default(),
            script: Mutex::new(None),
        }
    }

    /// The clock that only [`Step::Advance`] moves. It begins at zero.
    #[must_use]
    pub fn clock(&self) -> RunClock {
        self.clock
    }

    /// What was asked of the run, in order, once its script has ended.
    ///
    /// # Panics
    /// If the run was not started, or a rule was broken.
    #[must_use]
    pub fn finish(self) -> Vec<Call> {
        let script = self.script.into_inner();
        let script = script.expect("the engine was asked to start");
        if let Err(broken) = script.join() {
            std::panic::resume_unwind(broken);
        }
        self.calls.made.lock().clone()
    }
}

impl Engine for FakeEngine {
    fn start(
        &self,
        launch: Launch,
        clock: RunClock,
        messages: SyncSender<Message>,
    ) -> Result<Arc<dyn Job>, StartError> {
        let plan = self.plan.lock().take();
        let (steps, ending) = match plan.expect("a script is followed once") {
            Plan::Refuse(error) => return Err(error),
            Plan::Follow(steps, ending) => (steps, ending),
        };
        let workers = workers(&launch.commands);
        let calls = Arc::clone(&self.calls);
        let follow = move || follow(steps, ending, &workers, clock, &messages, &calls);
        let script = std::thread::spawn(follow);
        *self.script.lock() = Some(script);
        Ok(Arc::clone(&self.calls) as Arc<dyn Job>)
    }
}

impl Job for Calls {
    fn signal(&self, signal: i32) {
        self.make(Call::Signal(signal));
    }

    fn kill(&self) {
        self.make(Call::Kill);
    }
}

impl Calls {
    fn make(&self, call: Call) {
        self.made.lock().push(call);
        self.changed.notify_all();
    }

    fn wait_for(&self, call: Call) {
        let mut made = self.made.lock();
        let missing = |made: &mut Vec<Call>| !made.contains(&call);
        self.changed.wait_while_for(&mut made, missing, PATIENCE);
        assert!(made.contains(&call), "nobody asked for {call:?}: {made:?}");
    }
}

fn workers(commands: &[Command]) -> BTreeSet<WorkerId> {
    assert!(!commands.is_empty(), "a run has at least one command");
    let workers: BTreeSet<WorkerId> = commands.iter().map(|command| command.worker).collect();
    assert_eq!(
        workers.len(),
        commands.len(),
        "each command is a worker of its own"
    );
    let named = commands.iter().all(|command| !command.argv.is_empty());
    assert!(named, "each command has a program");
    workers
}

fn follow(
    steps: Vec<Step>,
    ending: Ending,
    workers: &BTreeSet<WorkerId>,
    clock: RunClock,
    messages: &SyncSender<Message>,
    calls: &Calls,
) {
    let tell = |message: Message| {
        let heard = messages.send(message).is_ok();
        assert!(heard, "whoever starts a run listens until its end");
    };
    let (mut started, mut exited) = (BTreeSet::new(), BTreeSet::new());
    for step in steps {
        match step {
            Step::Advance(time) => clock.advance(time),
            Step::Await(call) => calls.wait_for(call),
            Step::Do(act) => act(),
            Step::Tell(message) => {
                match &message {
                    Message::Started { worker, .. } => {
                        assert!(workers.contains(worker), "{worker:?} was not launched");
                        assert!(started.insert(*worker), "{worker:?} starts twice");
                    }
                    Message::Exited { worker, .. } => {
                        assert!(started.contains(worker), "{worker:?} exits unstarted");
                        assert!(exited.insert(*worker), "{worker:?} exits twice");
                    }
                    Message::Ended(_) => panic!("the script's end is told by itself"),
                    Message::Output { .. }
                    | Message::Sample { .. }
                    | Message::Suspended { .. }
                    | Message::Reports { .. }
                    | Message::Noticed { .. } => {}
                }
                tell(message);
            }
        }
    }
    assert_eq!(&exited, workers, "a run ends when all commands have exited");
    tell(Message::Ended(ending));
}
