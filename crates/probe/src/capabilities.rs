//! What this machine offers a probe, and how to get what is missing.

use crate::cgroup::{Layout, Version};
use crate::machine::detect_machine;
use crate::node::{zone_name, zones};
use crate::roots::Roots;
use paceline_model::Machine;
use rustix::fs::{Access, access};
use std::fs;
use std::path::Path;

/// One thing that a machine offers or lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What it is, such as `pressure stall information`.
    pub name: &'static str,
    /// What was found: `Ok` with the details, `Err` with what is lost
    /// without it.
    pub found: Result<String, String>,
    /// How to get what is missing or better, if anything can be done.
    pub advice: Option<String>,
}

/// What this machine offers a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// What it is.
    pub machine: Machine,
    /// Where this process's cgroups are.
    pub cgroups: Layout,
    /// What it offers, one by one, in the order in which it matters.
    pub offers: Vec<Offer>,
}

impl Capabilities {
    /// Looks at this machine. Nothing is changed or created.
    #[must_use]
    pub fn detect(roots: &Roots) -> Self {
        let cgroups = Layout::detect(roots);
        let offers = vec![
            pressure(roots),
            groups(&cgroups),
            cpu_limits(&cgroups),
            memory_limit(&cgroups),
            process_io(roots),
            perf(roots),
            clock_source(roots),
            frequency(roots),
            energy(roots),
            crate::gpu::offer(roots),
        ];
        Self {
            machine: detect_machine(roots),
            cgroups,
            offers,
        }
    }
}

fn pressure(roots: &Roots) -> Offer {
    let name = "pressure stall information (PSI)";
    match fs::read(roots.proc.join("pressure/io")) {
        Ok(_) => Offer {
            name,
            found: Ok("cpu, memory and io".to_owned()),
            advice: None,
        },
        Err(error) => Offer {
            name,
            found: Err(format!(
                "no /proc/pressure ({error}): bottlenecks are judged by utilisation alone"
            )),
            advice: Some("boot with psi=1 on the kernel command line (Linux 4.20 or newer)".into()),
        },
    }
}

fn groups(layout: &Layout) -> Offer {
    let name = "cgroup of its own for a run";
    let version = match layout.version() {
        Version::None => {
            return Offer {
                name,
                found: Err(
                    "no cgroup hierarchy is mounted: processes are found by their parents".into(),
                ),
                advice: Some(
                    "mount cgroup2 at /sys/fs/cgroup, or start the container with it".into(),
                ),
            };
        }
        Version::V1 => "v1",
        Version::V2 => "v2",
        Version::Hybrid => "v1 controllers beside v2",
    };
    let places = [&layout.unified, &layout.cpuacct, &layout.memory];
    let writable = places
        .iter()
        .filter_map(|place| place.as_deref())
        .any(is_writable);
    if writable {
        Offer {
            name,
            found: Ok(version.to_owned()),
            advice: None,
        }
    } else {
        Offer {
            name,
            found: Err(format!(
                "{version}, but not writable: processes are found by their parents"
            )),
            advice: Some(
                "start with `systemd-run --user --scope -p Delegate=yes`, or as root".into(),
            ),
        }
    }
}

fn cpu_limits(layout: &Layout) -> Offer {
    let found = [
        controller(layout, "cpu", layout.cpu.as_deref(), "quota"),
        controller(layout, "cpuset", layout.cpuset.as_deref(), "set of cores"),
    ];
    let (have, lack): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
    let join = |results: Vec<Result<String, String>>| {
        let texts = results.into_iter().map(|r| r.unwrap_or_else(|e| e));
        texts.collect::<Vec<_>>().join("; ")
    };
    let is_missing = !lack.is_empty();
    Offer {
        name: "CPU limits of a run",
        found: if have.is_empty() {
            Err(join(lack))
        } else {
            Ok(join(have.into_iter().chain(lack).collect()))
        },
        advice: is_missing.then(|| delegation_advice("cpu and cpuset")),
    }
}

fn memory_limit(layout: &Layout) -> Offer {
    let found = controller(layout, "memory", layout.memory.as_deref(), "limit and peak");
    let advice = found.is_err().then(|| delegation_advice("memory"));
    Offer {
        name: "memory limit of a run",
        found,
        advice,
    }
}

fn controller(
    layout: &Layout,
    name: &str,
    v1: Option<&Path>,
    purpose: &str,
) -> Result<String, String> {
    let in_v2 = layout.unified_controllers.iter().any(|c| c == name);
    let (version, place) = match (in_v2, v1) {
        (true, _) => ("v2", layout.unified.as_deref()),
        (false, Some(place)) => ("v1", Some(place)),
        (false, None) => return Err(format!("no {name} controller: no {purpose}")),
    };
    if place.is_some_and(is_writable) {
        Ok(format!("{purpose} ({name}, {version})"))
    } else {
        Err(format!(
            "the {name} controller ({version}) is not writable: no {purpose}"
        ))
    }
}

