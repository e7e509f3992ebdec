//! Secrets stay out of records.
//!
//! A record is made to be shared. What looks like a secret, by the name it is
//! given (`names`), by its own form (`shapes`) or by the program that takes it
//! (`programs`), is replaced before anything is written. What the command itself
//! prints or reports is kept as it is.
//!
//! This is a net, not a promise: a password that looks like a word, under a name
//! that says nothing, is kept. `oracle/secrets.json` is what it must catch and
//! what it must leave alone.

mod names;
mod programs;
mod shapes;

use crate::manifest::Start;
use names::{Secrecy, secrecy};
use programs::Program;

/// What stands in a secret's place.
pub const REDACTED: &str = "[redacted]";

/// The value of a variable or option without its secrets: all of it is replaced
/// if the name says that it is secret.
///
/// The name is split into words at anything but letters and digits and where a
/// capital follows a small letter, so that `AWS_SECRET_ACCESS_KEY`, `--api-key`
/// and `dbPassword` are secret, and `KEYBOARD_LAYOUT` and `AUTHOR` are not.
#[must_use]
pub fn assigned(name: &str, text: &str) -> String {
    if names::hides(secrecy(name), text) {
        REDACTED.to_owned()
    } else {
        value(text)
    }
}

/// The value with the secrets in it replaced: the user and password of a URL,
/// tokens of well-known forms, and what a secret's name is given to within it,
/// as in `Server=db;Password=…`, `?sig=…` or a whole command line.
#[must_use]
pub fn value(text: &str) -> String {
    shapes::redact(text)
}

/// The arguments of a command with the secrets in them replaced: those that
/// [`value`] finds, the values of options whose names say so, as in
/// `--token=…`, `--password …`, `API_KEY=…` or `-H 'Authorization: …'`, and those
/// that a known program takes without a name, as `mysql -pSECRET`.
#[must_use]
pub fn argv(arguments: &[String]) -> Vec<String> {
    let mut program = Program::default();
    // The option before, if it is secret and its value still to come.
    let mut option: Option<&str> = None;
    arguments
        .iter()
        .enumerate()
        .map(|(index, argument)| {
            let before = index.checked_sub(1).map(|last| arguments[last].as_str());
            if let Some(hidden) = program.next(argument) {
                option = None;
                return hidden;
            }
            if let Some(name) = option.take()
                && !argument.starts_with('-')
            {
                return assigned(name, argument);
            }
            if let Some((name, separator, text)) = split_assignment(argument) {
                return format!("{name}{separator}{}", assigned(name, text));
            }
            let is_secret = argument.starts_with('-') && secrecy(argument) != Secrecy::No;
            option = is_secret.then_some(argument);
            match before.is_some_and(|before| shapes::is_announced(before, argument)) {
                true => REDACTED.to_owned(),
                false => value(argument),
            }
        })
        .collect()
}

/// The start of a run without secrets; variables that the user wants to keep are
/// kept as they are.
pub(crate) fn start(mut start: Start) -> Start {
    start.argv = argv(&start.argv);
    for (name, text) in &mut start.env {
        if !start.keep_env.contains(name) {
            *text = assigned(name, text);
        }
    }
    start
}

/// Whether a variable's name fits a pattern in which `*` stands for anything.
#[must_use]
pub fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, rest)) => name.strip_prefix(before).is_some_and(|tail| {
            (0..=tail.len())
                .filter(|&at| tail.is_char_boundary(at))
                .any(|at| fits(rest, &tail[at..]))
        }),
    }
}

