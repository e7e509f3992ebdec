//! Secrets stay out of records.
//!
//! A record is made to be shared. What looks like a secret, by the name it is
//! given or by its own form, is replaced before anything is written.

use crate::manifest::Start;

/// What stands in a secret's place.
pub const REDACTED: &str = "[redacted]";

/// Words that mark a variable or an option as secret, in capitals.
const SECRET_WORDS: [&str; 13] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
    "AUTHORIZATION",
    "COOKIE",
    "PRIVATE",
];

/// How well-known kinds of token begin. Each must be followed by at least
/// [`TOKEN_BYTES`] letters, digits, `-`, `_` or dots.
const TOKEN_PREFIXES: [&str; 18] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_live_",
    "sk_test_",
    "hf_",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "npm_",
];

const TOKEN_BYTES: usize = 16;

/// Whether the name of a variable or option says that its value is secret.
///
/// The name is split into words at anything but letters and digits and where a
/// capital follows a small letter, so that `AWS_SECRET_ACCESS_KEY`, `--api-key`
/// and `dbPassword` are secret, and `KEYBOARD_LAYOUT` and `AUTHOR` are not.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    // The shell's working directories share a word with passwords.
    if matches!(name, "PWD" | "OLDPWD") {
        return false;
    }
    words(name).any(|word| {
        SECRET_WORDS.iter().any(|secret| {
            word == *secret || word.strip_suffix('S') == Some(secret) || is_compound(&word, secret)
        })
    })
}

/// `APIKEY`, `AUTHTOKEN`, `PGPASSWORD`: words written without a separator. Only
/// for words that do not end ordinary ones, as `monKEY` and `comPRIVATE` would.
fn is_compound(word: &str, secret: &str) -> bool {
    match secret {
        "TOKEN" | "SECRET" | "PASSWORD" | "PASSWD" | "PASSPHRASE" | "CREDENTIAL"
        | "CREDENTIALS" => word.contains(secret),
        "KEY" => [
            "API", "ACCESS", "PRIVATE", "SSH", "SECRET", "AUTH", "SIGNING",
        ]
        .iter()
        .any(|before| {
            word.strip_suffix("KEY")
                .is_some_and(|w| w.ends_with(before))
        }),
        _ => false,
    }
}

fn words(name: &str) -> impl Iterator<Item = String> + '_ {
    let mut marked = String::with_capacity(name.len() + 8);
    let mut after_small = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && after_small {
            marked.push('_');
        }
        after_small = c.is_ascii_lowercase() || c.is_ascii_digit();
        marked.push(if c.is_ascii_alphanumeric() { c } else { '_' });
    }
    marked
        .split('_')
        .map(str::to_ascii_uppercase)
        .collect::<Vec<_>>()
        .into_iter()
}

/// The value with the secrets in it replaced: the user and password of a URL,
/// and tokens of well-known forms.
#[must_use]
pub fn value(text: &str) -> String {
    tokens(&userinfo(text))
}

/// The arguments of a command with the secrets in them replaced: those that
/// [`value`] finds, and the values of options whose names say so, as in
/// `--token=…`, `--password …`, `API_KEY=…` or `-H 'Authorization: …'`.
#[must_use]
pub fn argv(arguments: &[String]) -> Vec<String> {
    let mut value_is_secret = false;
    arguments
        .iter()
        .map(|argument| {
            if std::mem::take(&mut value_is_secret) && !argument.starts_with('-') {
                return REDACTED.to_owned();
            }
            if let Some((name, separator, _)) = split_assignment(argument)
                && is_secret_name(name)
            {
                return format!("{name}{separator}{REDACTED}");
            }
            value_is_secret = argument.starts_with("--") && is_secret_name(argument);
            value(argument)
        })
        .collect()
}

/// The start of a run without secrets.
pub(crate) fn start(mut start: Start) -> Start {
    start.argv = argv(&start.argv);
    for (name, text) in &mut start.env {
        *text = if is_secret_name(name) && !text.is_empty() {
            REDACTED.to_owned()
        } else {
            value(text)
        };
    }
    start
}

/// `name=value` or an HTTP header's `name: value`, if the name is one word.
fn split_assignment(argument: &str) -> Option<(&str, &str, &str)> {
    let end = argument.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)))?;
    let (name, rest) = argument.split_at(end);
    let separator = ["=", ": "].into_iter().find(|s| rest.starts_with(s))?;
    (!name.is_empty()).then(|| (name, separator, &rest[separator.len()..]))
}

/// Replaces what stands between `://` and `@` in the authority of a URL.
fn userinfo(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(|c: char| c.is_whitespace() || "/?#\"'<>".contains(c))
            .unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rfind('@') {
            Some(i) => {
                out.push_str(REDACTED);
                out.push_str(&authority[i..]);
            }
            None => out.push_str(authority),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Replaces every run of token characters that has a token's form.
fn tokens(text: &str) -> String {
    let is_token_char = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_token_char(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(if is_token(word) { REDACTED } else { word });
        let skip = after.find(is_token_char).unwrap_or(after.len());
        out.push_str(&after[..skip]);
        rest = &after[skip..];
    }
    out
}

fn is_token(word: &str) -> bool {
    TOKEN_PREFIXES.iter().any(|prefix| {
        word.strip_prefix(prefix).is_some_and(|rest| {
            // Words as long as a token but without a digit are names.
            rest.len() >= TOKEN_BYTES && rest.bytes().any(|b| b.is_ascii_digit())
        })
    })
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
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "PATH",
            "PWD",
            "OLDPWD",
            "KEYBOARD_LAYOUT",
            "AUTHOR",
            "MONKEY",
            "OMP_NUM_THREADS",
            "--batch-size",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
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
    }
}