fn delegation_advice(controllers: &str) -> String {
    format!("have an administrator delegate the {controllers} controllers to your user")
}

fn process_io(roots: &Roots) -> Offer {
    let name = "bytes per process";
    match fs::read(roots.proc.join("self/io")) {
        Ok(_) => Offer {
            name,
            found: Ok("reads and writes of your own processes".to_owned()),
            advice: None,
        },
        Err(error) => Offer {
            name,
            found: Err(format!(
                "no /proc/<pid>/io ({error}): a run's disk bytes need cgroup v2 with io"
            )),
            advice: Some("use a kernel built with TASK_IO_ACCOUNTING".into()),
        },
    }
}

fn perf(roots: &Roots) -> Offer {
    let name = "performance counters (perf)";
    let file = "sys/kernel/perf_event_paranoid";
    let Some(level) = fs::read_to_string(roots.proc.join(file))
        .ok()
        .and_then(|text| text.trim().parse::<i32>().ok())
    else {
        return Offer {
            name,
            found: Err("the kernel has no perf events".into()),
            advice: None,
        };
    };
    let is_root = rustix::process::geteuid().is_root();
    let has_hardware = roots.sys.join("bus/event_source/devices/cpu").exists();
    let counters = if has_hardware {
        "hardware and software events"
    } else {
        "software events only, the processor's counters are not visible here"
    };
    if is_root || level <= 2 {
        Offer {
            name,
            found: Ok(format!("{counters} (perf_event_paranoid is {level})")),
            advice: None,
        }
    } else {
        Offer {
            name,
            found: Err(format!("perf_event_paranoid is {level}: not for your user")),
            advice: Some("sysctl kernel.perf_event_paranoid=2".into()),
        }
    }
}

fn clock_source(roots: &Roots) -> Offer {
    let name = "clock source";
    let directory = roots.sys.join("devices/system/clocksource/clocksource0");
    let read =
        |file: &str| fs::read_to_string(directory.join(file)).map(|text| text.trim().to_owned());
    let Ok(current) = read("current_clocksource") else {
        return Offer {
            name,
            found: Err("the kernel does not tell".into()),
            advice: None,
        };
    };
    // These are read without entering the kernel.
    let is_fast = [
        "tsc",
        "kvm-clock",
        "hyperv_clocksource_tsc_page",
        "arch_sys_counter",
        "timebase",
    ]
    .contains(&current.as_str());
    let offers_tsc = read("available_clocksource")
        .is_ok_and(|available| available.split(' ').any(|clock| clock == "tsc"));
    Offer {
        name,
        found: Ok(if is_fast {
            current.clone()
        } else {
            format!("{current}, which costs a system call per reading")
        }),
        advice: (!is_fast && offers_tsc).then(|| {
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource".into()
        }),
    }
}

fn frequency(roots: &Roots) -> Offer {
    let name = "clock rates of the cores";
    let file = roots
        .sys
        .join("devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
    if file.exists() {
        let governor = fs::read_to_string(file.with_file_name("scaling_governor"));
        let governor = governor.map(|text| text.trim().to_owned());
        let is_saving = matches!(governor.as_deref(), Ok("powersave" | "conservative"));
        Offer {
            name,
            found: Ok(format!(
                "governor {}",
                governor.as_deref().unwrap_or("unknown")
            )),
            advice: is_saving
                .then(|| "for comparable timings: cpupower frequency-set -g performance".into()),
        }
    } else {
        Offer {
            name,
            found: Err("no cpufreq driver, as in most virtual machines".into()),
            advice: None,
        }
    }
}

fn energy(roots: &Roots) -> Offer {
    let name = "energy of processors and memory (RAPL)";
    let zones = zones(roots);
    let mut told: Vec<String> = Vec::new();
    let mut refused = false;
    for zone in &zones {
        let what = zone_name(zone);
        if what != "dram" && !what.starts_with("package") {
            continue;
        }
        match fs::read(zone.join("energy_uj")) {
            Ok(_) => told.push(what),
            Err(error) => refused |= error.kind() == std::io::ErrorKind::PermissionDenied,
        }
    }
    let (found, advice) = if refused {
        let lost = "your user may not read energy_uj: no energy is measured";
        let advice = "as root: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj (it tells \
            other users something of what a processor computes)";
        (Err(lost.to_owned()), Some(advice.to_owned()))
    } else if told.is_empty() {
        let lost = "no intel-rapl in /sys/class/powercap, as in most virtual machines";
        (Err(lost.to_owned()), None)
    } else {
        (Ok(told.join(", ")), None)
    };
    Offer {
        name,
        found,
        advice,
    }
}

/// True if this process may make a group here. The permission bits decide, so
/// a read-only mount shows as well.
fn is_writable(directory: &Path) -> bool {
    access(directory, Access::WRITE_OK).is_ok()
}
