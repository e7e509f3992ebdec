//! Turning what the commands say into events and results.

use crate::reports::{Lines, MetricPattern, Report, ReportKind, parse_line};
use crate::tail::Tail;
use indexmap::IndexMap;
use paceline_model::{Event, EventKind, Micros, RunNotice, Stream, WorkerId};
use std::io;
use std::path::Path;

/// A job that reports more names than this prints data, not metrics.
const MOST_NAMES: usize = 256;

/// Listens to all the ways in which the commands of a run report.
pub(crate) struct Reporting {
    patterns: Vec<MetricPattern>,
    streams: Vec<(WorkerId, Stream, Lines)>,
    file: Tail,
    file_failed: Option<io::Error>,
    /// The last value of each metric of each worker.
    last: IndexMap<String, IndexMap<WorkerId, f64>>,
    refused_names: u64,
}

impl Reporting {
    pub(crate) fn new(file: &Path, patterns: Vec<MetricPattern>) -> io::Result<Self> {
        Ok(Self {
            patterns,
            streams: Vec::new(),
            file: Tail::create(file)?,
            file_failed: None,
            last: IndexMap::new(),
            refused_names: 0,
        })
    }

    /// What a piece of output reports.
    pub(crate) fn output(
        &mut self,
        worker: WorkerId,
        stream: Stream,
        at: Micros,
        bytes: &[u8],
        mut seen: impl FnMut(&[u8]),
    ) -> Vec<Event> {
        let index = match self
            .streams
            .iter()
            .position(|(w, s, _)| (*w, *s) == (worker, stream))
        {
            Some(index) => index,
            None => {
                self.streams.push((worker, stream, Lines::default()));
                self.streams.len() - 1
            }
        };
        let mut found = Vec::new();
        let patterns = &self.patterns;
        self.streams[index].2.push(bytes, |line| {
            seen(line);
            listen(patterns, stream, line, &mut found);
        });
        self.events(found, Some(worker), at)
    }

    /// What was reported in the file since the last look.
    pub(crate) fn file(&mut self, at: Micros) -> Vec<Event> {
        let mut found = Vec::new();
        if let Err(error) = self.file.read(|line| found.extend(parse_line(line))) {
            self.file_failed.get_or_insert(error);
        }
        self.events(found, None, at)
    }

    /// What was reported last, unfinished lines included.
    pub(crate) fn finish(
        &mut self,
        at: Micros,
        mut seen: impl FnMut(WorkerId, &[u8]),
    ) -> Vec<Event> {
        let mut events = self.file(at);
        let mut found = Vec::new();
        if let Err(error) = self.file.finish(|line| found.extend(parse_line(line))) {
            self.file_failed.get_or_insert(error);
        }
        events.extend(self.events(found, None, at));
        for index in 0..self.streams.len() {
            let mut found = Vec::new();
            let (worker, stream, lines) = &mut self.streams[index];
            let (worker, patterns) = (*worker, &self.patterns);
            lines.finish(|line| {
                seen(worker, line);
                listen(patterns, *stream, line, &mut found);
            });
            events.extend(self.events(found, Some(worker), at));
        }
        events
    }

    /// The last value of each metric; the mean over workers where several
    /// report it.
    pub(crate) fn results(&self) -> IndexMap<String, f64> {
        let mean = |by_worker: &IndexMap<WorkerId, f64>| {
            by_worker.values().sum::<f64>() / by_worker.len() as f64
        };
        self.last
            .iter()
            .map(|(name, by_worker)| (name.clone(), mean(by_worker)))
            .collect()
    }

    pub(crate) fn notices(&self) -> Vec<RunNotice> {
        let mut notices = Vec::new();
        let long: u64 = self
            .streams
            .iter()
            .map(|(_, _, lines)| lines.dropped())
            .sum();
        if long > 0 {
            notices.push(RunNotice::LongLines {
                count: long,
                longest: Lines::LONGEST,
            });
        }
        if self.refused_names > 0 {
            notices.push(RunNotice::TooManyMetrics {
                left_out: self.refused_names,
                most: MOST_NAMES,
            });
        }
        if let Some(error) = &self.file_failed {
            notices.push(RunNotice::ReportsUnreadable {
                error: error.to_string(),
            });
        }
        notices
    }

    fn events(&mut self, reports: Vec<Report>, by: Option<WorkerId>, at: Micros) -> Vec<Event> {
        let mut events = Vec::with_capacity(reports.len());
        for Report {
            worker,
            step,
            name,
            kind,
        } in reports
        {
            let worker = worker.map(WorkerId).or(by);
            let (kind, value, text) = match kind {
                ReportKind::Phase => (EventKind::Phase, None, None),
                ReportKind::Notice(text) => (EventKind::Notice, None, Some(text)),
                ReportKind::Metric(value) => {
                    if self.last.len() >= MOST_NAMES && !self.last.contains_key(&name) {
                        self.refused_names += 1;
                        continue;
                    }
                    let by_worker = self.last.entry(name.clone()).or_default();
                    by_worker.insert(worker.unwrap_or_default(), value);
                    (EventKind::Metric, Some(value), None)
                }
            };
            events.push(Event {
                at,
                worker,
                kind,
                step,
                name,
                value,
                text,
            });
        }
        events
    }
}

/// JSON counts on stdout only, where jobs print results; patterns count on both.
fn listen(patterns: &[MetricPattern], stream: Stream, line: &[u8], found: &mut Vec<Report>) {
    if stream == Stream::Out {
        found.extend(parse_line(line));
    }
    found.extend(patterns.iter().filter_map(|pattern| pattern.find(line)));
}
