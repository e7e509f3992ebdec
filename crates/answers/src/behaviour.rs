//! Which runs of a study behave alike, and which is odd.
//!
//! Every run is a row of what it used and came to, in robust units: the distance
//! from the median of all runs as a multiple of their spread. Clusters are those of
//! k-means whose number has the greatest mean silhouette; below [`APART`] there are
//! none. A run is odd if an isolation forest sets it apart and some quantity of it
//! is not one of those of the runs of its own settings (of all, where settings have
//! too few runs), by Student's t adjusted for all runs and quantities.

use crate::results::StudyResults;
use paceline_dist::StudentT;
use paceline_learn::{Features, IsolationForestParams, Threads, choose_clusters};
use paceline_model::RunValue;
use paceline_records::study::Cell;
use serde_json::{Value, json};

/// From this mean silhouette on, clusters are worth telling (Kaufman and
/// Rousseeuw, Finding Groups in Data, 1990: a reasonable structure).
pub const APART: f64 = 0.5;
/// More clusters than this nobody keeps in mind.
const MOST_CLUSTERS: usize = 8;
/// Fewer runs than this show no groups.
const LEAST_RUNS: usize = 6;
/// An isolation forest's score from which a run is set apart: one half is ordinary.
const ISOLATED: f64 = 0.6;
/// The chance that any run of a study without odd ones is called odd, if values of
/// runs that are alike are normal.
const CHANCE: f64 = 0.01;
/// So many runs of one setting tell what is usual of it.
const LEAST_ALIKE: usize = 5;
/// What makes a median absolute deviation that of a normal distribution.
const NORMAL: f64 = 1.4826;
const SEED: u64 = 1;

/// A study's runs as rows of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Profiles {
    /// The runs' names.
    pub runs: Vec<String>,
    /// The settings of each run, in words.
    pub settings: Vec<String>,
    /// What the columns are.
    pub quantities: Vec<String>,
    /// One row per run, one value per quantity.
    pub rows: Vec<Vec<f64>>,
}

impl Profiles {
    /// What the runs of a study that count used and came to: every response and
    /// every measured value that all of them have.
    #[must_use]
    pub fn of_study(study: &StudyResults) -> Self {
        let plan = &study.state.plan;
        let measured = RunValue::ALL.iter().map(|value| value.name());
        let known: Vec<&str> = plan
            .responses
            .iter()
            .map(String::as_str)
            .chain(measured)
            .collect();
        let counted = study.counted();
        let number = |run: usize, column: usize| match study.rows.rows()[run][column] {
            Cell::Number(value) if value.is_finite() => Some(value),
            Cell::Integer(value) => Some(value as f64),
            _ => None,
        };
        let columns: Vec<(usize, &String)> = study
            .rows
            .columns()
            .iter()
            .enumerate()
            .map(|(at, (name, _))| (at, name))
            .filter(|(_, name)| known.contains(&name.as_str()) && !plan.factors.contains(name))
            .filter(|&(at, _)| counted.iter().all(|&run| number(run, at).is_some()))
            .collect();
        let settings = |run: usize| {
            let levels = &plan.trials[plan.runs[run].trial as usize].levels;
            let levels = plan.factors.iter().zip(levels);
            let levels: Vec<String> = levels
                .map(|(name, level)| format!("{name}={level}"))
                .collect();
            levels.join(", ")
        };
        Self {
            runs: counted
                .iter()
                .map(|&run| plan.runs[run].id.to_string())
                .collect(),
            settings: counted.iter().map(|&run| settings(run)).collect(),
            quantities: columns.iter().map(|(_, name)| (*name).clone()).collect(),
            rows: counted
                .iter()
                .map(|&run| {
                    columns
                        .iter()
                        .filter_map(|&(at, _)| number(run, at))
                        .collect()
                })
                .collect(),
        }
    }
}

/// Runs that behave alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// The runs, by their place.
    pub runs: Vec<usize>,
    /// What sets it apart most: quantity, its mean in the cluster, its mean in all
    /// others.
    pub marks: Vec<(String, f64, f64)>,
}

/// A run that is not like those beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Odd {
    /// The run, by its place.
    pub run: usize,
    /// The isolation forest's score.
    pub score: f64,
    /// In what: quantity, its value, the median of its like, how many
    /// deviations lie between.
    pub marks: Vec<(String, f64, f64, f64)>,
    /// Whether its like are the runs of its own settings, or all.
    pub among_its_settings: bool,
}

/// What the runs of a study are like.
#[derive(Debug, Clone, PartialEq)]
pub struct BehaviourAnswer {
    /// The runs.
    pub profiles: Profiles,
    /// The clusters, the largest first; none if the runs are not set apart.
    pub clusters: Vec<Cluster>,
    /// The greatest mean silhouette, if any was computed.
    pub silhouette: Option<f64>,
    /// The odd ones, the oddest first.
    pub odd: Vec<Odd>,
}