/// `name=value` or an HTTP header's `name: value`, if the name is one word.
fn split_assignment(argument: &str) -> Option<(&str, &str, &str)> {
    let end = argument.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)))?;
    let (name, rest) = argument.split_at(end);
    let separator = ["=", ": "].into_iter().find(|s| rest.starts_with(s))?;
    (!name.is_empty()).then(|| (name, separator, &rest[separator.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised() {
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "--api-key",
            "dbPassword",
            "PGPASSWORD",
            "OPENAI_APIKEY",
            "HTTP_COOKIE",
            "proxy_auth",
            "private_key",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "MYSQL_PWD",
            "SSH_AUTH_SOCK",
            "DB_PASS",
            "SMTP_PASS",
        ] {
            assert_eq!(assigned(name, "x1"), REDACTED, "{name}");
        }
        for name in [
            "PATH",
            "PWD",
            "OLDPWD",
            "KEYBOARD_LAYOUT",
            "AUTHOR",
            "MONKEY",
            "OMP_NUM_THREADS",
            "TOKENIZERS_PARALLELISM",
            "--tokenizer",
            "--batch-size",
            "BYPASS_CACHE",
            "COMPASS",
        ] {
            assert_eq!(assigned(name, "x1"), "x1", "{name}");
        }
    }

    #[test]
    fn a_number_is_a_setting_unless_it_is_a_password() {
        let check = |name, text, expected| assert_eq!(assigned(name, text), expected, "{name}");
        check("--max-tokens", "2048", "2048");
        check("sort_key", "-1.5e-3", "-1.5e-3");
        check("use_auth", "False", "False");
        check("API_KEY", "123456789012", REDACTED);
        check("PIN_PASSWORD", "1234", REDACTED);
        check("PASSWORD", "", "");
    }

    #[test]
    fn secrets_are_recognised_by_their_form() {
        let check = |text: &str, expected: &str| assert_eq!(value(text), expected);
        check(
            "https://user:pa%20ss@host:8080/a?b#c",
            "https://[redacted]@host:8080/a?b#c",
        );
        check(
            "a postgres://u:p@ss@db/x b redis://r",
            "a postgres://[redacted]@db/x b redis://r",
        );
        check("git@github.com:a/b", "git@github.com:a/b");
        check("x=ghp_0123456789abcdef0123,y", "x=[redacted],y");
        check("AKIAIOSFODNN7EXAMPLE1", "[redacted]");
        check(
            "sk-learn-model-without-digits",
            "sk-learn-model-without-digits",
        );
        check("sk-proj-0123456789abcdef", "[redacted]");
        check("日本 https://ü@ö/", "日本 https://[redacted]@ö/");
    }

    #[test]
    fn secrets_in_arguments_are_replaced_and_nothing_else() {
        let check = |arguments: &[&str], expected: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&a| a.to_owned()).collect();
            assert_eq!(argv(&arguments), expected);
        };
        check(
            &[
                "train.py",
                "--token=abc",
                "--password",
                "x",
                "--epochs",
                "3",
            ],
            &[
                "train.py",
                "--token=[redacted]",
                "--password",
                "[redacted]",
                "--epochs",
                "3",
            ],
        );
        check(
            &[
                "env",
                "API_KEY=abc",
                "curl",
                "-H",
                "Authorization: Bearer x",
            ],
            &[
                "env",
                "API_KEY=[redacted]",
                "curl",
                "-H",
                "Authorization: [redacted]",
            ],
        );
        // An option without a value does not swallow the next option.
        check(
            &["x", "--use-auth", "--lr", "0.1"],
            &["x", "--use-auth", "--lr", "0.1"],
        );
        check(
            &["sh", "-c", "mysql -u root -phunter2 db; echo done"],
            &["sh", "-c", "mysql -u root -p[redacted] db; echo done"],
        );
    }

    #[test]
    fn a_pattern_stands_for_any_name_that_fits() {
        for (pattern, name, expected) in [
            ("HOME", "HOME", true),
            ("HOME", "HOMEDIR", false),
            ("SLURM_*", "SLURM_JOB_ID", true),
            ("*_TOKEN*", "MY_TOKEN", true),
            ("*_TOKEN*", "TOKEN", false),
            ("*", "", true),
            ("a*b*c", "aXbYbc", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
