//! Which options a user typed, as opposed to those that have their defaults.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, FromArgMatches};
use std::ops::Deref;

/// Options, together with the flags of those that were typed.
#[derive(Debug)]
pub(crate) struct Given<T> {
    options: T,
    typed: Vec<String>,
}

impl<T> Given<T> {
    /// The long names of the flags that were typed, in the order of the help.
    pub(super) fn typed(&self) -> impl Iterator<Item = &str> {
        self.typed.iter().map(String::as_str)
    }
}

impl<T> Deref for Given<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.options
    }
}

impl<T: clap::Args> clap::Args for Given<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: clap::Args> FromArgMatches for Given<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self {
            typed: typed::<T>(matches),
            options: T::from_arg_matches(matches)?,
        })
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        // What is taken out of the matches is not found there any more.
        let typed = typed::<T>(matches);
        Ok(Self {
            typed,
            options: T::from_arg_matches_mut(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.typed = typed::<T>(matches);
        self.options.update_from_arg_matches(matches)
    }
}

fn typed<T: clap::Args>(matches: &ArgMatches) -> Vec<String> {
    T::augment_args(Command::new("options"))
        .get_arguments()
        .filter(|argument| {
            let source = matches.value_source(argument.get_id().as_str());
            source == Some(ValueSource::CommandLine)
        })
        .filter_map(|argument| argument.get_long().map(str::to_owned))
        .collect()
}
