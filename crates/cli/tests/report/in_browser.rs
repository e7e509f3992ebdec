//! The page in a real browser. Without Chromium on the machine these tests say
//! so and check nothing; Debian has it in the package `chromium`.

use crate::browser::Browser;
use crate::support::run;
use crate::synthetic::{self, Recipe, SMALL};
use std::path::{Path, PathBuf};

#[expect(clippy::print_stdout, reason = "the benchmark prints it")]
fn made(dir: &Path, recipe: &Recipe) -> PathBuf {
    let study = synthetic::study(dir, recipe);
    #[expect(clippy::disallowed_methods, reason = "the benchmark prints it")]
    let start = std::time::Instant::now();
    let ran = run(dir, ["report", "made.study"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    println!("written in {:.1} s", start.elapsed().as_secs_f64());
    study.join("report.html")
}

/// The browser, or a word that there is none.
#[expect(clippy::print_stdout, reason = "a test that checks nothing says so")]
fn browser() -> Option<Browser> {
    let found = Browser::start();
    if found.is_none() {
        println!("not checked: no Chromium is installed (Debian: chromium)");
    }
    found
}

#[test]
fn the_page_opens_without_a_complaint_and_answers_mouse_and_keyboard() {
    let Some(mut browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let page = made(
        dir.path(),
        &Recipe {
            workers: 3,
            ..SMALL
        },
    );
    browser.open(&page);
    browser.js("document.getElementById('timeline').scrollIntoView()");
    browser.bring("#timeline svg.chart");

    let panels = browser.js("document.querySelectorAll('#timeline svg.chart').length");
    assert_eq!(panels, 4, "CPU, memory, disk, network");
    let read = "document.querySelector('#timeline .readout').textContent";
    assert_eq!(
        browser.js(read),
        "run machine ",
        "a key before the mouse comes"
    );
    let place = browser.js(
        "(() => { const box = document.querySelector('#timeline svg.chart').getBoundingClientRect(); \
         return [box.left + box.width / 2, box.top + box.height / 2]; })()",
    );
    let [x, y] = [0, 1].map(|i| place[i].as_f64().expect("a coordinate"));
    browser.hover(x, y);
    browser.drawn();
    let shown = browser.js(read);
    let shown = shown.as_str().expect("a text");
    assert!(
        shown.starts_with("run 1.") || shown.starts_with("run 2."),
        "{shown}"
    );
    assert!(
        shown.contains("of 4 CPUs") && shown.contains("train"),
        "{shown}"
    );

    // The keyboard reaches the same values, and says them aloud.
    browser.js("document.querySelector('#timeline .plot').focus()");
    browser.press("Home");
    browser.press("ArrowRight");
    let said = browser.js("document.querySelector('#timeline .status').textContent");
    assert!(
        said.as_str()
            .is_some_and(|said| said.contains("Memory run")),
        "{said}"
    );

    // Zooming in halves the stretch; the whole run comes back.
    let stretch = "(() => { const t = [...document.querySelectorAll('#timeline .plot > svg:last-of-type text.m')]\
         .map((e) => Number(e.textContent)); return t[t.length - 1] - t[0]; })()";
    let whole = browser.js(stretch).as_f64().expect("a number");
    browser.press("+");
    browser.press("+");
    let part = browser.js(stretch).as_f64().expect("a number");
    assert!(part < whole / 2.0, "{part} of {whole}");
    browser.press("0");
    assert_eq!(browser.js(stretch), whole);

    // The list filters, and a run's name selects it.
    browser.js(
        "(() => { const find = document.querySelector('#runlist input'); \
         find.value = 'batch_size=64 workers=2'; find.dispatchEvent(new Event('input')); })()",
    );
    let rows = browser.js("document.querySelectorAll('#runlist tbody tr').length");
    assert_eq!(rows, 3, "three replicates");
    browser.js("document.querySelector('#runlist tbody button').click()");
    let title = browser.js("document.querySelector('#timeline h3').textContent");
    assert!(
        title
            .as_str()
            .is_some_and(|t| t.contains("batch_size=64, workers=2")),
        "{title}"
    );

    browser.js("document.getElementById('curvechart').scrollIntoView()");
    browser.bring("#curvechart svg.chart");
    let curves = browser.js("document.querySelectorAll('#curvechart svg path.q').length");
    assert_eq!(curves, 23, "every run but the selected one is quiet");
    assert!(
        browser.complaints().is_empty(),
        "{:?}",
        browser.complaints()
    );
}

#[test]
fn everything_can_be_reached_and_is_named() {
    let Some(mut browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let page = made(dir.path(), &SMALL);
    browser.open(&page);
    for part in ["runlist", "timeline", "curvechart"] {
        browser.js(&format!(
            "document.getElementById('{part}').scrollIntoView()"
        ));
        browser.drawn();
    }
    let unnamed = browser.js(
        "[...document.querySelectorAll('svg[role=img]')].filter((e) => !e.querySelector('title')).length \
         + [...document.querySelectorAll('button')].filter((e) => !e.getAttribute('aria-label') && !e.textContent).length \
         + [...document.querySelectorAll('select,input')].filter((e) => !e.closest('label')).length \
         + [...document.querySelectorAll('table')].filter((e) => !e.querySelector('caption')).length",
    );
    assert_eq!(unnamed, 0);
    // Headings go down one level at a time.
    let jumps = browser.js(
        "(() => { const all = [...document.querySelectorAll('h1,h2,h3,h4')].map((e) => Number(e.tagName[1])); \
         return all.filter((level, i) => i > 0 && level > all[i - 1] + 1).length; })()",
    );
    assert_eq!(jumps, 0);
    let wider = browser.js("document.documentElement.scrollWidth > innerWidth");
    assert_eq!(wider, false, "nothing makes the page scroll sideways");
    let outside = browser.js("performance.getEntriesByType('resource').length");
    assert_eq!(outside, 0, "nothing was loaded");
}

/// Prints how long a report of a thousand runs takes to open; the time is
/// measured, not judged, since it is the machine's as much as the page's.
#[test]
#[ignore = "a benchmark: a thousand records take a minute to write"]
fn opening_a_report_of_a_thousand_runs() {
    let Some(mut browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let page = made(
        dir.path(),
        &Recipe {
            name: "a thousand runs",
            design: "[factors]\nbatch_size = [16, 32, 64, 128, 256]\nworkers = [1, 2, 3, 4]\n\
                     servers = [1, 2]\nrate = [1, 2, 3, 4, 5]\n[design]\nkind = \"full\"\n\
                     replicates = 5\n",
            samples: 60,
            ..SMALL
        },
    );
    let bytes = std::fs::metadata(&page).unwrap().len();
    println!("size: {:.2} MB", bytes as f64 / 1e6);
    let timing = "(() => { const t = performance.getEntriesByType('navigation')[0]; \
                  return [t.domInteractive, t.loadEventEnd]; })()";
    for _ in 0..5 {
        browser.open(&page);
        let times = browser.js(timing);
        let drawn = browser.js("performance.now()");
        println!(
            "readable after {} ms, loaded after {} ms, drawn after {drawn} ms",
            times[0], times[1]
        );
    }
    assert!(bytes < 5_000_000, "{bytes} bytes");
    assert!(
        browser.complaints().is_empty(),
        "{:?}",
        browser.complaints()
    );
}
