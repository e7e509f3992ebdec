//! `serve`, `submit`, `jobs`, `cancel`, `explain`: jobs with deadlines are admitted,
//! run once, and held against what was promised, wherever the server is killed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "report/browser.rs"]
#[expect(dead_code, reason = "the report's tests use more of it")]
mod browser;
mod support;

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;
use support::{paceline, run, signal};

const STUDY: &str = r#"
name = "a law with a little scatter"
[job]
command = ["sh", "train.sh", "{batch_size}", "{seed}"]
[factors]
batch_size = [64, 96, 128, 160, 192, 256]
[design]
kind = "full"
replicates = 2
[responses]
accuracy = "accuracy"
"#;

const COMMAND: &str = r#"
echo "$1" >> count
while test -e hold; do sleep 0.05; done
awk -v batch="$1" -v seed="$2" 'BEGIN {
    srand(seed)
    printf "{\"epoch\": 1, \"accuracy\": %.4f}\n", 0.97 - 0.0002 * batch + 0.002 * (rand() - 0.5)
}'
"#;

fn study(dir: &Path) {
    fs::write(dir.join("s.toml"), STUDY).unwrap();
    fs::write(dir.join("train.sh"), COMMAND).unwrap();
    let ran = run(dir, ["study", "run", "s.toml", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

fn count(dir: &Path) -> usize {
    fs::read_to_string(dir.join("count"))
        .unwrap()
        .lines()
        .count()
}

/// A server, ended when dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(dir: &Path) -> Self {
        let mut child = paceline(dir, ["serve", "."])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut url)
            .unwrap();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self {
            child,
            url: url.trim().to_owned(),
        }
    }

    fn place(&self) -> &str {
        self.url["http://".len()..].split('/').next().unwrap()
    }

    fn token(&self) -> &str {
        self.url.split("token=").nth(1).unwrap()
    }

    /// Status, head and body of the answer.
    fn ask(&self, request: &str, headers: &str, body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.place()).unwrap();
        let text = format!(
            "{request} HTTP/1.0\r\nHost: {}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.place(),
            body.len()
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }

    fn bearer(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.token())
    }

    fn kill(mut self) {
        signal(self.child.id(), "KILL");
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that was killed already has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn jobs(dir: &Path) -> Value {
    let ran = run(dir, ["jobs", "--format=json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// Waits until `done` holds; two minutes are for ever.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what} did not come within two minutes");
}

fn submit(dir: &Path, more: &[&str]) -> support::Ran {
    run(
        dir,
        [
            &["submit", "s.study", "--deadline=10m", "--format=json"],
            more,
        ]
        .concat(),
    )
}

fn settled(dir: &Path) -> bool {
    let text = fs::read_to_string(dir.join("queue/queue.jsonl")).unwrap_or_default();
    text.contains("\"kind\":\"settled\"")
}

#[test]
fn a_job_is_accepted_with_a_promise_run_and_held_against_what_came() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    study(at);
    // Without a server nobody takes a job, and nothing is written.
    submit(at, &[]).fails(3, "nobody serves");
    run(at, ["jobs"]).fails(2, "no queue");
    let server = Server::start(at);
    run(at, ["serve", "."]).fails(2, "another process is writing");

    let ran = submit(at, &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    // The best accuracy, since every batch keeps ten minutes.
    assert_eq!(said["id"], "j0001", "{said}");
    assert!(
        said["title"].as_str().unwrap().contains("batch_size=64"),
        "{said}"
    );
    assert!(said["probability"].as_f64().unwrap() >= 0.95, "{said}");
    // What everybody sees is made once a second.
    until("the end of the job", || {
        settled(at) && jobs(at)["jobs"][0]["promise"] == "kept"
    });
    assert_eq!(count(at), 13);
    let seen = jobs(at);
    assert_eq!(
        (&seen["jobs"][0]["state"], &seen["jobs"][0]["promise"]),
        (&"done".into(), &"kept".into())
    );
    assert_eq!(seen["promises"]["kept"], 1);
    // It is one of the study's runs, and its promise is in the study's ledger.
    let promises = run(at, ["promises", "s.study", "--format=json"]);
    let promises: Value = serde_json::from_str(&promises.out).unwrap();
    assert_eq!(promises["kept"], 1, "{promises:#}");
    let status = run(at, ["study", "status", "s.study"]);
    assert!(status.out.contains("13 of 13 runs done"), "{}", status.out);
    let explained = run(at, ["explain", "j0001"]);
    assert!(explained.out.contains("promise: kept"), "{}", explained.out);

    // What cannot be kept is refused, with what could be.
    let refused = run(at, ["submit", "s.study", "--deadline=1ms", "--format=json"]);
    assert_eq!(refused.code, Some(1), "{}{}", refused.out, refused.err);
    let said: Value = serde_json::from_str(&refused.out).unwrap();
    assert!(
        said["nearest_deadline_s"].as_f64().unwrap() > 0.001,
        "{said}"
    );
    // What means nothing, or is not known, is an error with a reason.
    run(at, ["submit", "s.study"]).fails(2, "no deadline");
    run(at, ["submit", "s.study", "--deadline=0s"]).fails(2, "");
    submit(at, &["--given=batch_size=huge"]).fails(2, "");
    submit(at, &["--confidence=2"]).fails(2, "confidence");
    run(at, ["submit", "--deadline=1m", "--", "true"]).fails(2, "nothing is known of `true`");
    run(at, ["explain", "j0009"]).fails(2, "no job");
    run(at, ["cancel", "j0009"]).fails(2, "no job");
    run(at, ["cancel", "../x"]).fails(2, "no job's name");
    assert_eq!(jobs(at)["jobs"].as_array().unwrap().len(), 1);
    // A first measurement promises nothing.
    let learned = run(at, ["submit", "--learn", "--", "true"]);
    assert_eq!(learned.code, Some(0), "{}", learned.err);
    assert!(learned.out.contains("promised: nothing"), "{}", learned.out);
    until("the measurement", || jobs(at)["jobs"][1]["state"] == "done");
    drop(server);
    // Whoever only looks needs no server.
    assert_eq!(jobs(at)["promises"]["kept"], 1);
}

#[test]
fn a_killed_server_loses_no_job_and_starts_none_twice() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    study(at);
    fs::write(at.join("hold"), "").unwrap();
    let server = Server::start(at);
    assert_eq!(submit(at, &[]).code, Some(0));
    until("the start of the job", || count(at) == 13);
    server.kill();
    // The job goes on; another server finds it.
    let server = Server::start(at);
    until("the job", || jobs(at)["jobs"][0]["state"] == "running");
    fs::remove_file(at.join("hold")).unwrap();
    until("the end of the job", || settled(at));
    assert_eq!(count(at), 13);
    server.kill();
    // As a kill after any of its writes leaves the journal: the next server ends where
    // this one did, and nothing is run again.
    let journal = at.join("queue/queue.jsonl");
    let whole = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    for written in 1..=lines.len() {
        let half = lines
            .get(written)
            .map_or("", |next| &next[..next.len() / 2]);
        fs::write(&journal, lines[..written].concat() + half).unwrap();
        let server = Server::start(at);
        // A line that is half written may have the word already.
        until("the same end", || jobs(at)["jobs"][0]["promise"] == "kept");
        let seen = jobs(at);
        assert_eq!(seen["jobs"].as_array().unwrap().len(), 1, "{written}");
        assert_eq!(seen["jobs"][0]["promise"], "kept", "{written}");
        assert_eq!(count(at), 13, "after {written} of {} lines", lines.len());
        server.kill();
    }
    let ledger = fs::read_to_string(at.join("s.study/promises.jsonl")).unwrap();
    assert_eq!(ledger.lines().count(), 2, "{ledger}");
}

#[test]
fn a_cancelled_job_ends_and_is_not_begun_again() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    study(at);
    fs::write(at.join("hold"), "").unwrap();
    let server = Server::start(at);
    assert_eq!(submit(at, &[]).code, Some(0));
    until("the start of the job", || count(at) == 13);
    let cancelled = run(at, ["cancel", "j0001"]);
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.err);
    assert_eq!(jobs(at)["jobs"][0]["state"], "cancelled");
    let journal = at.join("queue/jobs/j0001/study/journal.jsonl");
    until("its processes' end", || {
        fs::read_to_string(&journal)
            .unwrap_or_default()
            .contains("abandoned")
    });
    server.kill();
    let _server = Server::start(at);
    assert_eq!(jobs(at)["jobs"][0]["state"], "cancelled");
    assert_eq!(count(at), 13);
}

