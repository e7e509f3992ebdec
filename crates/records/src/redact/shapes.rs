//! Secrets that are known by their form, wherever they stand in a text.

use super::REDACTED;
use super::names::{Secrecy, hides, secrecy};
use super::programs::Program;

/// How well-known kinds of token begin. Each must be followed by at least
/// [`TOKEN_BYTES`] letters, digits, `-`, `_` or dots, a digit among them.
const TOKEN_PREFIXES: [&str; 62] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "glptt-",
    "gldt-",
    "glrt-",
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "whsec_",
    "hf_",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "GOCSPX-",
    "eyJ",
    "npm_",
    "pypi-",
    "dop_v1_",
    "doo_v1_",
    "shpat_",
    "shpss_",
    "shpca_",
    "SG.",
    "key-",
    "dapi",
    "nvapi-",
    "r8_",
    "gsk_",
    "tskey-",
    "lin_api_",
    "hvs.",
    "hvb.",
    "glsa_",
    "glc_",
    "dp.pt.",
    "figd_",
    "ntn_",
    "sntrys_",
    "pul-",
    "rubygems_",
    "NRAK-",
    "xkeysib-",
    "sq0atp-",
    "sq0csp-",
    "EAAA",
    "ATATT3",
    "ATCTT3",
    "PMAK-",
];
const TOKEN_BYTES: usize = 16;

/// Hosts and paths below which an address is itself a secret.
const WEBHOOKS: [&str; 10] = [
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "hooks.slack.com/triggers/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "webhook.office.com/webhookb2/",
    "outlook.office.com/webhook/",
    "hooks.zapier.com/hooks/catch/",
    "api.telegram.org/bot",
    "maker.ifttt.com/trigger/",
];

/// Words after which a long word of random letters is a secret.
const KEY_WORDS: [&str; 8] = [
    "LOGIN", "KEY", "TOKEN", "SECRET", "PASSWORD", "APIKEY", "LICENSE", "BEARER",
];

/// The text without its secrets.
pub(super) fn redact(text: &str) -> String {
    if let Some(start) = text.find("-----BEGIN ")
        && text[start..].contains("PRIVATE KEY")
    {
        return format!("{}{REDACTED}", &text[..start]);
    }
    assignments(&addresses(text))
}

/// Replaces user and password of a URL, and all of one that is a secret itself.
fn addresses(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(|c: char| c.is_whitespace() || "\"'<>`".contains(c))
            .unwrap_or(after.len());
        let (address, tail) = after.split_at(end);
        let path = address.find(['/', '?', '#']).unwrap_or(address.len());
        let (authority, path) = address.split_at(path);
        match authority.rfind('@') {
            Some(i) => {
                out.push_str(REDACTED);
                out.push_str(&authority[i..]);
            }
            None => out.push_str(authority),
        }
        let whole = format!("{authority}{path}");
        match WEBHOOKS.iter().find_map(|hook| {
            let at = whole.find(hook)?;
            Some((at + hook.len()).saturating_sub(authority.len()))
        }) {
            Some(kept) if kept < path.len() && path.is_char_boundary(kept) => {
                out.push_str(&path[..kept]);
                out.push_str(REDACTED);
            }
            _ => out.push_str(path),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// A piece of a text: a word or what stands between words.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    /// What stands behind it, up to the next word.
    gap: &'a str,
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.+/%~@:".contains(c) || !c.is_ascii()
}

/// What a value may consist of, without quotes.
fn is_value_char(c: char) -> bool {
    !(c.is_whitespace() || ";&|,\"'<>(){}`".contains(c))
}

/// Replaces what is given to a name that says that it is secret, what a known
/// program takes, and tokens of known forms.
fn assignments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut program = Program::default();
    let mut before: [&str; 2] = ["", ""];
    let mut rest = text;
    while !rest.is_empty() {
        let start = rest.find(is_word_char).unwrap_or(rest.len());
        let gap = &rest[..start];
        if gap.contains([';', '|', '&', '\n']) {
            program.end();
        }
        out.push_str(gap);
        rest = &rest[start..];
        let end = rest.find(|c| !is_word_char(c)).unwrap_or(rest.len());
        let word = Word {
            text: &rest[..end],
            gap: &rest[end..],
        };
        if word.text.is_empty() {
            break;
        }
        if let Some(hidden) = program.next(word.text) {
            out.push_str(&hidden);
            rest = word.gap;
            continue;
        }
        if let Some((shown, left)) = given(word) {
            out.push_str(&shown);
            rest = left;
            before = ["", ""];
            continue;
        }
        out.push_str(&tokens(word.text, before));
        before = [before[1], word.text];
        rest = word.gap;
    }
    out
}

