//! How a pick is printed.

mod beside;

use crate::number::{count, duration, percent, plural, significant};
use crate::predict::{interval, outside, predicted};
use crate::text::{Column, Page, Table, paragraph};
use paceline_advise::pick::{Picked, Verdict};
use paceline_answers::pick::{AloneAnswer, PickAnswer, Tradeoff, WeakPredictor};
use paceline_answers::written;

/// The most points of the front that are printed for people.
const FRONT_SHOWN: usize = 12;

/// The answer for people.
#[must_use]
pub fn text(answer: &PickAnswer, page: Page) -> String {
    match answer {
        PickAnswer::Alone(answer) => Alone { answer, page }.text(),
        PickAnswer::Beside(answer) => beside::text(answer, page),
    }
}

struct Alone<'a> {
    answer: &'a AloneAnswer,
    page: Page,
}

impl Alone<'_> {
    fn text(&self) -> String {
        let page = self.page;
        let confidence = self.answer.request.confidence;
        let mut out = format!(
            "Looking for {} among {}, learned from {} runs of {}\n",
            self.answer.request.objective,
            plural(self.answer.pick.considered, "configuration"),
            count(self.answer.setup.table.count as u64),
            self.answer.setup.table.source
        );
        if let Some(epochs) = &self.answer.setup.epochs {
            out += &paragraph("", &epochs.to_string(), page.width);
        }
        if self.answer.setup.table.left_out > 0 {
            out += &format!(
                "{} runs that are not done were left out\n",
                self.answer.setup.table.left_out
            );
        }
        match &self.answer.pick.verdict {
            Verdict::Met {
                best,
                runner_up,
                binding,
            } => {
                out += &format!("\nPick   {}\n\n", self.written(best));
                out += &self.predictions(best).render(page.width, page.style);
                out += &extrapolated(best, page.width);
                out.push('\n');
                out += &match binding {
                    Some(binding) => format!(
                        "`{}` binds: without it the objective could be {} better\n",
                        self.answer.request.constraints[binding.constraint],
                        significant(binding.would_gain, 3)
                    ),
                    None => "No limit binds: this is the best configuration even without limits\n"
                        .to_owned(),
                };
                if let Some(runner_up) = runner_up {
                    out += &format!(
                        "Runner-up {} gives up {} of the objective\n",
                        self.written(&runner_up.picked),
                        significant(runner_up.gives_up, 3)
                    );
                }
            }
            Verdict::Unmet { nearest, reason } => {
                out += &format!("\nNothing meets the limits: {reason}\n");
                out += &format!("Nearest   {}\n\n", self.written(nearest));
                out += &self.predictions(nearest).render(page.width, page.style);
                out += &extrapolated(nearest, page.width);
                out.push('\n');
            }
        }
        out += &format!(
            "{} of {} configurations keep every limit with probability {confidence}\n",
            count(self.answer.pick.feasible as u64),
            count(self.answer.pick.considered as u64)
        );
        out += &self.tradeoff();
        if !self.answer.suggestions.is_empty() {
            out += "\nRuns worth making next\n\n";
            out += &self.suggested().render(page.width, page.style);
        } else if self.answer.suggestions_asked {
            out += "\nNo run is worth suggesting: every configuration considered has been run; \
                    --grid considers more\n";
        }
        for learned in &self.answer.setup.learned {
            out += &paragraph("note: ", &learned.sentence(), page.width);
        }
        for weak in &self.answer.cautions {
            out += &paragraph("caution: ", &weak_predictor(weak), page.width);
        }
        out
    }

    fn written(&self, picked: &Picked) -> String {
        written(&self.answer.settings(&picked.configuration))
    }

    fn predictions(&self, picked: &Picked) -> Table {
        let mut table = Table::new([
            Column::words("response"),
            Column::decimals("predicted"),
            Column::words(&format!(
                "{} interval",
                percent(self.answer.request.coverage)
            )),
            Column::words("limit"),
            Column::decimals("probability"),
            Column::words("by").optional(),
        ]);
        for (predictor, (response, prediction)) in
            self.answer.setup.predictors.iter().zip(&picked.predictions)
        {
            let limits = self.answer.request.constraints.iter().zip(&picked.chances);
            let limits: Vec<_> = limits
                .filter(|(limit, _)| limit.response == *response)
                .collect();
            let texts: Vec<String> = limits.iter().map(|(limit, _)| limit.to_string()).collect();
            let chances: Vec<String> = limits
                .iter()
                .map(|(_, chance)| format!("{chance:.3}"))
                .collect();
            table.row([
                response.clone(),
                predicted(prediction),
                interval(prediction),
                texts.join(", "),
                chances.join(", "),
                predictor.kind().name().to_owned(),
            ]);
        }
        table
    }

    /// What is gained in one respect by giving way in another: in those that were
    /// asked about, or between result and time.
    fn tradeoff(&self) -> String {
        let front = &self.answer.pick.front;
        let (table, all) = match &self.answer.tradeoff {
            Some(tradeoff) if front.len() < 2 => {
                (self.against_time(tradeoff), tradeoff.front.len())
            }
            _ if front.len() < 2 => return String::new(),
            _ => (self.front(), front.len()),
        };
        let mut out = "\nTrade-off: nothing is better than these in every respect\n\n".to_owned();
        out += &table.render(self.page.width, self.page.style);
        if all > FRONT_SHOWN {
            let more = all - FRONT_SHOWN;
            out += &format!("{more} more lie between these; --format json has all\n");
        }
        out
    }

    fn front(&self) -> Table {
        let names = self.answer.setup.predictors.iter();
        let names = names.map(|p| Column::decimals(p.response()));
        let columns = [Column::words("configuration")].into_iter().chain(names);
        let mut table = Table::new(columns);
        for picked in spaced(&self.answer.pick.front) {
            let values = picked.predictions.iter().map(|(_, p)| predicted(p));
            table.row([self.written(picked)].into_iter().chain(values));
        }
        table
    }

    fn against_time(&self, tradeoff: &Tradeoff) -> Table {
        let mut table = Table::new([
            Column::words("configuration"),
            Column::decimals(&tradeoff.time),
            Column::decimals(&tradeoff.result),
        ]);
        for &at in spaced(&tradeoff.front) {
            let (configuration, time, result) = &tradeoff.all[at];
            table.row([
                written(&self.answer.settings(configuration)),
                significant(*time, 4),
                significant(*result, 4),
            ]);
        }
        table
    }

    fn suggested(&self) -> Table {
        let mut table = Table::new([
            Column::words("configuration"),
            Column::decimals("expected improvement"),
            Column::amounts("takes"),
            Column::decimals("keeps limits"),
        ]);
        for suggestion in &self.answer.suggestions {
            table.row([
                written(&self.answer.settings(&suggestion.configuration)),
                significant(suggestion.improvement, 3),
                suggestion.seconds.map_or("–".to_owned(), duration),
                format!("{:.3}", suggestion.feasible),
            ]);
        }
        table
    }
}

/// So many that people read all of them, evenly spaced, both ends included.
pub(crate) fn spaced<T>(all: &[T]) -> impl Iterator<Item = &T> {
    let shown = all.len().min(FRONT_SHOWN);
    (0..shown).map(move |i| &all[i * (all.len() - 1) / (shown - 1).max(1)])
}

/// What a reader must know of a promise by a weak predictor, wherever it is shown.
pub(crate) fn weak_predictor(weak: &WeakPredictor) -> String {
    format!(
        "for trials it has not seen, the predictor of `{}` explains {} of what differs between \
         runs. The interval and the probability account for that; which configuration is best is \
         much less certain. Replicate the pick before relying on it.",
        weak.response,
        percent(weak.explained)
    )
}

/// Where the configuration lies outside what was run, one line for each way.
fn extrapolated(picked: &Picked, width: usize) -> String {
    let mut ways: Vec<String> = Vec::new();
    for (_, prediction) in &picked.predictions {
        let way = outside(prediction);
        if !way.is_empty() && !ways.contains(&way) {
            ways.push(way);
        }
    }
    let lines = ways.iter().map(|way| paragraph("note: ", way, width));
    lines.collect()
}
