//! What the job does with factors and constants.

use crate::builtin::BuiltInFactor;
use crate::command::RunFacts;
use crate::engine::EngineKind;
use crate::job::{Job, JobKind, ReadJob};
use crate::names::Names;
use crate::problem::Problem;
use paceline_model::Level;
use paceline_model::spelling::nearest;

/// The environment variable that carries the level of `name`.
pub(crate) fn variable(name: &str) -> String {
    format!("PACELINE_{}", name.to_ascii_uppercase())
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
    let (Some(Job::Command(_)), Some(engine), false) = (&job.job, engine, job.reads_env) else {
        return;
    };
    let on_cluster = engine != EngineKind::Local;
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
    for (place, factor) in &names.factors {
        let name = &factor.name;
        let acts = BuiltInFactor::from_name(name)
            .is_some_and(|built_in| built_in.acts_on(JobKind::Command, on_cluster));
        if !acts && !is_used(name) {
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
        let acts = BuiltInFactor::from_name(name)
            .is_some_and(|built_in| built_in.acts_on(JobKind::Command, on_cluster));
        if !acts && !is_used(name) {
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
