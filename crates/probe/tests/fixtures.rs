//! The probe on machines that are laid out as files: counters that reset,
//! devices that come and go, files that fail.
//!
//! More than 600 lines: one fixture tree after another, each with what is read from it.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a failure that nobody expects ends it with its place"
)]

use paceline_model::{GapReason, Measure, Micros, PartKind, PartMeasure, Sample};
use paceline_probe::cgroup::{CreateGroupError, GroupPaths, Layout, Limits, RunGroup, Version};
use paceline_probe::{Capabilities, Counted, Probe, Processes, Roots, Target};
use std::fs;
use std::path::{Path, PathBuf};

const SECOND: u64 = 1_000_000;

/// A machine of our own: a `proc` and a `sys` directory.
struct Fake {
    directory: tempfile::TempDir,
}

impl Fake {
    /// Two cores, one disk with a partition, one network card.
    fn new() -> Self {
        let fake = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fake.proc("stat", &stat(0, 0));
        fake.proc("uptime", "1000.00 2000.00\n");
        fake.proc(
            "meminfo",
            "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  600 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n",
        );
        fake.proc("vmstat", "pswpin 0\npswpout 0\npgfault 0\npgmajfault 0\n");
        fake.proc("diskstats", &disk("vda", 0));
        fake.proc("net/dev", &interfaces(&[("lo", 0), ("eth0", 0)]));
        fake.proc("net/snmp", "Tcp: OutSegs RetransSegs InErrs\nTcp: 9 0 0\n");
        fake.sys("block/vda/slaves/.keep", "");
        fs::remove_file(fake.root().join("sys/block/vda/slaves/.keep")).unwrap();
        fake.sys("class/net/eth0/device/vendor", "");
        fake
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    fn roots(&self) -> Roots {
        Roots {
            proc: self.root().join("proc"),
            sys: self.root().join("sys"),
            nvml: self.root().join("libnvidia-ml.so.1"),
        }
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn proc(&self, path: &str, text: &str) {
        self.file(&format!("proc/{path}"), text);
    }

    fn sys(&self, path: &str, text: &str) {
        self.file(&format!("sys/{path}"), text);
    }

    fn process(&self, process: &Process) {
        let pid = process.pid;
        self.proc(&format!("{pid}/stat"), &process.stat());
        self.proc(&format!("{pid}/statm"), "100 25 5 1 0 50 0\n");
        self.proc(
            &format!("{pid}/io"),
            &format!(
                "rchar: {0}\nwchar: {0}\nsyscr: 0\nsyscw: 0\nread_bytes: {0}\nwrite_bytes: {0}\ncancelled_write_bytes: 0\n",
                process.bytes
            ),
        );
    }

    fn end(&self, pid: i32) {
        // The probe keeps the file open, as it does in /proc, where an open
        // file of a process that is gone reads as an error; here, as nothing.
        self.proc(&format!("{pid}/stat"), "");
        fs::remove_dir_all(self.root().join(format!("proc/{pid}"))).unwrap();
    }

    fn probe(&self, target: &Target) -> Probe {
        Probe::with_roots(target, &self.roots(), Micros::ZERO).unwrap()
    }
}

#[derive(Default, Clone, Copy)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    start: u64,
    user: u64,
    reaped: u64,
    bytes: u64,
}

impl Process {
    fn stat(&self) -> String {
        let Self {
            pid,
            parent,
            group,
            start,
            user,
            reaped,
            ..
        } = self;
        format!(
            "{pid} (work) S {parent} {group} 1 0 -1 0 0 0 0 0 {user} 0 {reaped} 0 20 0 2 0 {start} 0 25 0\n"
        )
    }
}

/// `forks` is also the number of context switches.
fn stat(user: u64, forks: u64) -> String {
    format!(
        "cpu  {user} 1 2 300 4 5 6 7 0 0\ncpu0 {user} 1 2 300 4 5 6 7 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n\
         intr 1 2 3\nctxt {forks}\nbtime 1\nprocesses {forks}\nprocs_running 3\nprocs_blocked 1\n"
    )
}

fn disk(name: &str, sectors: u64) -> String {
    format!(" 254 0 {name} {sectors} 0 {sectors} 0 {sectors} 0 {sectors} 0 2 {sectors} 0\n")
}

fn interfaces(list: &[(&str, u64)]) -> String {
    let mut text = "Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n".to_owned();
    for (name, bytes) in list {
        text += &format!("{name:>6}: {bytes} 1 0 0 0 0 0 0 {bytes} 1 0 0 0 0 0 0\n");
    }
    text
}

fn at(sample: &Sample, measure: Measure) -> Option<f64> {
    sample.readings.get(measure)
}

fn part(sample: &Sample, kind: PartKind, name: &str, measure: PartMeasure) -> Option<f64> {
    let part = sample
        .parts
        .iter()
        .find(|part| part.kind == kind && part.name == name)?;
    part.readings.get(measure)
}

fn part_names(sample: &Sample, kind: PartKind) -> Vec<&str> {
    let parts = sample.parts.iter().filter(|part| part.kind == kind);
    parts.map(|part| part.name.as_str()).collect()
}

#[test]
fn amounts_are_those_since_the_reading_before_and_levels_those_of_now() {
    let fake = Fake::new();
    let mut probe = fake.probe(&Target::default());
    fake.proc("stat", &stat(150, 40));
    fake.proc("diskstats", &disk("vda", 10));
    fake.proc("net/dev", &interfaces(&[("lo", 7), ("eth0", 900)]));
    fake.proc("vmstat", "pswpin 2\npswpout 0\npgfault 30\npgmajfault 4\n");
    let sample = probe.sample(Micros(2 * SECOND));
    assert_eq!(
        (sample.at, sample.interval),
        (Micros(2 * SECOND), Micros(2 * SECOND))
    );
    assert_eq!(sample.gap, None);
    assert_eq!(at(&sample, Measure::NodeCpuUser), Some(1.5));
    assert_eq!(at(&sample, Measure::NodeCpuSystem), Some(0.0));
    assert_eq!(at(&sample, Measure::NodeContextSwitches), Some(40.0));
    // Three, less the thread that reads the file.
    assert_eq!(at(&sample, Measure::NodeRunQueue), Some(2.0));
    assert_eq!(at(&sample, Measure::NodeMemAvailable), Some(600.0 * 1024.0));
    assert_eq!(at(&sample, Measure::NodeSwapUsed), Some(30.0 * 1024.0));
    assert_eq!(at(&sample, Measure::NodeSwapIn), Some(8192.0));
    assert_eq!(at(&sample, Measure::NodePageFaultsMajor), Some(4.0));
    assert_eq!(at(&sample, Measure::NodeDiskRead), Some(5120.0));
    assert_eq!(at(&sample, Measure::NodeDiskBusy), Some(0.01));
    assert_eq!(at(&sample, Measure::NodeNetRx), Some(900.0));
    assert_eq!(at(&sample, Measure::NodeLoopback), Some(7.0));
    assert_eq!(at(&sample, Measure::NodeTcpRetransmits), Some(0.0));
    // This machine has neither PSI nor a frequency driver.
    assert_eq!(at(&sample, Measure::NodePsiCpuSome), None);
    assert_eq!(at(&sample, Measure::NodeCpuFrequency), None);
    // And there is no run.
    assert_eq!(at(&sample, Measure::RunProcesses), None);
    assert_eq!(
        part(&sample, PartKind::Core, "0", PartMeasure::CpuUser),
        Some(1.5)
    );
    assert_eq!(
        part(&sample, PartKind::Core, "1", PartMeasure::CpuUser),
        Some(0.0)
    );
}

#[test]
fn a_file_that_fails_leaves_its_columns_empty_and_the_next_reading_begins_anew() {
    let fake = Fake::new();
    let mut probe = fake.probe(&Target::default());
    fake.proc("diskstats", &disk("vda", 10));
    assert_eq!(probe.sample(Micros(SECOND)).gap, None);
    fake.proc("vmstat", "");
    let failed = probe.sample(Micros(2 * SECOND));
    assert_eq!(failed.gap, Some(GapReason::Unreadable));
    assert_eq!(at(&failed, Measure::NodePageFaults), None);
    assert_eq!(at(&failed, Measure::NodeDiskRead), Some(0.0));
    // The amount since then would span two intervals: it is missing, too.
    fake.proc("vmstat", "pswpin 0\npswpout 0\npgfault 50\npgmajfault 0\n");
    let back = probe.sample(Micros(3 * SECOND));
    assert_eq!(back.gap, Some(GapReason::Unreadable));
    assert_eq!(at(&back, Measure::NodePageFaults), None);
    fake.proc("vmstat", "pswpin 0\npswpout 0\npgfault 53\npgmajfault 0\n");
    let after = probe.sample(Micros(4 * SECOND));
    assert_eq!(
        (after.gap, at(&after, Measure::NodePageFaults)),
        (None, Some(3.0))
    );
}

#[test]
fn a_counter_that_is_reset_has_no_amount_for_one_sample() {
    let fake = Fake::new();
    fake.proc("net/dev", &interfaces(&[("lo", 50), ("eth0", 1000)]));
    let mut probe = fake.probe(&Target::default());
    fake.proc("net/dev", &interfaces(&[("lo", 60), ("eth0", 3)]));
    let reset = probe.sample(Micros(SECOND));
    assert_eq!(reset.gap, Some(GapReason::CounterReset));
    assert_eq!(at(&reset, Measure::NodeNetRx), None);
    assert_eq!(at(&reset, Measure::NodeLoopback), Some(10.0));
    fake.proc("net/dev", &interfaces(&[("lo", 60), ("eth0", 5)]));
    let after = probe.sample(Micros(2 * SECOND));
    assert_eq!(
        (after.gap, at(&after, Measure::NodeNetRx)),
        (None, Some(2.0))
    );
}

#[test]
fn a_disk_that_appears_or_vanishes_is_a_gap_and_never_an_amount() {
    let fake = Fake::new();
    fake.sys("block/vdb/size", "1");
    let mut probe = fake.probe(&Target::default());
    let second = disk("vdb", 5000).replace("254 0", "254 16");
    fake.proc("diskstats", &(disk("vda", 10) + &second));
    let appeared = probe.sample(Micros(SECOND));
    assert_eq!(appeared.gap, Some(GapReason::DeviceChanged));
    assert_eq!(at(&appeared, Measure::NodeDiskRead), Some(5120.0));
    assert_eq!(
        part(&appeared, PartKind::Disk, "vdb", PartMeasure::DiskRead),
        None
    );
    assert_eq!(
        part(&appeared, PartKind::Disk, "vdb", PartMeasure::DiskInFlight),
        Some(2.0)
    );
    fake.proc("diskstats", &disk("vda", 12));
    let vanished = probe.sample(Micros(2 * SECOND));
    assert_eq!(vanished.gap, Some(GapReason::DeviceChanged));
    assert_eq!(at(&vanished, Measure::NodeDiskRead), Some(1024.0));
    assert_eq!(part_names(&vanished, PartKind::Disk), ["vda"]);
    assert_eq!(probe.sample(Micros(3 * SECOND)).gap, None);
}

#[test]
fn partitions_and_stacked_devices_are_not_counted_twice() {
    let fake = Fake::new();
    fake.sys("block/dm-0/slaves/vda/size", "1");
    fake.sys("block/bcache0/slaves/vda/size", "1");
    fake.sys("block/loop0/size", "1");
    let all = |sectors| {
        ["vda", "vda1", "dm-0", "bcache0", "loop0", "zram0"]
            .map(|name| disk(name, sectors))
            .concat()
    };
    fake.proc("diskstats", &all(0));
    let mut probe = fake.probe(&Target::default());
    fake.proc("diskstats", &all(4));
    let sample = probe.sample(Micros(SECOND));
    assert_eq!(at(&sample, Measure::NodeDiskWrite), Some(2048.0));
    assert_eq!(part_names(&sample, PartKind::Disk), ["vda"]);
}

#[test]
fn traffic_of_containers_is_counted_at_the_card_alone() {
    let fake = Fake::new();
    fake.sys("class/net/docker0/bridge/x", "");
    fake.sys("class/net/veth1/iflink", "2");
    let all = |bytes| interfaces(&[("eth0", bytes), ("docker0", bytes), ("veth1", bytes)]);
    fake.proc("net/dev", &all(0));
    let mut probe = fake.probe(&Target::default());
    fake.proc("net/dev", &all(100));
    let sample = probe.sample(Micros(SECOND));
    assert_eq!(at(&sample, Measure::NodeNetTx), Some(100.0));
    assert_eq!(
        part_names(&sample, PartKind::Interface),
        ["eth0", "docker0", "veth1"]
    );
    // Inside a container there is no card: its end of the pair counts.
    fs::remove_dir_all(fake.root().join("sys/class/net/eth0/device")).unwrap();
    fake.proc("net/dev", &interfaces(&[("lo", 0), ("eth0", 0)]));
    let mut probe = fake.probe(&Target::default());
    fake.proc("net/dev", &interfaces(&[("lo", 0), ("eth0", 30)]));
    assert_eq!(
        at(&probe.sample(Micros(SECOND)), Measure::NodeNetTx),
        Some(30.0)
    );
}

#[test]
fn a_container_that_starts_is_no_gap_of_the_node() {
    let fake = Fake::new();
    fake.sys("class/net/veth1/iflink", "2");
    let mut probe = fake.probe(&Target::default());
    fake.proc(
        "net/dev",
        &interfaces(&[("lo", 0), ("eth0", 0), ("veth1", 9)]),
    );
    assert_eq!(probe.sample(Micros(SECOND)).gap, None);
}

#[test]
fn a_core_that_goes_offline_is_a_gap() {
    let fake = Fake::new();
    let mut probe = fake.probe(&Target::default());
    let text = stat(0, 0);
    let offline: String = text
        .lines()
        .filter(|line| !line.starts_with("cpu1"))
        .map(|line| format!("{line}\n"))
        .collect();
    fake.proc("stat", &offline);
    let sample = probe.sample(Micros(SECOND));
    assert_eq!(sample.gap, Some(GapReason::DeviceChanged));
    assert_eq!(part_names(&sample, PartKind::Core), ["0"]);
    fake.proc("stat", &text);
    let sample = probe.sample(Micros(2 * SECOND));
    assert_eq!(sample.gap, Some(GapReason::DeviceChanged));
    assert_eq!(part_names(&sample, PartKind::Core), ["0"]);
}

fn tree(root: i32) -> Target {
    Target {
        processes: Some(Processes::Tree(root)),
        ..Target::default()
    }
}

#[test]
fn a_tree_is_found_from_its_root_and_strangers_are_left_out() {
    let fake = Fake::new();
    let process = |pid, parent| Process {
        pid,
        parent,
        start: 200_000 + pid as u64,
        ..Process::default()
    };
    for (pid, parent) in [(1, 0), (10, 1), (12, 11), (11, 10), (20, 1)] {
        fake.process(&process(pid, parent));
    }
    let mut probe = fake.probe(&tree(10));
    let sample = probe.sample(Micros(SECOND));
    assert_eq!(at(&sample, Measure::RunProcesses), Some(3.0));
    assert_eq!(at(&sample, Measure::RunThreads), Some(6.0));
    assert_eq!(
        part_names(&sample, PartKind::Process),
        ["10 work", "11 work", "12 work"]
    );
    // Nobody is looked for while the machine has started no process.
    fake.process(&process(13, 12));
    let sample = probe.sample(Micros(2 * SECOND));
    assert_eq!(at(&sample, Measure::RunProcesses), Some(3.0));
    fake.proc("stat", &stat(0, 1));
    let sample = probe.sample(Micros(3 * SECOND));
    assert_eq!(at(&sample, Measure::RunProcesses), Some(4.0));
}

#[test]
fn an_orphan_of_the_roots_process_group_is_the_runs() {
    let fake = Fake::new();
    let root = Process {
        pid: 10,
        parent: 1,
        group: 10,
        ..Process::default()
    };
    fake.process(&root);
    fake.process(&Process { pid: 12, ..root });
    let sample = fake.probe(&tree(10)).sample(Micros(SECOND));
    assert_eq!(at(&sample, Measure::RunProcesses), Some(2.0));
}

#[test]
fn children_count_once_whether_they_were_seen_or_not() {
    let fake = Fake::new();
    let root = Process {
        pid: 10,
        parent: 1,
        start: 200_000,
        ..Process::default()
    };
    let child = Process {
        pid: 11,
        parent: 10,
        start: 200_001,
        user: 100,
        bytes: 1000,
        ..Process::default()
    };
    fake.process(&root);
    let mut probe = fake.probe(&tree(10));
    fake.process(&child);
    fake.proc("stat", &stat(0, 1));
    let sample = probe.sample(Micros(SECOND));
    assert_eq!(at(&sample, Measure::RunCpuUser), Some(1.0));
    assert_eq!(at(&sample, Measure::RunDiskWrite), Some(1000.0));
    // The child used 20 ticks and 10 bytes more and was waited for; another
    // one, which nobody saw, used 300 ticks.
    fake.end(11);
    fake.process(&Process {
        reaped: 420,
        bytes: 1010,
        ..root
    });
    fake.proc("stat", &stat(0, 2));
    let sample = probe.sample(Micros(2 * SECOND));
    assert_eq!(at(&sample, Measure::RunCpuUser), Some(0.2 + 3.0));
    assert_eq!(at(&sample, Measure::RunDiskWrite), Some(10.0));
    assert_eq!(at(&sample, Measure::RunProcesses), Some(1.0));
    assert_eq!(sample.gap, None);
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let fake = Fake::new();
    let root = Process {
        pid: 10,
        parent: 1,
        start: 200_000,
        user: 500,
        ..Process::default()
    };
    fake.process(&root);
    let mut probe = fake.probe(&tree(10));
    assert_eq!(
        at(&probe.sample(Micros(SECOND)), Measure::RunCpuUser),
        Some(5.0)
    );
    fake.end(10);
    fake.process(&Process {
        pid: 10,
        parent: 77,
        start: 300_000,
        user: 9000,
        ..Process::default()
    });
    let sample = probe.sample(Micros(2 * SECOND));
    assert_eq!(at(&sample, Measure::RunProcesses), Some(0.0));
    assert_eq!(at(&sample, Measure::RunCpuUser), Some(0.0));
}

#[test]
fn what_a_process_used_before_counts_only_if_it_was_started_for_the_run() {
    let fake = Fake::new();
    let process = |user| Process {
        pid: 10,
        parent: 1,
        start: 50_000,
        user,
        ..Process::default()
    };
    fake.process(&process(700));
    let mut whole = fake.probe(&tree(10));
    let mut attached = fake.probe(&Target {
        counted: Counted::FromBaseline,
        ..tree(10)
    });
    fake.process(&process(710));
    let user = |probe: &mut Probe| at(&probe.sample(Micros(SECOND)), Measure::RunCpuUser);
    assert_eq!(user(&mut whole), Some(7.1));
    assert_eq!(user(&mut attached), Some(0.1));
}

#[test]
fn everything_below_a_supervisor_counts_even_if_nobody_saw_it() {
    let fake = Fake::new();
    let supervisor = |reaped| Process {
        pid: 5,
        parent: 1,
        start: 100,
        user: 50,
        reaped,
        ..Process::default()
    };
    fake.process(&supervisor(40));
    let mut probe = fake.probe(&Target {
        processes: Some(Processes::Below(5)),
        ..Target::default()
    });
    fake.process(&supervisor(240));
    fake.process(&Process {
        pid: 9,
        parent: 5,
        start: 200_000,
        user: 100,
        ..Process::default()
    });
    fake.proc("stat", &stat(0, 2));
    let sample = probe.sample(Micros(SECOND));
    assert_eq!(at(&sample, Measure::RunCpuUser), Some(2.0 + 1.0));
    assert_eq!(part_names(&sample, PartKind::Process), ["9 work"]);
}

#[test]
fn a_group_of_v2_is_read_from_its_own_files() {
    let fake = Fake::new();
    let group = fake.root().join("group");
    let write = |user: u64, read: u64| {
        fake.file(
            "group/cpu.stat",
            &format!(
                "usage_usec {0}\nuser_usec {user}\nsystem_usec 0\nthrottled_usec {user}\n",
                user
            ),
        );
        fake.file(
            "group/io.stat",
            &format!("254:0 rbytes={read} wbytes=5 rios=1\n"),
        );
        let psi = format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={user}\n");
        fake.file("group/cpu.pressure", &psi);
    };
    fake.file("group/cgroup.procs", "10\n");
    fake.file("group/memory.current", "4096\n");
    fake.file("group/memory.peak", "8192\n");
    write(100_000, 10);
    fake.process(&Process {
        pid: 10,
        parent: 1,
        start: 200_000,
        user: 9999,
        bytes: 77,
        ..Process::default()
    });
    let mut probe = fake.probe(&Target {
        cgroup: Some(GroupPaths {
            procs: group.join("cgroup.procs"),
            unified: Some(group.clone()),
            cpuacct: None,
            memory: None,
            throttle: Some(group.clone()),
        }),
        ..Target::default()
    });
    write(350_000, 60);
    let sample = probe.sample(Micros(SECOND));
    // Made for the run, so what came before the baseline is its own.
    assert_eq!(at(&sample, Measure::RunCpuUser), Some(0.35));
    assert_eq!(at(&sample, Measure::RunCpuThrottled), Some(0.25));
    assert_eq!(at(&sample, Measure::RunPsiCpuSome), Some(0.25));
    assert_eq!(at(&sample, Measure::RunPsiIoSome), None);
    assert_eq!(at(&sample, Measure::RunDiskRead), Some(60.0));
    assert_eq!(at(&sample, Measure::RunMemCgroup), Some(4096.0));
    assert_eq!(at(&sample, Measure::RunMemPeak), Some(8192.0));
    assert_eq!(at(&sample, Measure::RunIoRead), Some(77.0));
    assert_eq!(at(&sample, Measure::RunProcesses), Some(1.0));
}

/// Writes the two files that say where the calling process's groups are.
fn mount(fake: &Fake, mounts: &[(&str, &str, &str)], memberships: &str) {
    let mut text = "25 1 0:22 / /proc rw - proc proc rw\n".to_owned();
    for (point, kind, options) in mounts {
        let point = fake.root().join(point);
        fs::create_dir_all(&point).unwrap();
        text += &format!("31 25 0:28 / {} rw - {kind} x {options}\n", point.display());
    }
    fake.proc("self/mountinfo", &text);
    fake.proc("self/cgroup", memberships);
}

#[test]
fn hierarchies_are_found_where_they_are_mounted() {
    let fake = Fake::new();
    assert_eq!(Layout::detect(&fake.roots()).version(), Version::None);
    fs::create_dir_all(fake.root().join("memory/user/me")).unwrap();
    mount(
        &fake,
        &[
            ("both", "cgroup", "rw,cpu,cpuacct"),
            ("memory", "cgroup", "rw,memory"),
            ("systemd", "cgroup", "rw,name=systemd"),
        ],
        "3:cpu,cpuacct:/gone\n2:memory:/user/me\n1:name=systemd:/\n",
    );
    let layout = Layout::detect(&fake.roots());
    assert_eq!(layout.version(), Version::V1);
    assert_eq!(layout.memory, Some(fake.root().join("memory/user/me")));
    // A group that is not visible here is that of the mount point.
    assert_eq!(layout.cpu, Some(fake.root().join("both")));
    assert_eq!(layout.cpuacct, layout.cpu);
    mount(&fake, &[("unified", "cgroup2", "rw")], "0::/\n");
    fake.file("unified/cgroup.controllers", "cpu memory\n");
    let layout = Layout::detect(&fake.roots());
    assert_eq!(layout.version(), Version::V2);
    assert_eq!(layout.unified_controllers, ["cpu", "memory"]);
}

#[test]
fn a_limit_that_nothing_enforces_is_refused_and_leaves_no_group_behind() {
    let fake = Fake::new();
    mount(&fake, &[("unified", "cgroup2", "rw")], "0::/\n");
    let layout = Layout::detect(&fake.roots());
    let run = paceline_model::RunId::new("r1").unwrap();
    let limits = Limits {
        memory_bytes: Some(1 << 20),
        ..Limits::default()
    };
    let error = RunGroup::create(&layout, &run, &limits).unwrap_err();
    assert!(matches!(error, CreateGroupError::NoController { .. }));
    assert_eq!(
        error.to_string(),
        "no cgroup controller enforces a memory limit here"
    );
    assert!(!fake.root().join("unified/paceline").exists());
    let none = RunGroup::create(&Layout::default(), &run, &Limits::default());
    assert!(matches!(none, Err(CreateGroupError::NoHierarchy)));
}

#[test]
fn a_group_that_was_left_behind_is_swept_away_unless_it_is_in_use() {
    let fake = Fake::new();
    mount(&fake, &[("unified", "cgroup2", "rw")], "0::/\n");
    let layout = Layout::detect(&fake.roots());
    let run = paceline_model::RunId::new("r1").unwrap();
    let path = fake.root().join("unified/paceline/r1");
    fs::create_dir_all(&path).unwrap();
    let group = RunGroup::create(&layout, &run, &Limits::default()).unwrap();
    assert_eq!(group.paths().unified.as_ref(), Some(&path));
    assert_eq!(
        group.entry_files().collect::<Vec<_>>(),
        [path.join("cgroup.procs")]
    );
    // While it has an owner, nobody else may have or sweep it.
    let error = RunGroup::create(&layout, &run, &Limits::default()).unwrap_err();
    assert!(matches!(error, CreateGroupError::InUse { .. }), "{error}");
    let left = fake.root().join("unified/paceline/killed/nested");
    fs::create_dir_all(&left).unwrap();
    let other = paceline_model::RunId::new("r2").unwrap();
    let second = RunGroup::create(&layout, &other, &Limits::default()).unwrap();
    assert!(path.exists() && !left.parent().unwrap().exists());
    drop(second);
    drop(group);
    assert!(!path.parent().unwrap().exists());
    fake.file("unified/paceline/r1/cgroup.procs", "77\n");
    let error = RunGroup::create(&layout, &run, &Limits::default()).unwrap_err();
    assert!(matches!(error, CreateGroupError::InUse { .. }), "{error}");
    assert!(path.exists());
}

#[test]
fn runs_that_begin_and_end_at_the_same_time_do_not_lose_their_groups() {
    let fake = Fake::new();
    mount(&fake, &[("unified", "cgroup2", "rw")], "0::/\n");
    let layout = Layout::detect(&fake.roots());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let layout = &layout;
            scope.spawn(move || {
                for round in 0..50 {
                    let run = format!("r{thread}-{round}");
                    let run = paceline_model::RunId::new(&run).unwrap();
                    let group = RunGroup::create(layout, &run, &Limits::default()).unwrap();
                    assert!(group.paths().unified.as_ref().unwrap().exists());
                }
            });
        }
    });
    assert!(!fake.root().join("unified/paceline").exists());
}

#[test]
fn what_a_bare_machine_lacks_is_said_with_its_consequence() {
    let fake = Fake::new();
    let found = Capabilities::detect(&fake.roots());
    assert_eq!(found.machine.cpus_count, 2);
    assert_eq!(found.machine.memory_bytes, Some(1_024_000));
    let psi = &found.offers[0];
    assert!(
        psi.found
            .as_ref()
            .unwrap_err()
            .contains("utilisation alone")
    );
    assert!(psi.advice.as_ref().unwrap().contains("psi=1"));
    let groups = &found.offers[1];
    assert!(
        groups
            .found
            .as_ref()
            .unwrap_err()
            .contains("no cgroup hierarchy")
    );
}

#[test]
fn without_proc_there_is_no_probe() {
    let empty = tempfile::tempdir().unwrap();
    let roots = Roots {
        proc: empty.path().join("proc"),
        nvml: empty.path().join("libnvidia-ml.so.1"),
        sys: empty.path().join("sys"),
    };
    let error = Probe::with_roots(&Target::default(), &roots, Micros::ZERO).unwrap_err();
    assert!(error.to_string().contains("needs Linux"));
}
