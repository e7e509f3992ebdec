//! What the machine is: facts that do not change while it is up.

use crate::roots::Roots;
use crate::scan::value_of;
use paceline_model::{Machine, NodeName};
use std::fs;

/// Looks at this machine.
#[must_use]
pub fn detect_machine(roots: &Roots) -> Machine {
    let name = rustix::system::uname();
    let read = |file: &str| {
        fs::read(roots.proc.join(file))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    };
    let cores = online_cores(&read("stat"));
    Machine {
        node: NodeName::from_host(&name.nodename().to_string_lossy()),
        os: "Linux".to_owned(),
        kernel: name.release().to_string_lossy().into_owned(),
        architecture: name.machine().to_string_lossy().into_owned(),
        cpu_model: cpu_model(&read("cpuinfo")),
        cpus_count: u32::try_from(cores).unwrap_or(u32::MAX).max(1),
        memory_bytes: value_of(read("meminfo").as_bytes(), b"MemTotal").map(|kib| kib * 1024),
    }
}

/// x86 says `model name`, Power `cpu`, and s390 `processor 0`; ARM mostly says
/// nothing a person would recognise.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "Model", "cpu model", "cpu"]
        .iter()
        .find_map(|key| {
            cpuinfo.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                (name.trim() == *key).then(|| value.trim().to_owned())
            })
        })
}

fn online_cores(stat: &str) -> usize {
    stat.lines()
        .filter_map(|line| line.strip_prefix("cpu"))
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_as_its_architecture_names_it() {
        let x86 = "processor\t: 0\nmodel\t\t: 207\nmodel name\t: Some CPU @ 2 GHz\n";
        assert_eq!(cpu_model(x86).as_deref(), Some("Some CPU @ 2 GHz"));
        let power = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n";
        assert_eq!(
            cpu_model(power).as_deref(),
            Some("POWER9, altivec supported")
        );
        assert_eq!(cpu_model("processor\t: 0\n"), None);
    }

    #[test]
    fn only_lines_of_single_cores_are_counted() {
        assert_eq!(online_cores("cpu 1 2\ncpu0 1 2\ncpu1 1 2\nintr 5\n"), 2);
    }
}