/// `name=value`, `name: value`, `--name value`, `Bearer value`, if the name says
/// that the value is a secret: what is shown for it, and what follows.
fn given<'a>(word: Word<'a>) -> Option<(String, &'a str)> {
    // A header's or a dictionary's name ends with a colon, which may be a part of
    // a word elsewhere.
    let (name, colon) = match word.text.strip_suffix(':') {
        Some(name) => (name, true),
        None => (word.text, false),
    };
    if !colon
        && let Some(at) = word.text.rfind([':', '/', '@'])
        && word.gap.starts_with('=')
    {
        // `host/path/name=value`: the name is what is nearest.
        let nearest = &word.text[at + 1..];
        let inner = Word {
            text: nearest,
            gap: word.gap,
        };
        let (shown, left) = given(inner)?;
        return Some((format!("{}{shown}", &word.text[..=at]), left));
    }
    let secrecy = secrecy(name.trim_matches(|c: char| "%+~".contains(c)));
    let separator_end = if colon {
        word.gap.len() - word.gap.trim_start_matches([' ', '\'', '"']).len()
    } else {
        let trimmed = word.gap.trim_start_matches(['"', '\'', ' ']);
        match trimmed.strip_prefix(['=', ':']) {
            Some(rest) => {
                let skipped = word.gap.len() - rest.len();
                skipped + (rest.len() - rest.trim_start_matches([' ', '"', '\'']).len())
            }
            None if name.starts_with('-') || name.eq_ignore_ascii_case("bearer") => {
                let spaces = word.gap.len() - word.gap.trim_start_matches([' ', '"', '\'']).len();
                (spaces > 0).then_some(spaces)?
            }
            None => return None,
        }
    };
    if secrecy == Secrecy::No {
        return None;
    }
    let (separator, value_on) = word.gap.split_at(separator_end);
    let header = name.eq_ignore_ascii_case("authorization")
        || name.to_ascii_lowercase().ends_with("-authorization");
    let value_end = match quote_of(separator) {
        Some(quote) => value_on.find(quote).unwrap_or(value_on.len()),
        // All of a header belongs to it: `Authorization: Bearer x`.
        None if header || name.eq_ignore_ascii_case("cookie") => value_on
            .find(['"', '\'', '\n', '`'])
            .unwrap_or(value_on.len()),
        None => value_on
            .find(|c| !is_value_char(c))
            .unwrap_or(value_on.len()),
    };
    let (value, left) = value_on.split_at(value_end);
    // An option without a value does not swallow the next one, and a variable
    // that is passed on is no secret.
    let is_next_option = value.starts_with('-') && !separator.contains(['=', ':']);
    let is_reference = value.starts_with('$') || value.starts_with("[redacted]");
    // `Token: a love story` is prose, `token: 4f1c…` is not.
    let is_prose = secrecy == Secrecy::UnlessPlain
        && (separator.ends_with(": ") || (colon && separator == " "))
        && value.len() < 8
        && value.bytes().all(|byte| byte.is_ascii_alphabetic());
    if value.is_empty() || is_prose || is_next_option || is_reference || !hides(secrecy, value) {
        return None;
    }
    Some((format!("{}{separator}{REDACTED}", word.text), left))
}

fn quote_of(separator: &str) -> Option<char> {
    separator.chars().next_back().filter(|c| "\"'".contains(*c))
}

/// Whether a word is random enough to be the secret that the word before it
/// announces.
pub(super) fn is_announced(before: &str, word: &str) -> bool {
    let before = before.trim_start_matches('-').to_ascii_uppercase();
    KEY_WORDS.contains(&before.as_str()) && is_random(word)
}

/// Replaces every run of token characters that has a token's form, or is random
/// enough behind a word that announces one.
fn tokens(text: &str, before: [&str; 2]) -> String {
    let is_token_char = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if before.iter().any(|before| is_announced(before, text)) {
        return REDACTED.to_owned();
    }
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
            rest.len() >= TOKEN_BYTES
                && rest.bytes().any(|b| b.is_ascii_digit())
                && rest.bytes().filter(|b| b"-.".contains(b)).count() * 6 <= rest.len()
        })
    })
}

/// A word of at least 20 letters and digits whose letters are spread as chance
/// spreads them: at least 3 bits each (hexadecimal digits have up to 4).
fn is_random(word: &str) -> bool {
    let bytes = word.as_bytes();
    if bytes.len() < 20 || !bytes.iter().any(u8::is_ascii_digit) || word.contains('/') {
        return false;
    }
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let total = bytes.len() as f64;
    let entropy: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum();
    entropy >= 3.0
}
