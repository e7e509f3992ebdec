//! A headless Chromium, spoken to by the DevTools protocol over its pipe.

use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Where distributions put the browser.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    messages: u64,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts the browser; nothing if there is none on this machine.
    pub(crate) fn start() -> Option<Self> {
        let name = NAMES
            .iter()
            .find(|name| crate::support::succeeds("which", &[name]))?;
        let profile = tempfile::tempdir().expect("a directory can be made");
        // The protocol uses descriptors 3 and 4; the shell puts the pipes there.
        let script = r#"exec "$0" --headless --no-sandbox --disable-gpu --no-first-run \
            --disable-dev-shm-usage --remote-debugging-pipe --user-data-dir="$1" \
            3<&0 4>&1 </dev/null >/dev/null 2>&1"#;
        #[expect(clippy::disallowed_methods, reason = "tests start a real browser")]
        let mut child = Command::new("sh")
            .args(["-c", script, name])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh can be started");
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let mut browser = Self {
            child,
            to,
            from,
            session: None,
            messages: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let page = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = browser.ask(
            "Target.attachToTarget",
            json!({ "targetId": page["targetId"], "flatten": true }),
        );
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.ask(domain, json!({}));
        }
        Some(browser)
    }

    /// Sends a command and gives its result.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.messages += 1;
        let id = self.messages;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut text = message.to_string().into_bytes();
        text.push(0);
        let to = self.to.as_mut().expect("the browser runs");
        to.write_all(&text).expect("the browser listens");
        loop {
            let answer = self.next();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self) -> Value {
        let mut text = Vec::new();
        let mut byte = [0];
        loop {
            self.from
                .read_exact(&mut byte)
                .expect("the browser answers");
            if byte[0] == 0 {
                break;
            }
            text.push(byte[0]);
        }
        serde_json::from_slice(&text).expect("the browser speaks JSON")
    }

    /// Opens a file and waits until it is loaded and drawn.
    pub(crate) fn open(&mut self, page: &Path) {
        self.visit(&format!("file://{}", page.display()));
    }

    /// Opens an address and waits until it is loaded and drawn.
    pub(crate) fn visit(&mut self, url: &str) {
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": url }));
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let event = self.next();
            self.events.push(event);
        }
        self.drawn();
    }

    /// Waits until what was asked for has been drawn.
    pub(crate) fn drawn(&mut self) {
        self.js("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))");
    }

    /// Scrolls an element into the middle of the window, once it is there.
    pub(crate) fn bring(&mut self, selector: &str) {
        // The page draws its parts when they come near the screen, which moves
        // what lies below; a hundred frames are enough for all of them.
        for _ in 0..100 {
            let found = self.js(&format!(
                "(() => {{ const e = document.querySelector({selector:?}); \
                 if (e) e.scrollIntoView({{ block: 'center' }}); return !!e; }})()"
            ));
            self.drawn();
            let within = self.js(&format!(
                "(() => {{ const e = document.querySelector({selector:?}); if (!e) return false; \
                 const box = e.getBoundingClientRect(); \
                 return box.top >= 0 && box.bottom <= innerHeight; }})()"
            ));
            if found == true && within == true {
                return;
            }
        }
        panic!("{selector} never came into view");
    }

    /// The value of an expression in the page.
    pub(crate) fn js(&mut self, expression: &str) -> Value {
        let found = self.ask(
            "Runtime.evaluate",
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        );
        assert!(found.get("exceptionDetails").is_none(), "{found}");
        found["result"]["value"].clone()
    }

    /// Moves the mouse to a place in the window.
    pub(crate) fn hover(&mut self, x: f64, y: f64) {
        let event = json!({ "type": "mouseMoved", "x": x, "y": y });
        self.ask("Input.dispatchMouseEvent", event);
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.ask(
                "Input.dispatchKeyEvent",
                json!({ "type": kind, "key": key }),
            );
        }
    }

    /// What the page complained of since it was opened.
    pub(crate) fn complaints(&self) -> Vec<&Value> {
        let loud = |event: &&Value| {
            matches!(
                event["method"].as_str(),
                Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded")
            )
        };
        self.events.iter().filter(loud).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends when its pipe does, and takes its own processes along.
        drop(self.to.take());
        let _ = self.child.wait();
    }
}