#[test]
fn nobody_without_the_token_sees_anything_and_who_watches_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let server = Server::start(at);
    let described: Value = {
        let (status, _, body) = server.ask("GET /openapi.json", &server.bearer(), "");
        assert_eq!(status, 200);
        serde_json::from_str(&body).unwrap()
    };
    let cookie = format!(
        "Cookie: paceline-{}={}\r\n",
        server.place().rsplit(':').next().unwrap(),
        server.token()
    );
    for (path, methods) in described["paths"].as_object().unwrap() {
        let real = path.replace("{id}", "j0001");
        for method in methods.as_object().unwrap().keys() {
            let request = format!("{} {real}", method.to_uppercase());
            let (status, head, body) = server.ask(&request, "", "");
            assert_eq!(status, 401, "{request}: {body}");
            assert!(
                head.contains("no-store") && head.contains("default-src 'none'"),
                "{head}"
            );
            let (status, ..) = server.ask(&request, &server.bearer(), "");
            assert!(
                !matches!(status, 401 | 403 | 405 | 500..),
                "{request}: {status}"
            );
            if method != "get" {
                assert_eq!(server.ask(&request, &cookie, "{}").0, 401, "{request}");
            } else {
                assert_ne!(server.ask(&request, &cookie, "").0, 401, "{request}");
            }
        }
    }
    // The token in the address becomes a cookie that no script reads, and goes away.
    let (status, head, _) = server.ask(&format!("GET /?token={}", server.token()), "", "");
    assert_eq!(status, 303, "{head}");
    let head = head.to_lowercase();
    assert!(
        head.contains("httponly; samesite=strict") && !head.contains("location: /?"),
        "{head}"
    );
    // Another site, and a name that was made to point here.
    let origin = format!("{}Origin: http://evil.example\r\n", server.bearer());
    assert_eq!(server.ask("POST /api/jobs", &origin, "{}").0, 403);
    let json = format!("{}Content-Type: application/json\r\n", server.bearer());
    assert_eq!(server.ask("POST /api/jobs", &json, "{").0, 400);
    for path in ["/view?path=..", "/view?path=/etc", "/view?path=nothing"] {
        assert_eq!(
            server.ask(&format!("GET {path}"), &server.bearer(), "").0,
            404,
            "{path}"
        );
    }
    let (_, _, metrics) = server.ask("GET /metrics", &server.bearer(), "");
    assert!(
        metrics.contains("paceline_jobs{state=\"running\"} 0"),
        "{metrics}"
    );
    let secret = fs::metadata(at.join("queue/server.json")).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&secret) & 0o077, 0);
    run(at, ["serve", ".", "--bind=0.0.0.0"]).fails(2, "TLS");
}

