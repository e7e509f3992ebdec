//! Training the models that are solved as a whole: support vector machines,
//! exact logistic regression, forests.

use super::args::JobArgs;
use super::data;
use super::given::Given;
use super::job::{checkpoint_place, usable_cpus};
use super::reports::Reports;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use anyhow::anyhow;
use paceline_data::{DataSpec, Options};
use paceline_report::number::{self, plural};
use paceline_train::{AskClassicError, ClassicSpec, FitClassicError, Fitted, Judged, RowsRefused};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The flags that mean something to these models. Every other flag of the
/// trainer is refused, also one that is added later.
const FLAGS: [&str; 7] = [
    "data",
    "text",
    "test",
    "threads",
    "seed",
    "checkpoint",
    "no-checkpoint",
];

/// What to fit to what.
pub(super) struct ClassicJob {
    pub(super) model: ClassicSpec,
    data: DataSpec,
    options: Options,
    seed: u64,
    threads: usize,
    checkpoint: Option<PathBuf>,
    words: BTreeMap<String, String>,
}

impl ClassicJob {
    /// Checks everything that can be checked without reading data; nothing if
    /// the model is not one of these.
    pub(super) fn check(
        args: &Given<JobArgs>,
        run_dir: Option<&Path>,
    ) -> Result<Option<Self>, Failure> {
        let word = args.model.as_deref().unwrap_or_default();
        let family = word.split(':').next().unwrap_or_default();
        if !ClassicSpec::is_family(family) {
            return Ok(None);
        }
        let model: ClassicSpec = word.parse().map_err(|error| {
            Failure::user(error).hint("`paceline train --list` shows all models")
        })?;
        refuse_other_flags(family, args)?;
        let (data, options) = data::wanted(args)?;
        let seed = options.seed;
        let threads = match args.threads {
            Some(threads) => threads.get(),
            None => usable_cpus()?,
        };
        let test = args.test.map_or("none".to_owned(), |test| test.to_string());
        let words = [
            ("data", args.data.clone()),
            ("text", args.text.clone()),
            ("test", test),
            ("threads", threads.to_string()),
            ("seed", seed.to_string()),
        ];
        Ok(Some(Self {
            model,
            data,
            options,
            seed,
            threads,
            checkpoint: checkpoint_place(args, run_dir),
            words: words.map(|(key, word)| (key.to_owned(), word)).into(),
        }))
    }

    /// Fits in this process. There is no good moment to stop before the end, so
    /// that a signal ends the process.
    pub(super) fn run(self, reports: Reports) -> Result<Exit, Failure> {
        reports.phase("read data");
        let split = data::read(&self.data, &self.options)?;
        reports.phase("train");
        output::data(&format!(
            "{} on {}: {} on {}\n",
            self.model,
            self.data,
            plural(split.train.rows(), "row"),
            plural(self.threads, "thread")
        ))?;
        let Fitted { model, elapsed } = self
            .model
            .fit(&split.train, self.seed, self.threads)
            .map_err(unfit)?;
        if let Some(path) = &self.checkpoint {
            model
                .to_file(self.words)
                .write(path)
                .map_err(Failure::world)?;
        }
        reports.phase("evaluate");
        let train = model.judge(&split.train, self.threads).map_err(unasked)?;
        let test = model.judge(&split.test, self.threads).map_err(unasked)?;
        let (unit, size) = model.size();
        let mut numbers = vec![
            ("accuracy", train.accuracy()),
            ("test_accuracy", test.accuracy()),
            ("train_s", elapsed.as_secs_f64()),
            ("rows_trained", train.rows as f64),
            ("converged", f64::from(u8::from(model.converged()))),
            (unit, size as f64),
        ];
        numbers.extend(train.loss.map(|loss| ("loss", loss)));
        numbers.extend(test.loss.map(|loss| ("test_loss", loss)));
        reports.summary(&numbers);
        reports.close()?;
        let mut text = format!(
            "{}\n{}\nfitted in {}: {} {}\n",
            line("accuracy", &train),
            line("test accuracy", &test),
            number::duration(elapsed.as_secs_f64()),
            number::count(size as u64),
            unit.replace('_', " "),
        );
        if !model.converged() {
            text.push_str(
                "notice: the solver stopped before it reached its tolerance; a smaller C, or \
                 features scaled to about one, make the problem easier\n",
            );
        }
        output::data(&text)?;
        Ok(Exit::Done)
    }
}

fn line(name: &str, judged: &Judged) -> String {
    let loss = judged.loss.map_or(String::new(), |loss| {
        format!("   loss {}", number::significant(loss, 4))
    });
    format!("{name:<14} {:>6.2}%{loss}", 100.0 * judged.accuracy())
}

fn refuse_other_flags(family: &str, args: &Given<JobArgs>) -> Result<(), Failure> {
    let others: Vec<String> = args
        .typed()
        .filter(|flag| !FLAGS.contains(flag))
        .map(|flag| format!("--{flag}"))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    let (verb, them) = match others.len() {
        1 => ("does", "it"),
        _ => ("do", "them"),
    };
    Err(Failure::user(anyhow!(
        "{family} is solved as a whole, not step by step: {} {verb} not apply to it",
        others.join(", ")
    ))
    .hint(format!(
        "leave {them} out; `paceline train --list` shows the options of {family} itself"
    )))
}

fn unfit(error: FitClassicError) -> Failure {
    match error {
        FitClassicError::Rows(refused) => unread(refused),
        error => Failure::user(error),
    }
}

/// Why a model cannot be asked, with what to do about it.
pub(super) fn unasked(error: AskClassicError) -> Failure {
    match error {
        AskClassicError::Rows(refused) => unread(refused),
        error => Failure::user(error).hint("are these rows of the form the model was trained on?"),
    }
}

fn unread(refused: RowsRefused) -> Failure {
    let is_words = matches!(refused, RowsRefused::Words { .. });
    let failure = Failure::user(refused);
    if is_words {
        failure.hint("--text encoding=bag makes one row of word counts of each text")
    } else {
        failure
    }
}
