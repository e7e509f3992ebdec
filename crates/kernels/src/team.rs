use parking_lot::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

/// How often a waiting thread looks before it gives its core away. A step of a
/// small model takes some tens of microseconds, waking a sleeping thread about
/// as long.
const SPINS: u32 = 20_000;

/// After so many times of giving the core away a thread goes to sleep, so that
/// an idle team costs nothing.
const YIELDS: u32 = 200;

/// Threads that run one closure together, again and again.
///
/// The caller is member 0. Between two calls the others spin for a short while
/// and then sleep.
pub struct Team {
    shared: Arc<Shared>,
    members: Vec<JoinHandle<()>>,
}

struct Shared {
    size: usize,
    /// Counts the tasks given out; a change is the signal to start.
    task_number: AtomicUsize,
    /// How many members have yet to finish the current task.
    unfinished: AtomicUsize,
    task: Mutex<Option<Task>>,
    stop: AtomicBool,
    panicked: AtomicBool,
    sleepers: Mutex<()>,
    wake: Condvar,
    /// How often a member went to sleep.
    #[cfg(test)]
    asleep: AtomicUsize,
    barrier: Barrier,
}

/// The closure of the current task. Valid from the moment `task_number` grows
/// until `unfinished` is zero again, during which `Team::run` does not return.
#[derive(Clone, Copy)]
struct Task(*const (dyn Fn(Member<'_>) + Sync));

#[expect(
    unsafe_code,
    reason = "the pointer is to a `Sync` closure that outlives the task"
)]
// SAFETY: the closure is `Sync`, and `Team::run` keeps it alive until every
// member has finished with it.
unsafe impl Send for Task {}

/// One thread's place in a running task.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    rank: usize,
    shared: &'a Shared,
}

impl Member<'_> {
    /// From 0 to the size of the team, exclusive.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many threads run the task.
    pub fn size(&self) -> usize {
        self.shared.size
    }

    /// Waits until every member has come here. What each wrote before is seen
    /// by all after.
    pub fn meet(&self) {
        self.shared
            .barrier
            .wait(self.shared.size, &self.shared.panicked);
    }
}

impl Team {
    /// A team of `size` threads, the caller's included.
    ///
    /// # Panics
    ///
    /// If `size` is zero, or the system refuses a thread.
    pub fn new(size: usize) -> Self {
        assert!(size > 0, "a team has at least one member");
        let shared = Arc::new(Shared {
            size,
            task_number: AtomicUsize::new(0),
            unfinished: AtomicUsize::new(0),
            task: Mutex::new(None),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            sleepers: Mutex::new(()),
            #[cfg(test)]
            asleep: AtomicUsize::new(0),
            wake: Condvar::new(),
            barrier: Barrier::default(),
        });
        let members = (1..size)
            .map(|rank| {
                let shared = Arc::clone(&shared);
                thread::Builder::new()
                    .name(format!("compute-{rank}"))
                    .spawn(move || serve(&shared, rank))
                    .expect("the system starts as many threads as were asked for")
            })
            .collect();
        Self { shared, members }
    }

    /// How many threads run a task.
    pub fn size(&self) -> usize {
        self.shared.size
    }

