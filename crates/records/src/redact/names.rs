//! Names that say that something is secret.

/// Words that mark a variable or an option as secret, in capitals, and whether
/// its value may be a plain number, switch or path all the same: `--max-tokens
/// 512` and `SORT_KEY=2` are settings, `PIN_PASSWORD=1234` is not.
const SECRET_WORDS: [(&str, Secrecy); 24] = [
    ("KEY", Secrecy::UnlessPlain),
    ("TOKEN", Secrecy::UnlessPlain),
    ("SECRET", Secrecy::Always),
    ("PASS", Secrecy::UnlessPlain),
    ("PASSWORD", Secrecy::Always),
    ("PASSWD", Secrecy::Always),
    ("PASSPHRASE", Secrecy::Always),
    ("PASSCODE", Secrecy::Always),
    ("PWD", Secrecy::Always),
    ("CREDENTIAL", Secrecy::UnlessPlain),
    ("CREDENTIALS", Secrecy::UnlessPlain),
    ("CRED", Secrecy::UnlessPlain),
    ("CREDS", Secrecy::UnlessPlain),
    ("AUTH", Secrecy::UnlessPlain),
    ("AUTHORIZATION", Secrecy::Always),
    ("BEARER", Secrecy::UnlessPlain),
    ("COOKIE", Secrecy::Always),
    ("JWT", Secrecy::UnlessPlain),
    ("PRIVATE", Secrecy::UnlessPlain),
    ("SAS", Secrecy::UnlessPlain),
    ("SIG", Secrecy::UnlessPlain),
    ("SIGNATURE", Secrecy::UnlessPlain),
    ("WEBHOOK", Secrecy::UnlessPlain),
    ("PAT", Secrecy::UnlessPlain),
];

/// Words after which a name is that of something else: a file, a size, a name.
const HARMLESS_ENDS: [&str; 18] = [
    "FILE", "PATH", "DIR", "NAME", "LEN", "LENGTH", "SIZE", "COUNT", "TYPE", "ID", "URL", "HOST",
    "PORT", "MODE", "METHOD", "LIMIT", "RATE", "DIM",
];

/// What a name says about the value that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Secrecy {
    /// Nothing: it is a secret only if it looks like one.
    No,
    /// It is a secret unless it is a number, a switch, a word of a setting or a
    /// path.
    UnlessPlain,
    /// It is a secret.
    Always,
}

/// Whether a value is a secret under a name that says so much.
pub(super) fn hides(secrecy: Secrecy, text: &str) -> bool {
    match secrecy {
        Secrecy::No => false,
        Secrecy::UnlessPlain => !is_plain(text),
        Secrecy::Always => !text.is_empty(),
    }
}

pub(super) fn secrecy(name: &str) -> Secrecy {
    // The shell's working directories share a word with passwords.
    if matches!(name, "PWD" | "OLDPWD") {
        return Secrecy::No;
    }
    let words: Vec<String> = words(name).filter(|word| !word.is_empty()).collect();
    let found = words
        .iter()
        .flat_map(|word| {
            SECRET_WORDS.iter().filter(move |(secret, _)| {
                word == secret
                    || (secret.len() > 3 && word.strip_suffix('S') == Some(secret))
                    || (*secret == "KEY" && word == "KEYS")
                    || is_compound(word, secret)
            })
        })
        .map(|&(_, secrecy)| secrecy)
        .max()
        .unwrap_or(Secrecy::No);
    // `TOKEN_FILE` and `KEY_NAME` say where or which, not what.
    let ends_harmlessly = words.len() > 1
        && words
            .last()
            .is_some_and(|last| HARMLESS_ENDS.contains(&last.as_str()))
        && !words
            .iter()
            .any(|word| word == "WEBHOOK" || word == "ACCESS");
    match ends_harmlessly {
        true => Secrecy::No,
        false => found,
    }
}

/// Nothing, a switch, a setting's word, a path, or a number too short to be a
/// token.
fn is_plain(text: &str) -> bool {
    const SETTINGS: [&str; 16] = [
        "true", "false", "yes", "no", "on", "off", "none", "null", "auto", "default", "required",
        "optional", "basic", "digest", "enabled", "disabled",
    ];
    text.is_empty()
        || SETTINGS.iter().any(|s| text.eq_ignore_ascii_case(s))
        || (text.len() <= 9 && text.parse::<f64>().is_ok())
        || is_path(text)
}

/// A path of at least two names, none of which could be a token.
fn is_path(text: &str) -> bool {
    let rooted = ["/", "~/", "./", "../"].iter().any(|s| text.starts_with(s));
    let mut names = text.split('/').filter(|name| !name.is_empty());
    rooted
        && text.len() < 256
        && names.clone().count() >= 2
        && names.all(|name| {
            name.len() < 40
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"._-~".contains(&b))
        })
}

/// `APIKEY`, `AUTHTOKEN`, `PGPASSWORD`: words written without a separator. Only
/// for words that do not end ordinary ones, as `monKEY` and `comPRIVATE` would.
fn is_compound(word: &str, secret: &str) -> bool {
    let after = |befores: &[&str]| {
        befores.iter().any(|before| {
            word.strip_suffix(secret)
                .is_some_and(|start| start.ends_with(before))
        })
    };
    match secret {
        // `TOKENIZERS_PARALLELISM` is a setting of every second training script.
        "TOKEN" if word.contains("TOKENIZ") => false,
        "TOKEN" | "SECRET" | "PASSWORD" | "PASSWD" | "PASSPHRASE" | "CREDENTIAL"
        | "CREDENTIALS" => word.contains(secret),
        "KEY" => after(&[
            "API",
            "ACCESS",
            "ACCOUNT",
            "PRIVATE",
            "SSH",
            "SECRET",
            "AUTH",
            "SIGNING",
            "MASTER",
            "LICENSE",
            "ENCRYPTION",
        ]),
        "PASS" => after(&[
            "DB", "PG", "SSH", "SMTP", "IMAP", "FTP", "MYSQL", "SQL", "REDIS", "MAIL", "ROOT",
            "ADMIN", "USER", "SUDO", "LDAP", "KEYSTORE", "KEY",
        ]),
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
