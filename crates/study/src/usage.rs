//! What the job does with factors and constants.

use crate::builtin::BuiltInFactor;
use crate::command::RunFacts;
use crate::engine::EngineKind;
use crate::job::{JobKind, ReadJob};
use crate::names::Names;
use crate::problem::{Place, Problem};
use crate::spark_submit::{is_setting, is_spark_key};
use paceline_model::Level;
use paceline_model::spelling::nearest;

/// The environment variable that carries the level of `name`.
pub(crate) fn variable(name: &str) -> String {
    // Settings of Spark have dots and dashes, which no shell would take.
    let name = name.to_ascii_uppercase().replace(['.', '-'], "_");
    format!("PACELINE_{name}")
}

/// Reports placeholders without a factor, and levels a shell would misread.
pub(crate) fn check_placeholders(job: &ReadJob, names: &Names<'_>, problems: &mut Vec<Problem>) {
    for placed in &job.templates {
        let mut seen: Vec<&str> = Vec::new();
        for name in placed.template.names() {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            if !names.is_known(name) && !RunFacts::NAMES.contains(&name) {
                let known = names.all().chain(RunFacts::NAMES.iter().copied());
                let placeholder = format!("{{{name}}}");
                let at = placed.text.find(&placeholder).unwrap_or(0);
                problems.push(
                    Problem::new(
                        &placed.place,
                        format!("placeholder `{placeholder}` has no factor"),
                    )
                    .excerpt(&placed.text, &(at..at + placeholder.len()))
                    .maybe_hint(match nearest(name, known.clone()) {
                        Some(near) => Some(format!("did you mean `{{{near}}}`?")),
                        None => Some(format!("write {{{{{name}}}}} if the braces are meant")),
                    }),
                );
            } else if placed.for_shell
                && let Some(word) = unsafe_for_shell(name, names)
            {
                problems.push(
                    Problem::new(
                        &placed.place,
                        format!("the shell would not take the level `{word}` of `{name}` as it is"),
                    )
                    .hint(format!(
                        "write \"${}\" in the command, or give the command as a list",
                        variable(name)
                    )),
                );
            }
        }
    }
}

/// A level of `name` that means something to a shell.
fn unsafe_for_shell(name: &str, names: &Names<'_>) -> Option<String> {
    let factor_levels = names.factor(name).map(|factor| factor.levels.as_slice());
    let levels = factor_levels.or_else(|| names.constant(name).map(std::slice::from_ref))?;
    levels.iter().map(Level::to_string).find(|text| {
        !text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-./:=+,@%".contains(c))
    })
}

/// Reports factors that nothing reads, and notices such constants.
pub(crate) fn check_uses(
    job: &ReadJob,
    engine: Option<EngineKind>,
    names: &Names<'_>,
    problems: &mut Vec<Problem>,
    notices: &mut Vec<Problem>,
) {
    // A broken command may hold the placeholder that seems to be missing.
    let (Some(read), Some(engine), false) = (&job.job, engine, job.reads_env) else {
        return;
    };
    let kind = read.kind();
    if kind == JobKind::Train {
        return;
    }
    let is_used = |name: &str| {
        let variable = variable(name);
        job.templates.iter().any(|placed| {
            placed.template.names().any(|used| used == name)
                || placed
                    .template
                    .literals()
                    .any(|text| mentions(text, &variable))
        })
    };
    let acts = |name: &str| {
        (kind == JobKind::SparkSubmit && is_spark_key(name))
            || BuiltInFactor::from_name(name).is_some_and(|built_in| built_in.acts_on(kind, engine))
    };
    for (place, factor) in &names.factors {
        let name = &factor.name;
        if !acts(name) && !is_used(name) {
            problems.push(
                Problem::new(place, format!("factor `{name}` has no use in the command")).hint(
                    format!(
                        "write {{{name}}} where it belongs, or say reads_env = true under [job] if the program reads {}",
                        variable(name)
                    ),
                ),
            );
        }
    }
    for (place, name, _) in &names.fixed {
        if !acts(name) && !is_used(name) {
            notices.push(Problem::new(
                place,
                format!("constant `{name}` has no use in the command; it is only recorded"),
            ));
        }
    }
}

/// True if `text` holds `word` with nothing of a name on either side.
fn mentions(text: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(part_of_name) && !text[at + word.len()..].starts_with(part_of_name)
    })
}

/// Reports settings of Spark that the job or its master cannot realise: a factor
/// that does nothing would look like one without an effect.
pub(crate) fn check_spark(
    job: &ReadJob,
    engine: Option<EngineKind>,
    names: &Names<'_>,
    problems: &mut Vec<Problem>,
) {
    let is_realised = |name: &str| {
        let built_in = BuiltInFactor::from_name(name).zip(job.kind).zip(engine);
        built_in.is_some_and(|((factor, job), engine)| factor.acts_on(job, engine))
    };
    let varied = names
        .factors
        .iter()
        .map(|(place, factor)| (place, factor.name.as_str()));
    let fixed = names
        .fixed
        .iter()
        .map(|(place, name, _)| (place, name.as_str()));
    let settings: Vec<(&Place, &str)> = varied
        .chain(fixed)
        .filter(|(_, name)| is_setting(name))
        .collect();
    match job.kind {
        Some(JobKind::Train) => {
            for (place, name) in settings.into_iter().filter(|(_, name)| !is_realised(name)) {
                problems.push(
                    Problem::new(place, format!("the trainer has no `{name}`: it is Spark's"))
                        .hint(
                            "a training has `workers`, `servers` and `threads`; an application of \
                         Spark is a job of kind \"spark-submit\"",
                        ),
                );
            }
        }
        Some(JobKind::Command) => {
            for (place, name) in settings.into_iter().filter(|(_, name)| is_spark_key(name)) {
                problems.push(
                    Problem::new(place, format!("`{name}` has no meaning for a command"))
                        .hint("an application of Spark is a job of kind \"spark-submit\""),
                );
            }
        }
        Some(JobKind::SparkSubmit) => check_master(job, &settings, problems),
        None => {}
    }
}

/// Executors of a local master are threads of the driver.
fn check_master(job: &ReadJob, settings: &[(&Place, &str)], problems: &mut Vec<Problem>) {
    let Some((_, Some(master))) = &job.master else {
        return;
    };
    let is_local = master
        .literals()
        .next()
        .is_some_and(|text| text.starts_with("local"));
    if !is_local {
        return;
    }
    for (place, name) in settings {
        if !is_spark_key(name) {
            problems.push(
                Problem::new(
                    place,
                    format!("`{name}` does nothing on a local master: tasks run inside the driver"),
                )
                .hint(
                    "vary the threads with master = \"local[{cores}]\" and a factor `cores`, or \
                     the memory with \"spark.driver.memory\"",
                ),
            );
        }
    }
}