    /// Runs `task` once on every member and returns when all have finished.
    ///
    /// # Panics
    ///
    /// If the task panics on any member. The others are released from
    /// [`Member::meet`].
    pub fn run(&mut self, task: impl Fn(Member<'_>) + Sync) {
        if self.shared.size == 1 {
            task(Member {
                rank: 0,
                shared: &self.shared,
            });
            return;
        }
        let borrowed: &(dyn Fn(Member<'_>) + Sync) = &task;
        #[expect(unsafe_code, reason = "lends the closure to the members for one task")]
        // SAFETY: only the lifetime changes. The members use the pointer only
        // until they decrement `unfinished`, and this function waits for all
        // of them below, also when its own share panics.
        let lent: *const (dyn Fn(Member<'_>) + Sync) = unsafe {
            std::mem::transmute::<&(dyn Fn(Member<'_>) + Sync), &'static (dyn Fn(Member<'_>) + Sync)>(
                borrowed,
            )
        };
        *self.shared.task.lock() = Some(Task(lent));
        self.shared.barrier.reset();
        self.shared
            .unfinished
            .store(self.shared.size - 1, Ordering::Release);
        {
            // The lock orders this with a member that is about to sleep.
            let _guard = self.shared.sleepers.lock();
            self.shared.task_number.fetch_add(1, Ordering::Release);
        }
        self.shared.wake.notify_all();
        let own = catch_unwind(AssertUnwindSafe(|| {
            task(Member {
                rank: 0,
                shared: &self.shared,
            });
        }));
        if own.is_err() {
            self.shared.panicked.store(true, Ordering::Release);
        }
        let mut waiting = Waiting::default();
        while self.shared.unfinished.load(Ordering::Acquire) > 0 {
            waiting.pause();
        }
        let elsewhere = self.shared.panicked.swap(false, Ordering::AcqRel);
        match own {
            Err(panic) => resume_unwind(panic),
            Ok(()) => assert!(!elsewhere, "a member of the team panicked"),
        }
    }
}

/// Items that members take by rank.
struct ByRank<T>(*mut T);

#[expect(unsafe_code, reason = "each member takes another item")]
// SAFETY: an item goes to one thread at a time, which `Send` allows.
unsafe impl<T: Send> Sync for ByRank<T> {}

impl<T> ByRank<T> {
    fn place(&self, rank: usize) -> *mut T {
        self.0.wrapping_add(rank)
    }
}

impl Team {
    /// As [`Team::run`], with an item for each member alone: its scratch space,
    /// its part of a buffer.
    ///
    /// # Panics
    ///
    /// If there are not as many items as members, or the task panics.
    pub fn each<T: Send>(&mut self, items: &mut [T], task: impl Fn(Member<'_>, &mut T) + Sync) {
        assert_eq!(items.len(), self.size(), "one item for each member");
        let items = ByRank(items.as_mut_ptr());
        self.run(|member| {
            #[expect(unsafe_code, reason = "each member takes another item")]
            // SAFETY: a rank is below the number of items and runs the task
            // once, so no other reference to this item exists; `items` is
            // borrowed until `run` returns.
            let item = unsafe { &mut *items.place(member.rank()) };
            task(member, item);
        });
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        {
            let _guard = self.shared.sleepers.lock();
            self.shared.task_number.fetch_add(1, Ordering::Release);
        }
        self.shared.wake.notify_all();
        for member in self.members.drain(..) {
            // A member that panicked has already been reported by `run`.
            let _ = member.join();
        }
    }
}

fn serve(shared: &Shared, rank: usize) {
    let mut seen = 0;
    loop {
        let mut waiting = Waiting::default();
        while shared.task_number.load(Ordering::Acquire) == seen {
            if waiting.pause() {
                let mut guard = shared.sleepers.lock();
                while shared.task_number.load(Ordering::Acquire) == seen {
                    #[cfg(test)]
                    shared.asleep.fetch_add(1, Ordering::Release);
                    shared.wake.wait(&mut guard);
                }
            }
        }
        seen += 1;
        if shared.stop.load(Ordering::Acquire) {
            return;
        }
        let task = shared
            .task
            .lock()
            .expect("a task is stored before its number is announced");
        #[expect(unsafe_code, reason = "uses the closure lent by `run`")]
        // SAFETY: `run` waits until `unfinished` is zero before the closure dies.
        let closure = unsafe { &*task.0 };
        if catch_unwind(AssertUnwindSafe(|| closure(Member { rank, shared }))).is_err() {
            shared.panicked.store(true, Ordering::Release);
        }
        shared.unfinished.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Spins, then yields; says when it is time to sleep.
#[derive(Default)]
struct Waiting {
    spins: u32,
    yields: u32,
}

impl Waiting {
    fn pause(&mut self) -> bool {
        if self.spins < SPINS {
            self.spins += 1;
            std::hint::spin_loop();
            return false;
        }
        self.yields += 1;
        thread::yield_now();
        self.yields > YIELDS
    }
}

#[derive(Default)]
struct Barrier {
    arrived: AtomicUsize,
    round: AtomicUsize,
}

impl Barrier {
    fn reset(&self) {
        self.arrived.store(0, Ordering::Relaxed);
    }

    fn wait(&self, size: usize, panicked: &AtomicBool) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == size {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.fetch_add(1, Ordering::Release);
            return;
        }
        let mut waiting = Waiting::default();
        while self.round.load(Ordering::Acquire) == round {
            assert!(
                !panicked.load(Ordering::Acquire),
                "another member of the team panicked"
            );
            waiting.pause();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_runs_each_task_once() {
        let mut team = Team::new(3);
        let counts: Vec<AtomicUsize> = (0..3).map(|_| AtomicUsize::new(0)).collect();
        for _ in 0..1000 {
            team.run(|member| {
                counts[member.rank()].fetch_add(1, Ordering::Relaxed);
            });
        }
        for count in &counts {
            assert_eq!(count.load(Ordering::Relaxed), 1000);
        }
    }

    #[test]
    fn after_a_meeting_each_sees_what_the_others_wrote() {
        let mut team = Team::new(4);
        let slots: Vec<AtomicUsize> = (0..4).map(|_| AtomicUsize::new(0)).collect();
        for round in 1..200 {
            team.run(|member| {
                slots[member.rank()].store(round, Ordering::Relaxed);
                member.meet();
                for slot in &slots {
                    assert_eq!(slot.load(Ordering::Relaxed), round);
                }
                member.meet();
            });
        }
    }

    #[test]
    fn a_panic_of_one_member_reaches_the_caller_and_frees_the_others() {
        let mut team = Team::new(3);
        for guilty in 0..3 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                team.run(|member| {
                    assert_ne!(member.rank(), guilty, "as the test wants");
                    member.meet();
                });
            }));
            assert!(outcome.is_err());
        }
        team.run(|member| member.meet());
    }

    #[test]
    fn each_member_has_an_item_of_its_own() {
        let mut team = Team::new(3);
        let mut items = [0usize; 3];
        for _ in 0..100 {
            team.each(&mut items, |member, item| *item += member.rank());
        }
        assert_eq!(items, [0, 100, 200]);
    }

    #[test]
    fn a_team_that_slept_wakes_for_the_next_task() {
        let mut team = Team::new(2);
        team.run(|_| {});
        while team.shared.asleep.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        // The member counted itself under this lock, so once it is free it sleeps.
        drop(team.shared.sleepers.lock());
        let ran = AtomicUsize::new(0);
        team.run(|_| {
            ran.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(ran.load(Ordering::Relaxed), 2);
    }
}
