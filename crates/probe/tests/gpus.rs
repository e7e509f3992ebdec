//! GPUs, without one: a stand-in for NVIDIA's library that is compiled here, and
//! trees of files for AMD's driver.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a failure that nobody expects ends it with its place"
)]

use paceline_model::{GapReason, Measure, Micros, PartKind, PartMeasure, Sample};
use paceline_probe::{Capabilities, Counted, Probe, Processes, Roots, Target};
use paceline_testkit::{skipped, wait_until};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A machine of our own.
struct Fake {
    directory: tempfile::TempDir,
    seconds: u64,
}

impl Fake {
    /// One core, no GPU, in the machine's own namespace of processes.
    fn new() -> Self {
        let fake = Self {
            directory: tempfile::tempdir().unwrap(),
            seconds: 0,
        };
        fake.file(
            "proc/stat",
            "cpu  1 0 0 1 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\n",
        );
        fake.file("proc/uptime", "1000.00 2000.00\n");
        fake.file("proc/self/ns/.keep", "");
        symlink("pid:[4026531836]", fake.path("proc/self/ns/pid")).unwrap();
        fake
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn file(&self, path: &str, text: &str) {
        self.bytes(path, text.as_bytes());
    }

    fn bytes(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn roots(&self) -> Roots {
        Roots {
            proc: self.path("proc"),
            sys: self.path("sys"),
            nvml: self.path("libnvidia-ml.so.1"),
        }
    }

    /// Compiles the stand-in for NVIDIA's library.
    fn with_library(&self, definitions: &[&str]) -> bool {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in/nvml.c");
        #[expect(clippy::disallowed_methods, reason = "the test compiles its stand-in")]
        let mut cc = Command::new("cc");
        let cc = cc.args(["-shared", "-fPIC", "-O1", "-o"]);
        let cc = cc.arg(self.roots().nvml).args(definitions).arg(source);
        match cc.status() {
            Ok(status) => {
                assert!(status.success(), "the stand-in does not compile");
                true
            }
            Err(error) => {
                skipped(format!("no C compiler ({error})"));
                false
            }
        }
    }

    /// What the library answers from now on.
    fn answers(&self, lines: &[&str]) {
        let text = lines.join("\n") + "\n";
        // In one piece, because the library reads it at any time.
        self.file("readings.new", &text);
        fs::rename(self.path("readings.new"), self.path("readings")).unwrap();
    }

    fn probe(&self, target: &Target) -> Probe {
        Probe::with_roots(target, &self.roots(), Micros::ZERO).unwrap()
    }

    fn sample(&mut self, probe: &mut Probe) -> Sample {
        self.seconds += 1;
        probe.sample(Micros(self.seconds * 1_000_000))
    }

    /// Samples until the GPUs answer: loading is never waited for.
    fn first(&mut self, probe: &mut Probe) -> Sample {
        let mut found = None;
        wait_until("a GPU answers", || {
            let sample = self.sample(probe);
            found = at(&sample, Measure::NodeGpus).map(|_| sample);
            found.is_some()
        });
        found.unwrap()
    }

    fn process(&self, pid: i32, parent: i32) {
        let stat =
            format!("{pid} (python) S {parent} 7 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 100 0 25 0\n");
        self.file(&format!("proc/{pid}/stat"), &stat);
        self.file(&format!("proc/{pid}/statm"), "100 25 5 1 0 50 0\n");
    }
}

fn at(sample: &Sample, measure: Measure) -> Option<f64> {
    sample.readings.get(measure)
}

fn part(sample: &Sample, kind: PartKind, name: &str, measure: PartMeasure) -> Option<f64> {
    let mut parts = sample.parts.iter();
    let part = parts.find(|part| part.kind == kind && part.name == name)?;
    part.readings.get(measure)
}

const TWO: [&str; 20] = [
    "gpus 2",
    "0.name Test 9000",
    "0.busy 40",
    "0.mem_total 1000",
    "0.mem_used 100",
    "0.power_mw 250500",
    "0.temperature 61",
    "0.energy_mj 5000",
    "0.pcie_rx 1000",
    "0.pcie_tx 2000",
    "0.nvlink_rx 10",
    "0.nvlink_tx 20",
    "1.name Test 9000",
    "1.busy 100",
    "1.mem_total 1000",
    "1.mem_used 900",
    "1.power_mw 300000",
    "1.temperature 72",
    "1.energy_mj 0",
    "1.pcie_rx 0",
];

fn with(base: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    let key = |line: &str| line.split(' ').next().unwrap().to_owned();
    let changed: Vec<String> = more.iter().map(|line| key(line)).collect();
    let kept = base.iter().filter(|line| !changed.contains(&key(line)));
    kept.chain(more).copied().collect()
}

#[test]
fn what_the_library_tells_is_in_the_sample() {
    let mut fake = Fake::new();
    if !fake.with_library(&[]) {
        return;
    }
    fake.answers(&TWO);
    let mut probe = fake.probe(&Target::default());
    let sample = fake.first(&mut probe);
    assert_eq!(sample.gap, None);
    for (measure, expected) in [
        (Measure::NodeGpus, Some(2.0)),
        (Measure::NodeGpuBusy, Some(0.7)),
        (Measure::NodeGpuMem, Some(1000.0)),
        (Measure::NodeGpuMemTotal, Some(2000.0)),
        (Measure::NodeGpuPower, Some(550.5)),
        (Measure::NodeGpuTemperature, Some(72.0)),
        // There is no run, so nothing is the run's.
        (Measure::RunGpus, None),
    ] {
        assert_eq!(at(&sample, measure), expected, "{measure:?}");
    }
    fake.answers(&with(
        &TWO,
        &[
            "0.energy_mj 7500",
            "1.energy_mj 500",
            "0.pcie_rx 4000",
            "1.pcie_rx 9",
            "0.nvlink_rx 12",
        ],
    ));
    let sample = fake.sample(&mut probe);
    assert_eq!(at(&sample, Measure::NodeGpuEnergy), Some(3.0));
    assert_eq!(at(&sample, Measure::NodeGpuPcieRx), Some(3009.0));
    let first = "nvidia0 Test 9000";
    let read = |measure| part(&sample, PartKind::Gpu, first, measure);
    assert_eq!(read(PartMeasure::GpuBusy), Some(0.4));
    assert_eq!(read(PartMeasure::GpuEnergy), Some(2.5));
    assert_eq!(read(PartMeasure::GpuNvlinkRx), Some(2048.0));
    assert_eq!(read(PartMeasure::GpuPcieTx), Some(0.0));
    // Only one of the two has links: there is no sum.
    assert_eq!(at(&sample, Measure::NodeGpuNvlinkRx), None);
}

#[test]
fn the_runs_processes_are_found_on_their_gpus() {
    let mut fake = Fake::new();
    if !fake.with_library(&[]) {
        return;
    }
    fake.process(7, 1);
    fake.process(8, 7);
    fake.answers(&with(
        &TWO,
        &[
            "1.pid.0 8",
            "1.pid_mem.0 600",
            "1.pid_busy.0 90",
            // Somebody else's.
            "1.pid.1 99",
            "1.pid_mem.1 300",
            "0.pid.0 99",
            "0.pid_mem.0 1",
        ],
    ));
    let target = Target {
        processes: Some(Processes::Tree(7)),
        counted: Counted::FromStart,
        ..Target::default()
    };
    let mut probe = fake.probe(&target);
    let sample = fake.first(&mut probe);
    assert_eq!(at(&sample, Measure::RunGpus), Some(1.0));
    assert_eq!(at(&sample, Measure::RunGpuBusy), Some(1.0));
    assert_eq!(at(&sample, Measure::RunGpuMem), Some(600.0));
    let of = |name, measure| part(&sample, PartKind::Process, name, measure);
    assert_eq!(of("8 python", PartMeasure::GpuMem), Some(600.0));
    assert_eq!(of("8 python", PartMeasure::GpuBusy), Some(0.9));
    assert_eq!(of("7 python", PartMeasure::GpuMem), None);
    let on = |name| part(&sample, PartKind::Gpu, name, PartMeasure::GpuProcesses);
    assert_eq!(on("nvidia0 Test 9000"), Some(0.0));
    assert_eq!(on("nvidia1 Test 9000"), Some(1.0));

    // A container numbers processes anew, so that equal numbers prove nothing.
    fs::remove_file(fake.path("proc/self/ns/pid")).unwrap();
    symlink("pid:[4026532999]", fake.path("proc/self/ns/pid")).unwrap();
    let mut probe = fake.probe(&target);
    let sample = fake.first(&mut probe);
    assert_eq!(at(&sample, Measure::NodeGpuBusy), Some(0.7));
    assert_eq!(at(&sample, Measure::RunGpus), None);
    let of = |name, measure| part(&sample, PartKind::Process, name, measure);
    assert_eq!(of("8 python", PartMeasure::GpuMem), None);
}

#[test]
fn a_library_that_hangs_is_a_gap_and_is_never_waited_for_again() {
    let mut fake = Fake::new();
    if !fake.with_library(&[]) {
        return;
    }
    fake.answers(&TWO);
    let mut probe = fake.probe(&Target::default());
    fake.first(&mut probe);
    fake.answers(&with(&TWO, &["hang 1"]));
    for _ in 0..50 {
        let sample = fake.sample(&mut probe);
        assert_eq!(sample.gap, Some(GapReason::Unreadable));
        assert_eq!(at(&sample, Measure::NodeGpus), None);
        assert!(at(&sample, Measure::NodeCpuIdle).is_some());
    }
    // What was used meanwhile is not lost.
    fake.answers(&with(&TWO, &["0.energy_mj 9000"]));
    let sample = fake.first(&mut probe);
    assert_eq!(at(&sample, Measure::NodeGpuEnergy), Some(4.0));
}

#[test]
fn a_library_that_hangs_from_the_beginning_is_missed_after_five_seconds() {
    let mut fake = Fake::new();
    if !fake.with_library(&[]) {
        return;
    }
    fake.answers(&["hang 1"]);
    let mut probe = fake.probe(&Target::default());
    let gaps: Vec<_> = (0..8).map(|_| fake.sample(&mut probe).gap).collect();
    assert_eq!(gaps[..4], [None; 4]);
    assert_eq!(gaps[5..], [Some(GapReason::Unreadable); 3]);
    fake.answers(&["gpus 0"]);
}

#[test]
fn a_gpu_that_is_lost_is_a_gap_and_no_zero() {
    let mut fake = Fake::new();
    if !fake.with_library(&[]) {
        return;
    }
    fake.answers(&TWO);
    let mut probe = fake.probe(&Target::default());
    fake.first(&mut probe);
    fake.answers(&with(&TWO, &["1.error 15"]));
    let sample = fake.sample(&mut probe);
    assert_eq!(sample.gap, Some(GapReason::Unreadable));
    assert_eq!(at(&sample, Measure::NodeGpuBusy), None);
    let busy = |name| part(&sample, PartKind::Gpu, name, PartMeasure::GpuBusy);
    assert_eq!(busy("nvidia0 Test 9000"), Some(0.4));
    assert_eq!(busy("nvidia1 Test 9000"), None);
    // A driver that was loaded again counts from zero.
    fake.answers(&with(&TWO, &["0.energy_mj 1"]));
    let sample = fake.sample(&mut probe);
    assert_eq!(sample.gap, Some(GapReason::CounterReset));
}

#[test]
fn doctor_says_what_is_wrong_with_a_library() {
    let fake = Fake::new();
    let offer = || {
        let found = Capabilities::detect(&fake.roots());
        found
            .offers
            .into_iter()
            .find(|offer| offer.name == "GPUs")
            .unwrap()
    };
    let none = offer().found.unwrap_err();
    assert!(none.contains("no GPU is measured"), "{none}");
    if !fake.with_library(&[]) {
        return;
    }
    fake.answers(&TWO);
    assert_eq!(
        offer().found.unwrap(),
        "nvidia0 Test 9000, nvidia1 Test 9000 (NVIDIA driver 570.00)"
    );
    fake.answers(&["init 9"]);
    let refused = offer();
    let reason = refused.found.unwrap_err();
    assert!(
        reason.contains("the kernel's driver is not loaded"),
        "{reason}"
    );
    assert!(refused.advice.unwrap().contains("nvidia-smi"));
    let mut probe = fake.probe(&Target::default());
    assert_eq!(probe.sample(Micros(1_000_000)).gap, None);
}

#[test]
fn a_library_that_is_too_old_is_no_gap() {
    let mut fake = Fake::new();
    if !fake.with_library(&["-DTOO_OLD"]) {
        return;
    }
    fake.answers(&TWO);
    let mut probe = fake.probe(&Target::default());
    let found = Capabilities::detect(&fake.roots());
    let offer = found
        .offers
        .iter()
        .find(|offer| offer.name == "GPUs")
        .unwrap();
    assert!(
        offer
            .found
            .as_ref()
            .unwrap_err()
            .contains("has no nvmlInit_v2")
    );
    // Fewer seconds than loading a library may take.
    for _ in 0..4 {
        let sample = fake.sample(&mut probe);
        assert_eq!(sample.gap, None);
        assert_eq!(at(&sample, Measure::NodeGpus), None);
    }
}

/// Two GPUs of AMD: the second has no compute driver.
fn amd(fake: &Fake) {
    for (card, minor) in [(0, 128), (1, 129)] {
        let device = format!("sys/devices/pci{card}");
        let file = |name: &str, text: &str| fake.file(&format!("{device}/{name}"), text);
        file("gpu_busy_percent", "25\n");
        file("mem_info_vram_used", "300\n");
        file("mem_info_vram_total", "4000\n");
        file("hwmon/hwmon3/power1_average", "75000000\n");
        file("hwmon/hwmon3/temp1_input", "41000\n");
        for name in [format!("card{card}"), format!("renderD{minor}")] {
            fs::create_dir_all(fake.path(&format!("sys/class/drm/{name}"))).unwrap();
            let link = fake.path(&format!("sys/class/drm/{name}/device"));
            symlink(fake.path(&device), link).unwrap();
        }
        energy(fake, card, 1 << 16);
    }
    fake.file("sys/class/drm/card0-DP-1/status", "connected\n");
    fake.file("sys/devices/pci0/product_name", "Instinct MI50\n");
    let node = "sys/class/kfd/kfd/topology/nodes/1";
    fake.file(&format!("{node}/gpu_id"), "4096\n");
    fake.file(
        &format!("{node}/properties"),
        "simd_count 240\ndrm_render_minor 128\n",
    );
}

fn energy(fake: &Fake, card: u32, counts: u64) {
    let mut table = vec![0; 120];
    table[..4].copy_from_slice(&[120, 0, 1, 3]);
    table[24..32].copy_from_slice(&counts.to_le_bytes());
    fake.bytes(&format!("sys/devices/pci{card}/gpu_metrics"), &table);
}

#[test]
fn what_amds_driver_tells_is_in_the_sample() {
    let mut fake = Fake::new();
    amd(&fake);
    fake.process(7, 1);
    fake.file("sys/class/kfd/kfd/proc/7/vram_4096", "256\n");
    let target = Target {
        processes: Some(Processes::Tree(7)),
        ..Target::default()
    };
    let mut probe = fake.probe(&target);
    let sample = fake.first(&mut probe);
    for (measure, expected) in [
        (Measure::NodeGpus, Some(2.0)),
        (Measure::NodeGpuBusy, Some(0.25)),
        (Measure::NodeGpuMem, Some(600.0)),
        (Measure::NodeGpuPower, Some(150.0)),
        (Measure::NodeGpuTemperature, Some(41.0)),
        // The second GPU does not tell its processes.
        (Measure::RunGpus, None),
    ] {
        assert_eq!(at(&sample, measure), expected, "{measure:?}");
    }
    let of = |name, measure| part(&sample, PartKind::Process, name, measure);
    assert_eq!(of("7 python", PartMeasure::GpuMem), Some(256.0));
    let on = |name| part(&sample, PartKind::Gpu, name, PartMeasure::GpuProcesses);
    assert_eq!(on("card0 Instinct MI50"), Some(1.0));
    assert_eq!(on("card1 AMD GPU"), None);
    energy(&fake, 0, 3 << 16);
    energy(&fake, 1, 2 << 16);
    let sample = fake.sample(&mut probe);
    assert_eq!(at(&sample, Measure::NodeGpuEnergy), Some(3.0));
    // A file that should be there and is empty is a gap.
    fake.file("sys/devices/pci0/gpu_busy_percent", "");
    let sample = fake.sample(&mut probe);
    assert_eq!(sample.gap, Some(GapReason::Unreadable));
    assert_eq!(at(&sample, Measure::NodeGpuBusy), None);
    let found = Capabilities::detect(&fake.roots());
    let offer = found
        .offers
        .iter()
        .find(|offer| offer.name == "GPUs")
        .unwrap();
    assert_eq!(
        offer.found.as_deref(),
        Ok("card0 Instinct MI50, card1 AMD GPU (amdgpu)")
    );
}

#[test]
fn energy_of_processors_and_memory_is_counted_once() {
    let mut fake = Fake::new();
    let zone = |fake: &Fake, zone: &str, name: &str, energy: &str| {
        let zone = format!("sys/class/powercap/{zone}");
        fake.file(&format!("{zone}/name"), &format!("{name}\n"));
        fake.file(&format!("{zone}/max_energy_range_uj"), "10000000\n");
        fake.file(&format!("{zone}/energy_uj"), energy);
    };
    let all = |fake: &Fake, [first, second, memory]: [&str; 3]| {
        zone(fake, "intel-rapl:0", "package-0", first);
        zone(fake, "intel-rapl:0:0", "core", first);
        zone(fake, "intel-rapl:0:1", "dram", memory);
        zone(fake, "intel-rapl:1", "package-1", second);
        zone(fake, "intel-rapl:2", "psys", first);
        zone(fake, "intel-rapl-mmio:0", "package-0", first);
    };
    all(&fake, ["9000000", "0", "5"]);
    let mut probe = fake.probe(&Target::default());
    // The first package's counter begins again.
    all(&fake, ["2000000", "4000000", "500005"]);
    let sample = fake.sample(&mut probe);
    assert_eq!(at(&sample, Measure::NodeCpuEnergy), Some(7.0));
    assert_eq!(at(&sample, Measure::NodeDramEnergy), Some(0.5));
    assert_eq!(sample.gap, None);
    let found = Capabilities::detect(&fake.roots());
    let offer = found.offers.iter().find(|it| it.name.contains("RAPL"));
    assert_eq!(
        offer.unwrap().found.as_deref(),
        Ok("package-0, dram, package-1")
    );
    // A socket that does not tell leaves no sum, and a reason.
    fake.file("sys/class/powercap/intel-rapl:1/energy_uj", "");
    let sample = fake.sample(&mut probe);
    assert_eq!(at(&sample, Measure::NodeCpuEnergy), None);
    assert_eq!(sample.gap, Some(GapReason::Unreadable));
}

#[test]
fn gpus_are_asked_once_a_second_however_short_the_interval_is() {
    let mut fake = Fake::new();
    amd(&fake);
    let mut probe = fake.probe(&Target::default());
    fake.first(&mut probe);
    let begin = fake.seconds * 1_000_000;
    let asked = (1..=40).filter(|tenth| {
        let sample = probe.sample(Micros(begin + tenth * 100_000));
        at(&sample, Measure::NodeGpus).is_some()
    });
    assert!((3..=5).contains(&asked.count()));
}
