//! `[policy]`: what happens when a run fails, hangs or is disturbed.

use crate::document::Node;
use crate::keys::POLICY;
use crate::problem::Problem;
use crate::section::Section;
use crate::words::words;
use std::time::Duration;

words! {
    /// What happens to a run that others disturbed.
    pub enum Noise {
        Mark = "mark", "The run is kept and marked as noisy.";
        Repeat = "repeat", "The run is marked and repeated.";
        Off = "off", "Nobody looks.";
    }
}

/// What the runner does when things go wrong, and what a run may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Whether the study goes on after a failed run.
    pub keep_going: bool,
    /// How often a failed run is tried again.
    pub retries: u32,
    /// A run that takes longer is ended and counts as failed.
    pub timeout: Option<Duration>,
    /// What happens to a disturbed run.
    pub noise: Noise,
    /// How often a disturbed run is repeated at most; zero unless `noise` is
    /// [`Noise::Repeat`].
    pub noise_repeats: u32,
    /// To how many CPUs of its own a run is bound.
    pub cpus: Option<u32>,
    /// The memory a run may use, in bytes.
    pub memory_bytes: Option<u64>,
}

impl Policy {
    pub(crate) const DEFAULT_NOISE_REPEATS: u32 = 3;

    pub(crate) fn check(node: Option<&Node>, problems: &mut Vec<Problem>) -> Self {
        let section = Section::open(node, &POLICY, problems);
        let keep_going = section.switch("keep_going", problems);
        let fail_fast = section.switch("fail_fast", problems);
        if let (Some(keep), Some(fast)) = (keep_going, fail_fast)
            && keep == fast
        {
            let entry = section
                .entry("fail_fast")
                .expect("the switch was read from it");
            problems.push(
                Problem::new(
                    &entry.place,
                    format!("`keep_going` and `fail_fast` are both {keep}"),
                )
                .hint("they are opposites; give one of them"),
            );
        }
        let noise = section.one_of("noise", problems);
        let repeats = section.whole("noise_repeats", problems);
        if let Some(entry) = section.entry("noise_repeats")
            && noise != Some(Noise::Repeat)
            && section.entry("noise").is_none_or(|_| noise.is_some())
        {
            problems.push(
                Problem::new(&entry.place, "`noise_repeats` without `noise = \"repeat\"`")
                    .hint("a disturbed run is only repeated if noise = \"repeat\""),
            );
        }
        let small = |n: u64| u32::try_from(n).expect("the table of keys bounds it");
        let noise = noise.unwrap_or(Noise::Mark);
        Self {
            keep_going: keep_going.or(fail_fast.map(|fast| !fast)).unwrap_or(true),
            retries: section.whole("retries", problems).map_or(0, small),
            timeout: section.duration("timeout", problems),
            noise,
            noise_repeats: match noise {
                Noise::Repeat => repeats.map_or(Self::DEFAULT_NOISE_REPEATS, small),
                Noise::Mark | Noise::Off => 0,
            },
            cpus: section.whole("cpus", problems).map(small),
            memory_bytes: section.size("memory", problems),
        }
    }
}
