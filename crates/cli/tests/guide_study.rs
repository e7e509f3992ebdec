//! The guide to studies is true: its files are sound and its commands print
//! what the page shows.
//!
//! All guides' commands are executed elsewhere. Here the output of the commands
//! in ```` ```console ```` fences is compared with the page as well, except
//! after ```` ```console varies ````.

use std::path::Path;
use std::process::{Command, Stdio};

const PAGE: &str = include_str!("../../../docs/guide/study.md");

struct Fence<'a> {
    info: &'a str,
    body: &'a str,
}

fn fences(page: &str) -> Vec<Fence<'_>> {
    let mut parts = page.split("\n```");
    parts.next();
    // Openings and closings alternate.
    let parts: Vec<&str> = parts.collect();
    assert!(parts.len().is_multiple_of(2), "every fence is closed");
    parts
        .chunks(2)
        .map(|pair| {
            let (info, body) = pair[0].split_once('\n').expect("a fence has a first line");
            Fence { info, body }
        })
        .collect()
}

/// What a shell prints in `dir`, with the tested binary as `paceline`.
fn shell(dir: &Path, line: &str) -> (bool, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_paceline"));
    let folder = program.parent().expect("a program lies in a folder");
    let script = format!("PATH='{}':\"$PATH\"; {{ {line}\n}} 2>&1", folder.display());
    #[expect(
        clippy::disallowed_methods,
        reason = "the page shows commands of a shell"
    )]
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .expect("a shell can be started");
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    (output.status.success(), text)
}

#[test]
fn every_command_of_the_guide_prints_what_the_page_shows() {
    let dir = tempfile::tempdir().unwrap();
    let mut commands = 0;
    for fence in fences(PAGE) {
        match fence.info.split_once(' ') {
            Some(("toml" | "sh", file)) => {
                std::fs::write(dir.path().join(file), fence.body).unwrap();
            }
            _ if fence.info.starts_with("console") => {
                for session in fence.body.split("$ ").filter(|part| !part.is_empty()) {
                    let (line, shown) = session.split_once('\n').unwrap_or((session, ""));
                    let (success, printed) = shell(dir.path(), line);
                    commands += 1;
                    if fence.info == "console varies" {
                        assert!(success, "{line}\n{printed}");
                    } else {
                        assert_eq!(printed.trim_end(), shown.trim_end(), "{line}");
                    }
                }
            }
            _ => {}
        }
    }
    assert!(commands > 5, "the page has commands");
}
