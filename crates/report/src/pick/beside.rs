//! A pick beside jobs that run, for people.

use super::extrapolated;
use crate::number::{count, duration, plural, significant};
use crate::predict::{interval, predicted};
use crate::text::{Column, Page, Table, paragraph};
use paceline_answers::pick::BesideAnswer;
use paceline_answers::written;

/// The answer for people.
pub(super) fn text(answer: &BesideAnswer, page: Page) -> String {
    Beside { answer, page }.text()
}

struct Beside<'a> {
    answer: &'a BesideAnswer,
    page: Page,
}

impl Beside<'_> {
    fn text(&self) -> String {
        let page = self.page;
        let table = &self.answer.setup.table;
        let mut out = format!(
            "Looking for {} among {} beside {} running {}, learned from {} runs of \
             {}\n",
            self.answer.request.objective,
            plural(self.answer.setup.choices.len(), "configuration"),
            self.answer.jobs.len(),
            if self.answer.jobs.len() == 1 {
                "job"
            } else {
                "jobs"
            },
            count(table.count as u64),
            table.source
        );
        if let Some(epochs) = &self.answer.setup.epochs {
            out += &paragraph("", &epochs.to_string(), page.width);
        }
        out += &paragraph("", &self.interference_words(), page.width);
        let word = if self.answer.admission.promises_kept {
            "Pick"
        } else {
            out += "\nNo configuration keeps every promise; this one breaks the fewest\n";
            "Nearest"
        };
        out += &format!(
            "\n{word}   {}\n\n",
            self.settings(&self.answer.picked.configuration)
        );
        out += &self.predictions().render(page.width, page.style);
        out += &extrapolated(&self.answer.picked, page.width);
        out += "\nWhen jobs end, from now\n\n";
        out += &self.ends().render(page.width, page.style);
        for learned in &self.answer.setup.learned {
            out += &paragraph("note: ", &learned.sentence(), page.width);
        }
        for caution in self.cautions() {
            out += &paragraph("caution: ", &caution, page.width);
        }
        out
    }

    fn interference_words(&self) -> String {
        let beside = |others: f64| significant(self.answer.interference.slowdown(1.0 + others), 3);
        format!(
            "A job takes {} times as long beside one other and {} times beside two ({})",
            beside(1.0),
            beside(2.0),
            if self.answer.fitted {
                "fitted to runs of several jobs"
            } else {
                "as --contention says"
            }
        )
    }

    fn settings(&self, at: &[f64]) -> String {
        written(&self.answer.setup.table.runs.factors().settings(at))
    }

    fn predictions(&self) -> Table {
        let mut table = Table::new([
            Column::words("response"),
            Column::decimals("alone"),
            Column::words("interval"),
        ]);
        for (name, prediction) in &self.answer.picked.predictions {
            table.row([name.clone(), predicted(prediction), interval(prediction)]);
        }
        table
    }

    fn ends(&self) -> Table {
        let latest = format!("at {} by", self.answer.request.confidence);
        let mut table = Table::new([
            Column::words("job"),
            Column::amounts("without"),
            Column::amounts("expected"),
            Column::amounts(&latest),
            Column::amounts("promised"),
            Column::words("promise"),
        ]);
        for line in self.answer.lines() {
            table.row([
                line.finish.name.clone(),
                line.without
                    .map_or("–".to_owned(), |end| seconds(end.expected_s)),
                seconds(line.finish.expected_s),
                seconds(line.finish.upper_s),
                line.job.promise_s.map_or("–".to_owned(), seconds),
                line.verdict().to_owned(),
            ]);
        }
        table
    }

    fn cautions(&self) -> Vec<String> {
        let over = self.answer.admission.without.iter();
        let mut cautions: Vec<String> = over
            .filter(|end| end.expected_s < 0.0)
            .map(|end| {
                format!(
                    "{} should have ended {} ago. What it still has to do is unknown and not \
                     counted.",
                    end.name,
                    seconds(-end.expected_s)
                )
            })
            .collect();
        let time = self.answer.setup.predictors.iter();
        let far = self
            .answer
            .configurations
            .iter()
            .zip(&self.answer.jobs)
            .filter(|(at, _)| {
                time.clone()
                    .any(|predictor| !predictor.predict(at, 0.9).outside.is_empty())
            });
        cautions.extend(far.map(|(_, job)| {
            format!(
                "the configuration of {} lies outside what was run; its end is less certain.",
                job.name
            )
        }));
        cautions
    }
}

/// A time from now, before it as well.
fn seconds(value: f64) -> String {
    if value < 0.0 {
        format!("-{}", duration(-value))
    } else {
        duration(value)
    }
}
