//! Secrets stay out of records.
//!
//! A record is made to be shared. What looks like a secret, by the name it is
//! given or by its own form, is replaced before anything is written. What the
//! command itself prints or reports is kept as it is.

use crate::manifest::Start;

/// What stands in a secret's place.
pub const REDACTED: &str = "[redacted]";

/// Words that mark a variable or an option as secret, in capitals, and whether
/// its value may be a plain number or switch all the same: `--max-tokens 512`
/// and `SORT_KEY=2` are settings, `PIN_PASSWORD=1234` is not.
const SECRET_WORDS: [(&str, Secrecy); 13] = [
    ("KEY", Secrecy::UnlessPlain),
    ("TOKEN", Secrecy::UnlessPlain),
    ("SECRET", Secrecy::Always),
    ("PASSWORD", Secrecy::Always),
    ("PASSWD", Secrecy::Always),
    ("PASSPHRASE", Secrecy::Always),
    ("PWD", Secrecy::Always),
    ("CREDENTIAL", Secrecy::Always),
    ("CREDENTIALS", Secrecy::Always),
    ("AUTH", Secrecy::UnlessPlain),
    ("AUTHORIZATION", Secrecy::Always),
    ("COOKIE", Secrecy::Always),
    ("PRIVATE", Secrecy::UnlessPlain),
];

/// What a name says about the value that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Secrecy {
    /// Nothing: it is a secret only if it looks like one.
    No,
    /// It is a secret unless it is a number or a switch.
    UnlessPlain,
    /// It is a secret.
    Always,
}

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

/// The value of a variable or option without its secrets: all of it is replaced
/// if the name says that it is secret.
///
/// The name is split into words at anything but letters and digits and where a
/// capital follows a small letter, so that `AWS_SECRET_ACCESS_KEY`, `--api-key`
/// and `dbPassword` are secret, and `KEYBOARD_LAYOUT` and `AUTHOR` are not.
#[must_use]
pub fn assigned(name: &str, text: &str) -> String {
    let hidden = match secrecy(name) {
        Secrecy::No => false,
        Secrecy::UnlessPlain => !is_plain(text),
        Secrecy::Always => !text.is_empty(),
    };
    if hidden {
        REDACTED.to_owned()
    } else {
        value(text)
    }
}

fn secrecy(name: &str) -> Secrecy {
    // The shell's working directories share a word with passwords.
    if matches!(name, "PWD" | "OLDPWD") {
        return Secrecy::No;
    }
    words(name)
        .flat_map(|word| {
            SECRET_WORDS.iter().filter(move |(secret, _)| {
                word == *secret
                    || word.strip_suffix('S') == Some(secret)
                    || is_compound(&word, secret)
            })
        })
        .map(|&(_, secrecy)| secrecy)
        .max()
        .unwrap_or(Secrecy::No)
}

/// Nothing, a switch, or a number too short to be a token.
fn is_plain(text: &str) -> bool {
    let switch = ["true", "false", "yes", "no", "on", "off"];
    text.is_empty()
        || switch.iter().any(|s| text.eq_ignore_ascii_case(s))
        || (text.len() <= 9 && text.parse::<f64>().is_ok())
}

/// `APIKEY`, `AUTHTOKEN`, `PGPASSWORD`: words written without a separator. Only
/// for words that do not end ordinary ones, as `monKEY` and `comPRIVATE` would.
fn is_compound(word: &str, secret: &str) -> bool {
    match secret {
        // `TOKENIZERS_PARALLELISM` is a setting of every second training script.
        "TOKEN" if word.contains("TOKENIZ") => false,
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
    // The option before, if it is secret and its value still to come.
    let mut option: Option<&str> = None;
    arguments
        .iter()
        .map(|argument| {
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
            value(argument)
        })
        .collect()
}

/// The start of a run without secrets.
pub(crate) fn start(mut start: Start) -> Start {
    start.argv = argv(&start.argv);
    for (name, text) in &mut start.env {
        *text = assigned(name, text);
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
    }
}