/// Looks for clusters and odd runs.
#[must_use]
pub fn behaviour(profiles: Profiles) -> BehaviourAnswer {
    let mut answer = BehaviourAnswer {
        profiles,
        clusters: Vec::new(),
        silhouette: None,
        odd: Vec::new(),
    };
    let Some(features) = standardised(&answer.profiles) else {
        return answer;
    };
    let threads = Threads::available();
    if let Ok(Some(chosen)) = choose_clusters(&features, MOST_CLUSTERS, SEED, threads) {
        answer.silhouette = Some(chosen.silhouette);
        if chosen.silhouette >= APART {
            answer.clusters = clusters(&answer.profiles, chosen.model.assignment(), chosen.count);
        }
    }
    answer.odd = odd(&answer.profiles, &features, threads);
    answer
}

/// In robust units; nothing with too few runs, or none of which varies.
fn standardised(profiles: &Profiles) -> Option<Features> {
    if profiles.rows.len() < LEAST_RUNS {
        return None;
    }
    let columns: Vec<(f64, f64)> = (0..profiles.quantities.len())
        .map(|column| {
            let values: Vec<f64> = profiles.rows.iter().map(|row| row[column]).collect();
            (median(&values), deviation(&values))
        })
        .collect();
    let varying: Vec<usize> = (0..columns.len()).filter(|&c| columns[c].1 > 0.0).collect();
    if varying.is_empty() {
        return None;
    }
    let rows: Vec<Vec<f64>> = profiles
        .rows
        .iter()
        .map(|row| {
            let value = |&column: &usize| (row[column] - columns[column].0) / columns[column].1;
            varying.iter().map(value).collect()
        })
        .collect();
    Features::from_rows(&rows).ok()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The robust spread; the standard deviation where more than half of the values
/// are equal.
fn deviation(values: &[f64]) -> f64 {
    let centre = median(values);
    let away: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let robust = NORMAL * median(&away);
    if robust > 0.0 {
        return robust;
    }
    let square: f64 = away.iter().map(|away| away * away).sum();
    (square / values.len() as f64).sqrt()
}

fn clusters(profiles: &Profiles, assignment: &[usize], count: usize) -> Vec<Cluster> {
    let mut found: Vec<Cluster> = (0..count)
        .map(|number| {
            let runs: Vec<usize> = (0..assignment.len())
                .filter(|&run| assignment[run] == number)
                .collect();
            let marks = marks(profiles, &runs);
            Cluster { runs, marks }
        })
        .filter(|cluster| !cluster.runs.is_empty())
        .collect();
    found.sort_by_key(|cluster| std::cmp::Reverse(cluster.runs.len()));
    found
}

/// The quantities whose means differ most from those of all other runs, in units
/// of the spread of all.
fn marks(profiles: &Profiles, runs: &[usize]) -> Vec<(String, f64, f64)> {
    let mut marks: Vec<(f64, (String, f64, f64))> = Vec::new();
    for (column, name) in profiles.quantities.iter().enumerate() {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (run, row) in profiles.rows.iter().enumerate() {
            match runs.contains(&run) {
                true => own.push(row[column]),
                false => others.push(row[column]),
            }
        }
        if own.is_empty() || others.is_empty() {
            continue;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let all: Vec<f64> = profiles.rows.iter().map(|row| row[column]).collect();
        let spread = deviation(&all);
        if spread > 0.0 {
            let (own, others) = (mean(&own), mean(&others));
            marks.push(((own - others).abs() / spread, (name.clone(), own, others)));
        }
    }
    marks.sort_by(|a, b| b.0.total_cmp(&a.0));
    marks.into_iter().take(3).map(|(_, mark)| mark).collect()
}

fn odd(profiles: &Profiles, features: &Features, threads: Threads) -> Vec<Odd> {
    let forest = IsolationForestParams::default().check();
    let forest = forest.expect("the default is checked");
    let scores = forest
        .fit(features, SEED, threads)
        .ok()
        .and_then(|model| model.scores(features, threads).ok());
    let comparisons = (profiles.rows.len() * profiles.quantities.len()) as f64;
    let mut odd: Vec<Odd> = Vec::new();
    for (run, score) in scores.unwrap_or_default().into_iter().enumerate() {
        if score < ISOLATED {
            continue;
        }
        let alike: Vec<usize> = (0..profiles.rows.len())
            .filter(|&other| profiles.settings[other] == profiles.settings[run])
            .collect();
        let among_its_settings = alike.len() >= LEAST_ALIKE;
        let alike = match among_its_settings {
            true => alike,
            false => (0..profiles.rows.len()).collect(),
        };
        let mut marks: Vec<(String, f64, f64, f64)> = Vec::new();
        for (column, name) in profiles.quantities.iter().enumerate() {
            let value = profiles.rows[run][column];
            let others = alike.iter().filter(|&&other| other != run);
            let others: Vec<f64> = others.map(|&other| profiles.rows[other][column]).collect();
            let (p, away) = unlike(value, &others);
            if p * comparisons < CHANCE {
                marks.push((name.clone(), value, median(&others), away));
            }
        }
        marks.sort_by(|a, b| b.3.total_cmp(&a.3));
        marks.truncate(3);
        if !marks.is_empty() {
            odd.push(Odd {
                run,
                score,
                marks,
                among_its_settings,
            });
        }
    }
    odd.sort_by(|a, b| b.score.total_cmp(&a.score));
    odd
}

/// The chance that a value so far from the others' mean is one of them, by
/// Student's t without it, and how many of their deviations lie between.
fn unlike(value: f64, others: &[f64]) -> (f64, f64) {
    let count = others.len() as f64;
    let mean = others.iter().sum::<f64>() / count;
    let square: f64 = others.iter().map(|other| (other - mean).powi(2)).sum();
    let spread = (square / (count - 1.0)).sqrt();
    let away = (value - mean).abs();
    // What never varied and is another now is unlike, as far as anybody can tell.
    if spread <= 1e-12 * mean.abs() {
        return match away <= 1e-9 * mean.abs() {
            true => (1.0, 0.0),
            false => (0.0, f64::INFINITY),
        };
    }
    let t = away / (spread * (1.0 + 1.0 / count).sqrt());
    let p = StudentT::new(count - 1.0).map_or(1.0, |student| student.two_sided(t));
    (p, away / spread)
}

impl BehaviourAnswer {
    /// The answer for programs; the keys are a promise.
    #[must_use]
    pub fn json(&self) -> Value {
        let names = &self.profiles.runs;
        let cluster = |cluster: &Cluster| {
            let marks = cluster.marks.iter().map(
                |(name, own, others)| json!({ "quantity": name, "mean": own, "others": others }),
            );
            json!({
                "runs": cluster.runs.iter().map(|&run| &names[run]).collect::<Vec<_>>(),
                "marks": marks.collect::<Vec<_>>(),
            })
        };
        let odd = |odd: &Odd| {
            let marks = odd.marks.iter().map(|(name, value, usual, away)| {
                json!({ "quantity": name, "value": value, "median": usual, "deviations": away.is_finite().then_some(away) })
            });
            json!({
                "run": names[odd.run],
                "score": odd.score,
                "among": if odd.among_its_settings { "settings" } else { "all" },
                "marks": marks.collect::<Vec<_>>(),
            })
        };
        json!({
            "version": 1,
            "runs": names.len(),
            "quantities": self.profiles.quantities,
            "silhouette": self.silhouette,
            "clusters": self.clusters.iter().map(cluster).collect::<Vec<_>>(),
            "odd": self.odd.iter().map(odd).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_numeric::Chance;

    /// So many runs of each of two settings, with a distance between their means.
    fn profiles(each: usize, apart: f64, seed: u64) -> Profiles {
        let mut chance = Chance::new(seed, 0);
        let mut made = Profiles {
            runs: Vec::new(),
            settings: Vec::new(),
            quantities: vec!["time".to_owned(), "memory".to_owned()],
            rows: Vec::new(),
        };
        for run in 0..2 * each {
            let setting = run % 2;
            made.runs.push(format!("r{run}"));
            made.settings.push(format!("workers={setting}"));
            let shift = apart * setting as f64;
            made.rows.push(vec![
                10.0 + shift + 0.1 * chance.normal(),
                5.0 + shift + 0.1 * chance.normal(),
            ]);
        }
        made
    }

    #[test]
    fn runs_that_are_set_apart_are_clusters_and_others_are_none() {
        let answer = behaviour(profiles(10, 3.0, 1));
        assert_eq!(answer.clusters.len(), 2);
        assert_eq!(answer.clusters[0].runs.len(), 10);
        assert!(answer.odd.is_empty(), "{:?}", answer.odd);
        let (_, own, others) = &answer.clusters[0].marks[0];
        assert!((own - others).abs() > 2.5);
        assert!(behaviour(profiles(10, 0.0, 1)).clusters.is_empty());
        assert!(behaviour(profiles(2, 3.0, 1)).clusters.is_empty());
    }

    #[test]
    fn a_run_unlike_its_settings_is_odd_and_named_by_what() {
        let mut made = profiles(10, 3.0, 2);
        made.rows[4][1] += 4.0;
        let answer = behaviour(made);
        assert_eq!(answer.odd.len(), 1, "{:?}", answer.odd);
        assert_eq!(answer.odd[0].run, 4);
        assert_eq!(answer.odd[0].marks[0].0, "memory");
        assert!(answer.odd[0].among_its_settings);
    }

    #[test]
    fn equal_runs_have_nothing_to_tell() {
        let mut made = profiles(10, 0.0, 3);
        made.rows.iter_mut().for_each(|row| *row = vec![1.0, 2.0]);
        let answer = behaviour(made);
        assert_eq!(
            (answer.clusters.len(), answer.odd.len(), answer.silhouette),
            (0, 0, None)
        );
    }
}
