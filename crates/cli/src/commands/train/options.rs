//! The trainer's options, as studies spell them.

use super::args::JobArgs;
use clap::Args as _;
use std::sync::LazyLock;

/// What only a person asks of one training: a study's runs all start anew.
const NOT_OF_A_STUDY: &[&str] = &["resume"];

/// The options that a study may set or vary, as `[job]` and `[factors]` spell
/// them: those that the command line has, `-` written as `_`.
pub(crate) fn options() -> &'static [&'static str] {
    // Made once for the life of the process, as `Capabilities` wants them.
    static OPTIONS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        JobArgs::augment_args(clap::Command::new("train"))
            .get_arguments()
            .map(|argument| {
                let name = argument.get_long().unwrap_or(argument.get_id().as_str());
                &*name.replace('-', "_").leak()
            })
            .filter(|name| !NOT_OF_A_STUDY.contains(name))
            .collect()
    });
    &OPTIONS
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_study::{BuiltInFactor, FactorOwner};

    #[test]
    fn options_are_those_of_the_command_line() {
        for name in [
            "model",
            "data",
            "for",
            "batch_size",
            "no_checkpoint",
            "on_worker_loss",
        ] {
            assert!(options().contains(&name), "{name}: {:?}", options());
        }
        assert!(!options().contains(&"resume") && !options().contains(&"list"));
    }

    #[test]
    fn every_factor_that_the_trainer_acts_on_is_one_of_its_options() {
        let factors = BuiltInFactor::ALL.iter();
        for factor in factors.filter(|factor| factor.owner == FactorOwner::Trainer) {
            assert!(options().contains(&factor.name), "{}", factor.name);
        }
    }
}
