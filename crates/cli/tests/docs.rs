//! The guides and the README say only what works: their commands are executed.
//!
//! In a block that opens with ` ```console `, each line that begins with
//! `$ paceline` is a command. A page's commands run in one new directory, in
//! order, and must exit with 0; ` ```console exit=7 ` says what the block's last
//! command gives instead. A block such as ` ```python train.py ` is a file that
//! later commands may use. Output is shown for people and not compared: times
//! differ.
//!
//! A page that begins with `<!-- needs: PACKAGE… -->` runs where Python has these
//! packages. They are large, so that such pages are tested on demand alone:
//! `cargo nextest run -p paceline --test docs --run-ignored only`.

mod support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use support::Ran;

/// One block of a page, with the line it opens on.
struct Block {
    line: usize,
    /// What follows the opening fence.
    info: String,
    lines: Vec<String>,
}

impl Block {
    fn language(&self) -> &str {
        self.info.split_whitespace().next().unwrap_or("")
    }

    /// The name of the file that the block is.
    fn file(&self) -> Option<&str> {
        let name = self.info.split_whitespace().nth(1);
        name.filter(|name| !matches!(self.language(), "console" | "text") && name.contains('.'))
    }

    fn exit(&self) -> Option<i32> {
        let mut words = self.info.split_whitespace();
        let code = words.find_map(|word| word.strip_prefix("exit="))?;
        Some(code.parse().expect("exit= is followed by a number"))
    }

    /// The commands, each with the code it must give.
    fn commands(&self) -> Vec<(String, i32)> {
        let mut commands: Vec<(String, i32)> = Vec::new();
        let mut goes_on = false;
        for line in &self.lines {
            if goes_on {
                let (command, _) = commands.last_mut().expect("a line before goes on");
                write!(command, "\n{line}").expect("a string can be written to");
            } else if let Some(command) = line.strip_prefix("$ ") {
                commands.push((command.to_owned(), 0));
            } else {
                continue;
            }
            goes_on = line.ends_with('\\');
        }
        if let (Some(exit), Some((_, code))) = (self.exit(), commands.last_mut()) {
            *code = exit;
        }
        commands.retain(|(command, _)| command.starts_with("paceline"));
        commands
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (i, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                open = Some(Block {
                    line: i + 1,
                    info: info.to_owned(),
                    lines: Vec::new(),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "the last block is not closed");
    blocks
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Python packages that a page's commands need.
fn needs(text: &str) -> Option<Vec<&str>> {
    let (packages, _) = text.strip_prefix("<!-- needs: ")?.split_once(" -->")?;
    Some(packages.split_whitespace().collect())
}

/// Executes a page; gives what went wrong and how many commands it has.
fn execute(page: &Path) -> (Vec<String>, usize) {
    execute_with(page, None)
}

/// As [`execute`], with the programs of another folder first.
fn execute_with(page: &Path, programs: Option<&Path>) -> (Vec<String>, usize) {
    let text = std::fs::read_to_string(page).expect("the page can be read");
    let dir = tempfile::tempdir().expect("a directory can be made");
    let bin = dir.path().join(".bin");
    std::fs::create_dir(&bin).expect("a directory can be made");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_paceline"), bin.join("paceline"))
        .expect("a link can be made");
    // Pages may use the tables that ship with the sources.
    std::os::unix::fs::symlink(root().join("crates"), dir.path().join("crates"))
        .expect("a link can be made");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for block in blocks(&text) {
        if let Some(name) = block.file() {
            std::fs::write(dir.path().join(name), block.lines.join("\n") + "\n")
                .expect("a file can be written");
        }
        if block.language() != "console" {
            continue;
        }
        for (command, code) in block.commands() {
            count += 1;
            let path = match programs {
                Some(programs) => format!("{}:{}", bin.display(), programs.display()),
                None => bin.display().to_string(),
            };
            let ran = sh(dir.path(), &path, &command);
            if ran.code != Some(code) {
                wrong.push(format!(
                    "{}:{}: `{command}` gave {:?} and not {code}\n{}",
                    page.display(),
                    block.line,
                    ran.code,
                    ran.err
                ));
            }
        }
    }
    (wrong, count)
}

#[expect(clippy::disallowed_methods, reason = "tests run what readers would")]
fn sh(dir: &Path, programs: &str, command: &str) -> Ran {
    let inherited = std::env::var("PATH").unwrap_or_default();
    let output = std::process::Command::new("sh")
        .args(["-c", command])
        .current_dir(dir)
        .env("PATH", format!("{programs}:{inherited}"))
        .env("PYTHONPATH", root().join("python"))
        .env(
            "PACELINE_CACHE",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/data"),
        )
        .stdin(std::process::Stdio::null())
        .output()
        .expect("sh can be started");
    Ran::from(output)
}

#[test]
fn every_command_of_the_readme_and_the_guides_works() {
    let mut pages = vec![root().join("README.md")];
    let guides = std::fs::read_dir(root().join("docs/guide")).expect("there are guides");
    pages.extend(guides.map(|entry| entry.unwrap().path()));
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    let (mut wrong, mut silent) = (Vec::new(), Vec::new());
    pages.retain(|page| {
        let text = std::fs::read_to_string(page).expect("the page can be read");
        needs(&text).is_none()
    });
    for page in &pages {
        let (of_page, count) = execute(page);
        wrong.extend(of_page);
        silent.extend((count == 0).then(|| page.file_name()).flatten());
    }
    // A page may have a stricter test of its own and other fences.
    assert!(silent.len() < pages.len() && !silent.contains(&"README.md".as_ref()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "installs scikit-learn, XGBoost, LightGBM and PyTorch: gigabytes"]
fn every_command_of_the_guides_to_frameworks_works() {
    let guides = std::fs::read_dir(root().join("docs/guide")).expect("there are guides");
    let (mut wrong, mut executed) = (Vec::new(), 0);
    for entry in guides {
        let page = entry.unwrap().path();
        let text = std::fs::read_to_string(&page).expect("the page can be read");
        let Some(packages) = needs(&text) else {
            continue;
        };
        let venv = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("guides")
            .join(page.file_stem().expect("a page has a name"));
        let made = format!(
            "test -d {0} || python3 -m venv {0}; {0}/bin/pip install --quiet {1}",
            venv.display(),
            packages.join(" ")
        );
        let ran = sh(&root(), "", &made);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let (of_page, count) = execute_with(&page, Some(&venv.join("bin")));
        println!("{}: {count} commands", page.display());
        wrong.extend(of_page);
        executed += count;
    }
    assert!(executed > 0 && wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_page_that_promises_another_exit_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.md");
    let check = |text: &str, expected: (usize, usize)| {
        std::fs::write(&page, text).unwrap();
        let (wrong, count) = execute(&page);
        assert_eq!((wrong.len(), count), expected, "{wrong:?}");
    };
    check(
        "```console\n$ paceline --version\npaceline 1\n```\n",
        (0, 1),
    );
    check("```console exit=3\n$ paceline --version\n```\n", (1, 1));
    check("```console\n$ paceline nonsense\n```\n", (1, 1));
    check(
        "```console exit=2\n$ paceline \\\n    nonsense\n```\n",
        (0, 1),
    );
    check("```text\n$ paceline nonsense\n```\n", (0, 0));
    check(
        "```sh a.sh\nexit 0\n```\n```console\n$ paceline run -q -- sh a.sh\n```\n",
        (0, 1),
    );
}
