//! The page about one run: whole, harmless, readable.

use paceline_diagnose::{Node, diagnose};
use paceline_model::{Event, EventKind, Measure, Micros, NodeName, Readings, Sample, WorkerId};
use paceline_report::dossier::{Dossier, Origin, OwnCost, RecordPart, RunPart, Standing};
use paceline_report::trace::{NodeTrace, curves};
use paceline_report::workers::workers;

const HOSTILE: &str = "</script><script>alert('x')</script>";

fn samples(count: u64) -> Vec<Sample> {
    let sample = |i: u64| {
        let mut readings = Readings::default();
        readings.set(Measure::RunCpuUser, 0.9);
        readings.set(Measure::RunCpuSystem, 0.05);
        readings.set(Measure::RunMemRss, 1e8 + i as f64);
        Sample {
            at: Micros(i * 1_000_000),
            interval: Micros(1_000_000),
            gap: None,
            readings,
            parts: Vec::new(),
        }
    };
    (1..=count).map(sample).collect()
}

fn events(name: &str) -> Vec<Event> {
    let event = |at: u64, kind, name: &str, value| Event {
        at: Micros(at * 1_000_000),
        worker: Some(WorkerId(0)),
        kind,
        step: Some(at),
        name: name.to_owned(),
        value,
        text: None,
    };
    vec![
        event(0, EventKind::Phase, name, None),
        event(1, EventKind::Metric, name, Some(0.5)),
        event(2, EventKind::Metric, name, Some(0.25)),
    ]
}

/// A report on one run of `count` samples in which every name is `name`.
fn page(name: &str, count: u64) -> String {
    let (samples, events) = (samples(count), events(name));
    let node = NodeName::from_host("host");
    let cpus = Node {
        cpus: 2,
        memory_max_bytes: None,
    };
    let found = diagnose(&samples, &events, cpus);
    let record = RecordPart {
        processes: paceline_report::processes::of(&[], |_| None),
        nodes: vec![(node, found)],
        traces: vec![NodeTrace::of(name, 2, &samples, 1_000)],
        curves: curves(&events, 100),
        workers: workers(&events),
        course: None,
        straggler: None,
        marks: vec![(0.5, name.to_owned())],
    };
    let dossier = Dossier {
        title: name.to_owned(),
        lead: name.to_owned(),
        study: None,
        runs: vec![RunPart {
            name: name.to_owned(),
            levels: Vec::new(),
            responses: Vec::new(),
            results: vec![(name.to_owned(), 0.25)],
            standing: Standing::Done,
            outcome: "done".to_owned(),
            duration_s: Some(count as f64),
            noise: Some(name.to_owned()),
            record: Some(Ok(record)),
        }],
        left_out: 0,
        origin: Origin {
            source: name.to_owned(),
            made_by: "Paceline".to_owned(),
            made_at: "2026-11-16 02:00:00 UTC".to_owned(),
            facts: vec![("command".to_owned(), name.to_owned())],
            overhead: Some(OwnCost {
                cpu_s: 0.05,
                of_s: 10.0,
                mem_peak_bytes: None,
            }),
            notices: vec![name.to_owned()],
            ..Origin::default()
        },
    };
    dossier.html()
}

/// The markup without what the browser does not read as markup.
fn without_scripts(page: &str) -> String {
    let mut rest = page;
    let mut kept = String::new();
    while let Some(start) = rest.find("<script") {
        let end = rest[start..].find("</script>").expect("a script ends") + start;
        kept.push_str(&rest[..start]);
        rest = &rest[end + "</script>".len()..];
    }
    kept + rest
}

/// What a reader reads, a line per element.
fn text(page: &str) -> String {
    let body = &page[page.find("<body>").expect("there is a body")..];
    let mut text = String::new();
    for part in without_scripts(body).split('<').skip(1) {
        let (tag, words) = part.split_once('>').expect("a tag ends");
        let inline = ["code", "/code"].contains(&tag);
        if !inline && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(words.trim_matches('\n'));
    }
    text
}

#[test]
fn a_hostile_name_stays_a_name() {
    let page = page(HOSTILE, 5);
    assert_eq!(
        page.matches("<script").count(),
        2,
        "the data and the program"
    );
    assert_eq!(page.matches("</script").count(), 2);
    assert!(
        !without_scripts(&page).contains("alert('x')"),
        "escaped everywhere"
    );
    assert!(
        page.contains("script-src 'sha256-"),
        "only this page's program may run"
    );
    assert!(!page.contains("'unsafe-eval'"));
}

#[test]
fn a_page_loads_nothing() {
    let page = page("run", 5);
    assert!(page.contains("default-src 'none'"));
    let markup = without_scripts(&page);
    for outside in [
        "http:", "https:", "src=", "url(", "@import", "<link", "<iframe",
    ] {
        assert!(!markup.contains(outside), "{outside}");
    }
}

#[test]
fn a_day_of_samples_fits_a_page() {
    let page = page("run", 86_400);
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
}

#[test]
fn a_report_on_a_run_reads_from_the_summary_to_the_origin() {
    insta::assert_snapshot!(text(&page("lenet", 10)));
}
