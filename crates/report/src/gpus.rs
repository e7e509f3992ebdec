//! GPUs and energy of a run, in words and for programs.

use crate::number::{bytes, percent, significant};
use paceline_diagnose::{Amount, Awaited, Energy, Gpus};
use serde_json::{Value, json};

/// What the GPUs did, and what they waited for: one line each.
pub(crate) fn lines(gpus: &Gpus) -> Vec<String> {
    if gpus.of_run == Some(0.0) {
        return vec![format!("the run was on none of {}", counted(gpus.count))];
    }
    let mut facts = Vec::new();
    if let Some(Amount { mean, peak, .. }) = gpus.busy {
        facts.push(format!(
            "mean {}, peak {} busy",
            percent(mean),
            percent(peak)
        ));
    }
    if let Some(memory) = gpus.memory_bytes {
        facts.push(format!("{} at most", bytes(memory.peak)));
    }
    if let Some(power) = gpus.power_w {
        facts.push(format!("{} W", significant(power.mean, 3)));
    }
    if let Some(heat) = gpus.temperature_celsius {
        facts.push(format!("{:.0} °C at most", heat.peak));
    }
    let whose = match gpus.of_run {
        Some(count) if count < gpus.count => {
            format!("{count} of {}", counted(gpus.count))
        }
        Some(_) => counted(gpus.count),
        None => format!("{}, whole machine", counted(gpus.count)),
    };
    let mut lines = vec![format!("{} ({whose})", facts.join(", "))];
    lines.extend(waited(gpus));
    lines
}

/// What the run's GPUs waited for, if the samples show it.
pub(crate) fn waited(gpus: &Gpus) -> Option<String> {
    let found = gpus.waited_for.as_ref()?;
    let busy = percent(gpus.busy?.mean);
    let subject = match gpus.of_run {
        Some(count) if count > 1.0 => format!("its GPUs were {busy} busy: they waited for"),
        _ => format!("its GPU was {busy} busy: it waited for"),
    };
    let what = match &found.what {
        Awaited::Others { cpus, are_loaders } => format!(
            "{}, which kept {} cpus busy",
            match are_loaders {
                true => "the data loader",
                false => "the run's other processes",
            },
            significant(*cpus, 2)
        ),
        Awaited::Host => "the code of its own process, which kept a cpu busy".to_owned(),
        Awaited::Resource(by) => format!("the {by}"),
    };
    let share = percent(found.share);
    Some(format!("{subject} {what} ({share} of the idle time)"))
}

/// The joules of the whole machine, by who used them.
pub(crate) fn energy(energy: &Energy) -> Option<String> {
    let total = energy.total()?;
    let parts: Vec<String> = [
        ("processors", energy.cpu),
        ("memory", energy.dram),
        ("GPUs", energy.gpu),
    ]
    .into_iter()
    .filter_map(|(name, joules)| Some(format!("{name} {}", joules_of(joules?))))
    .collect();
    Some(match parts.as_slice() {
        [one] => format!("{one} (whole machine)"),
        many => format!("{}: {} (whole machine)", joules_of(total), many.join(", ")),
    })
}

fn joules_of(joules: f64) -> String {
    match joules {
        x if x >= 1e6 => format!("{} MJ", significant(x / 1e6, 3)),
        x if x >= 1e4 => format!("{} kJ", significant(x / 1e3, 3)),
        x => format!("{} J", significant(x, 3)),
    }
}

fn counted(count: f64) -> String {
    match count {
        1.0 => "1 GPU".to_owned(),
        count => format!("{count} GPUs"),
    }
}

/// The same for programs.
pub(crate) fn json(gpus: Option<&Gpus>) -> Value {
    let amount = |amount: Option<Amount>| {
        amount.map(|Amount { mean, peak, .. }| json!({ "mean": mean, "peak": peak }))
    };
    let Some(gpus) = gpus else {
        return Value::Null;
    };
    let awaited = gpus.waited_for.as_ref().map(|found| {
        let what = match &found.what {
            Awaited::Others {
                are_loaders: true, ..
            } => "data loader".to_owned(),
            Awaited::Others { .. } => "other processes of the run".to_owned(),
            Awaited::Host => "its own process".to_owned(),
            Awaited::Resource(by) => by.to_string(),
        };
        json!({ "what": what, "share_of_idle": found.share })
    });
    json!({
        "count": gpus.count,
        "of_run_count": gpus.of_run,
        "busy_share": amount(gpus.busy),
        "memory_bytes": amount(gpus.memory_bytes),
        "memory_total_bytes": gpus.memory_total_bytes,
        "power_w": amount(gpus.power_w),
        "temperature_celsius": amount(gpus.temperature_celsius),
        "waited_for": awaited,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_diagnose::WaitedFor;

    fn gpus() -> Gpus {
        let amount = |mean, peak| {
            Some(Amount {
                mean,
                peak,
                total: peak,
            })
        };
        Gpus {
            count: 2.0,
            of_run: Some(1.0),
            busy: amount(0.41, 0.9),
            memory_bytes: amount(1e9, 2e9),
            memory_total_bytes: Some(8e10),
            power_w: amount(250.0, 300.0),
            temperature_celsius: amount(60.0, 71.0),
            waited_for: Some(WaitedFor {
                what: Awaited::Others {
                    cpus: 3.9,
                    are_loaders: true,
                },
                share: 0.95,
            }),
        }
    }

    #[test]
    fn a_gpu_is_described_with_what_it_waited_for() {
        assert_eq!(
            lines(&gpus()),
            [
                "mean 41.0%, peak 90.0% busy, 2 GB at most, 250 W, 71 °C at most (1 of 2 GPUs)",
                "its GPU was 41.0% busy: it waited for the data loader, which kept 3.9 cpus busy \
                 (95.0% of the idle time)",
            ]
        );
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let unknown = Gpus {
            of_run: None,
            waited_for: None,
            temperature_celsius: None,
            power_w: None,
            ..gpus()
        };
        assert_eq!(
            lines(&unknown),
            ["mean 41.0%, peak 90.0% busy, 2 GB at most (2 GPUs, whole machine)"]
        );
        let none = Gpus {
            of_run: Some(0.0),
            busy: None,
            memory_bytes: None,
            waited_for: None,
            ..gpus()
        };
        assert_eq!(lines(&none), ["the run was on none of 2 GPUs"]);
    }

    #[test]
    fn energy_names_its_parts() {
        let some = Energy {
            cpu: Some(900.0),
            dram: None,
            gpu: Some(24_100.0),
        };
        assert_eq!(
            energy(&some).as_deref(),
            Some("25.0 kJ: processors 900 J, GPUs 24.1 kJ (whole machine)")
        );
        let one = Energy {
            cpu: Some(900.0),
            ..Energy::default()
        };
        assert_eq!(
            energy(&one).as_deref(),
            Some("processors 900 J (whole machine)")
        );
        assert_eq!(energy(&Energy::default()), None);
    }
}
