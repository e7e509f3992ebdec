//! Which runs behave alike and which is odd, for people.

use crate::number::{plural, significant};
use crate::text::{Page, paragraph};
use paceline_answers::behaviour::{APART, BehaviourAnswer, Cluster, Odd};

/// So many runs of a cluster are named.
const NAMED: usize = 8;
/// So many odd runs are told.
const ODD: usize = 10;

/// The answer as text.
#[must_use]
pub fn text(answer: &BehaviourAnswer, page: Page) -> String {
    let mut out = String::new();
    for sentence in sentences(answer) {
        out += &paragraph("", &sentence, page.width);
    }
    out
}

/// What the runs of a study are like, one sentence for each thing.
#[must_use]
pub fn sentences(answer: &BehaviourAnswer) -> Vec<String> {
    let runs = answer.profiles.runs.len();
    let mut sentences = Vec::new();
    match (answer.silhouette, answer.clusters.is_empty()) {
        (None, _) => sentences.push(format!(
            "{}: too few, or too much alike, to look for groups.",
            plural(runs, "run")
        )),
        (Some(silhouette), true) => sentences.push(format!(
            "The {runs} runs form no groups: the best division into 2 to 8 has a mean silhouette of \
             {silhouette:.2}, below {APART}."
        )),
        (Some(silhouette), false) => {
            sentences.push(format!(
                "The {runs} runs form {} groups (k-means; of 2 to 8, the number with the greatest \
                 mean silhouette, {silhouette:.2}).",
                answer.clusters.len()
            ));
            let clusters = answer.clusters.iter().enumerate();
            sentences.extend(clusters.map(|(at, cluster)| group(answer, at, cluster)));
        }
    }
    if answer.silhouette.is_some() && answer.odd.is_empty() {
        sentences.push("No run is odd.".to_owned());
    }
    sentences.extend(answer.odd.iter().take(ODD).map(|odd| oddity(answer, odd)));
    if answer.odd.len() > ODD {
        sentences.push(format!("{} more are odd.", answer.odd.len() - ODD));
    }
    sentences
}

fn group(answer: &BehaviourAnswer, at: usize, cluster: &Cluster) -> String {
    let names = cluster.runs.iter().take(NAMED);
    let names: Vec<&str> = names
        .map(|&run| answer.profiles.runs[run].as_str())
        .collect();
    let more = match cluster.runs.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let marks = cluster.marks.iter().map(|(name, own, others)| {
        format!(
            "{name} {} against {}",
            significant(*own, 4),
            significant(*others, 4)
        )
    });
    format!(
        "Group {}, {} ({}{more}): {} of the others.",
        at + 1,
        plural(cluster.runs.len(), "run"),
        names.join(", "),
        marks.collect::<Vec<_>>().join(", ")
    )
}

fn oddity(answer: &BehaviourAnswer, odd: &Odd) -> String {
    let marks = odd.marks.iter().map(|(name, value, usual, _)| {
        format!(
            "{name} {} instead of {}",
            significant(*value, 4),
            significant(*usual, 4)
        )
    });
    let like = match odd.among_its_settings {
        true => "runs of its settings",
        false => "runs of the study",
    };
    format!(
        "{} ({}) is odd among the {like}: {}.",
        answer.profiles.runs[odd.run],
        answer.profiles.settings[odd.run],
        marks.collect::<Vec<_>>().join(", ")
    )
}
