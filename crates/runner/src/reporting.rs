//! Turning what the commands say into events and results.

use crate::event_files::EventFiles;
use crate::reports::{Lines, MetricPattern, Printed, Report, ReportKind, parse_line};
use crate::tail::Tail;
use indexmap::IndexMap;
use paceline_model::{Event, EventKind, Micros, NodeName, RunNotice, Stream, WorkerId};
use std::collections::HashSet;
use std::io;
use std::path::Path;

/// A job that reports more names than this prints data, not metrics.
const MOST_NAMES: usize = 256;

/// Listens to all the ways in which the commands of a run report.
pub(crate) struct Reporting {
    patterns: Patterns,
    streams: Vec<Listened>,
    file: Tail,
    /// What commands on other nodes report in files of theirs.
    remote: Vec<(NodeName, Lines)>,
    file_failed: Option<io::Error>,
    event_files: EventFiles,
    /// Names that came from event files alone.
    from_event_files: HashSet<String>,
    /// The last value of each metric of each worker.
    last: IndexMap<String, IndexMap<WorkerId, f64>>,
    refused_names: u64,
}

impl Reporting {
    pub(crate) fn new(
        file: &Path,
        patterns: Vec<MetricPattern>,
        event_files: EventFiles,
    ) -> io::Result<Self> {
        Ok(Self {
            patterns: Patterns::new(patterns),
            streams: Vec::new(),
            file: Tail::create(file)?,
            remote: Vec::new(),
            file_failed: None,
            event_files,
            from_event_files: HashSet::new(),
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
            .position(|it| (it.worker, it.stream) == (worker, stream))
        {
            Some(index) => index,
            None => {
                self.streams.push(Listened::new(worker, stream));
                self.streams.len() - 1
            }
        };
        let mut found = Vec::new();
        let patterns = &mut self.patterns;
        let Listened { lines, printed, .. } = &mut self.streams[index];
        lines.push(bytes, |line| {
            seen(line);
            patterns.listen(printed, stream, line, &mut found);
        });
        self.events(found, Some(worker), at)
    }

    /// What was reported in the file since the last look.
    pub(crate) fn file(&mut self, at: Micros) -> Vec<Event> {
        let mut found = Vec::new();
        if let Err(error) = self.file.read(|line| found.extend(parse_line(line))) {
            self.file_failed.get_or_insert(error);
        }
        self.patterns.structured |= !found.is_empty();
        self.events(found, None, at)
    }

    /// What was written into event files since the last look; `all` that is there when
    /// a command has ended.
    pub(crate) fn event_files(&mut self, all: bool) -> Vec<Event> {
        let found = match all {
            true => self.event_files.settle(),
            false => self.event_files.glance(),
        };
        let mut events = Vec::new();
        for found in found {
            let name = &found.report.name;
            // What the run says itself under this name is not said twice.
            if self.last.contains_key(name) && !self.from_event_files.contains(name) {
                continue;
            }
            self.from_event_files.insert(name.clone());
            events.extend(self.events(vec![found.report], None, found.at));
        }
        events
    }

    /// What was reported in a file of another node.
    pub(crate) fn remote(&mut self, node: &NodeName, at: Micros, bytes: &[u8]) -> Vec<Event> {
        let index = match self.remote.iter().position(|(known, _)| known == node) {
            Some(index) => index,
            None => {
                self.remote.push((node.clone(), Lines::default()));
                self.remote.len() - 1
            }
        };
        let mut found = Vec::new();
        self.remote[index]
            .1
            .push(bytes, |line| found.extend(parse_line(line)));
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
        for (_, lines) in &mut self.remote {
            lines.finish(|line| found.extend(parse_line(line)));
        }
        events.extend(self.events(found, None, at));
        for index in 0..self.streams.len() {
            let mut found = Vec::new();
            let (stream, patterns) = (&mut self.streams[index], &mut self.patterns);
            let worker = stream.worker;
            stream.lines.finish(|line| {
                seen(worker, line);
                patterns.listen(&mut stream.printed, stream.stream, line, &mut found);
            });
            events.extend(self.events(found, Some(worker), at));
        }
        events
    }

    /// What others found out about the run.
    pub(crate) fn told(&mut self, reports: Vec<Report>, at: Micros) -> Vec<Event> {
        self.events(reports, None, at)
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
        let long: u64 = self.streams.iter().map(|it| it.lines.dropped()).sum();
        if long > 0 {
            notices.push(RunNotice::LongLines {
                count: long,
                longest: Lines::LONGEST,
            });
        }
        for name in self.patterns.unmatched() {
            notices.push(RunNotice::PatternUnmatched { name });
        }
        if self.refused_names > 0 {
            notices.push(RunNotice::TooManyMetrics {
                left_out: self.refused_names,
                most: MOST_NAMES,
            });
        }
        notices.extend(self.event_files.notices());
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

/// One stream of one worker.
struct Listened {
    worker: WorkerId,
    stream: Stream,
    lines: Lines,
    printed: Printed,
}

impl Listened {
    fn new(worker: WorkerId, stream: Stream) -> Self {
        Self {
            worker,
            stream,
            lines: Lines::default(),
            printed: Printed::default(),
        }
    }
}

/// What is looked for in lines.
struct Patterns {
    asked: Vec<MetricPattern>,
    /// Which of them matched.
    matched: Vec<bool>,
    /// Whether the run reports in JSON: what it prints for people then says the
    /// same again.
    structured: bool,
}

impl Patterns {
    fn new(asked: Vec<MetricPattern>) -> Self {
        Self {
            matched: vec![false; asked.len()],
            asked,
            structured: false,
        }
    }

    /// JSON counts on stdout only, where jobs print results; patterns and what is
    /// printed for people count on both.
    fn listen(
        &mut self,
        printed: &mut Printed,
        stream: Stream,
        line: &[u8],
        found: &mut Vec<Report>,
    ) {
        let before = found.len();
        if stream == Stream::Out {
            found.extend(parse_line(line));
            self.structured |= found.len() > before;
        }
        if !self.structured {
            // What the user has a pattern for is the user's to say.
            let asked = |name: &str| self.asked.iter().any(|pattern| pattern.name() == name);
            let reports = printed.read(line).into_iter();
            found.extend(reports.filter(|report| !asked(&report.name)));
        }
        for (pattern, matched) in self.asked.iter().zip(&mut self.matched) {
            let reports = pattern.find(line);
            *matched |= !reports.is_empty();
            found.extend(reports);
        }
    }

    /// The names of patterns that matched nothing.
    fn unmatched(&self) -> Vec<String> {
        let pairs = self.asked.iter().zip(&self.matched);
        let unmatched = pairs.filter(|(_, matched)| !**matched);
        unmatched
            .map(|(pattern, _)| pattern.name().to_owned())
            .collect()
    }
}