#[test]
fn the_page_shows_jobs_and_studies_in_a_browser_as_they_go() {
    let Some(mut browser) = browser::Browser::start() else {
        paceline_testkit::skipped("no Chromium: the live page is not looked at");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    study(at);
    fs::write(at.join("hold"), "").unwrap();
    let server = Server::start(at);
    browser.visit(&server.url);
    let words = "document.body.innerText";
    until("the study", || {
        browser.js(words).as_str().unwrap().contains("s.study")
    });
    assert_eq!(
        browser.js("location.search"),
        "",
        "the token is gone from the address"
    );
    assert_eq!(
        browser.js("document.cookie"),
        "",
        "no script reads the cookie"
    );
    assert_eq!(submit(at, &[]).code, Some(0));
    until("the job on the page", || {
        browser.js(words).as_str().unwrap().contains("1 jobs run")
    });
    fs::remove_file(at.join("hold")).unwrap();
    until("the kept promise", || {
        browser.js(words).as_str().unwrap().contains("1 of 1 kept")
    });
    // For a screen reader: one heading of the first order, headers in every table, a
    // live region; for the keyboard: every link can be reached.
    assert_eq!(browser.js("document.querySelectorAll('h1').length"), 1);
    assert_eq!(browser.js("[...document.querySelectorAll('table')].every((t) => t.caption && t.querySelector('th[scope=col]'))"), true);
    assert_eq!(
        browser.js("document.querySelector('[role=status]').getAttribute('aria-live')"),
        "polite"
    );
    assert_eq!(
        browser.js("[...document.querySelectorAll('a, summary')].every((e) => e.tabIndex >= 0)"),
        true
    );
    // The study's page is the report's.
    browser.js("location.href = document.querySelector('#studies a').href");
    until("the study's page", || {
        browser
            .js("document.title")
            .as_str()
            .unwrap_or("")
            .contains("a law with a little scatter")
    });
}
