//! Secrets that a known program takes without a name that says so.

use super::REDACTED;

/// How a program is given a secret.
enum Given {
    /// Right behind the option: `-pSECRET`.
    Attached(&'static str),
    /// As the next argument: `-a SECRET`.
    Next(&'static str),
    /// As the next argument, after a name: `-u name:SECRET`.
    NextAfter(&'static str, char),
}

const PROGRAMS: [(&[&str], &[Given]); 9] = [
    (
        &[
            "mysql",
            "mysqldump",
            "mysqladmin",
            "mysqlimport",
            "mariadb",
            "mariadb-dump",
            "mariadb-admin",
        ],
        &[Given::Attached("-p")],
    ),
    (&["sshpass"], &[Given::Attached("-p"), Given::Next("-p")]),
    (
        &["7z", "7za", "7zr", "rar", "unrar"],
        &[Given::Attached("-p")],
    ),
    (
        &[
            "mongo",
            "mongosh",
            "mongodump",
            "rabbitmqadmin",
            "docker",
            "podman",
            "helm",
            "oc",
        ],
        &[Given::Next("-p")],
    ),
    (&["redis-cli"], &[Given::Next("-a")]),
    (
        &["curl", "wget"],
        &[Given::NextAfter("-u", ':'), Given::NextAfter("--user", ':')],
    ),
    (
        &["ldapsearch", "ldapadd", "ldapmodify"],
        &[Given::Next("-w")],
    ),
    (&["smbclient"], &[Given::NextAfter("-U", '%')]),
    (&["openssl"], &[]),
];

/// The program whose arguments are being read, and what it waits for.
#[derive(Default)]
pub(super) struct Program {
    given: Option<&'static [Given]>,
    waits: Option<Option<char>>,
}

impl Program {
    /// Takes the next word of a command line; gives it without its secret if it
    /// holds one that only the program's habits tell.
    pub(super) fn next(&mut self, word: &str) -> Option<String> {
        if let Some(after) = self.waits.take() {
            return hide_after(word, after);
        }
        let name = word.rsplit('/').next().unwrap_or(word);
        if let Some((_, given)) = PROGRAMS.iter().find(|(names, _)| names.contains(&name)) {
            self.given = Some(given);
            return None;
        }
        // `pass:SECRET` is how openssl takes a password on a command line.
        if let Some(rest) = word.strip_prefix("pass:")
            && !rest.is_empty()
        {
            return Some(format!("pass:{REDACTED}"));
        }
        for given in self.given? {
            match given {
                Given::Attached(option) => {
                    let rest = word.strip_prefix(option).filter(|rest| !rest.is_empty());
                    if rest.is_some() {
                        return Some(format!("{option}{REDACTED}"));
                    }
                }
                Given::Next(option) if word == *option => self.waits = Some(None),
                Given::NextAfter(option, separator) if word == *option => {
                    self.waits = Some(Some(*separator));
                }
                Given::Next(_) | Given::NextAfter(..) => {}
            }
        }
        None
    }

    /// A shell's separator: what follows is another command.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }
}

fn hide_after(word: &str, after: Option<char>) -> Option<String> {
    match after {
        None if word.starts_with('-') => None,
        None => Some(REDACTED.to_owned()),
        Some(separator) => {
            let (name, secret) = word.split_once(separator)?;
            (!secret.is_empty()).then(|| format!("{name}{separator}{REDACTED}"))
        }
    }
}
