//! Programs that some tests talk to: installed where that needs no asking.
//!
//! Without one of them its tests say that they checked nothing. A machine where
//! tests run as root is a container of somebody's CI; there they are fetched
//! first. A developer's machine is left as it is.

use crate::shell;

/// A program, how it tells its version, Debian's package, and what for.
const COMPANIONS: [(&str, &str, &str, &str); 3] = [
    ("chromium", "--version", "chromium", "opens the report page"),
    ("ip", "-V", "iproute2", "makes hosts of network namespaces"),
    // Debian's has told its version since OpenSSH 9.2.
    (
        "/usr/sbin/sshd",
        "-V",
        "openssh-server",
        "is a host that the engine ssh reaches",
    ),
];

/// Installs what is missing, as root of a Debian; tells what stays missing.
pub(crate) fn invite() {
    let missing: Vec<_> = COMPANIONS
        .iter()
        .filter(|(program, version, ..)| !shell::answers(program, &[version]))
        .collect();
    if missing.is_empty() {
        return;
    }
    let is_root = shell::output("id", &["-u"]).is_ok_and(|user| user.trim() == "0");
    if is_root && shell::answers("apt-get", &["--version"]) {
        let packages: Vec<&str> = missing.iter().map(|(_, _, package, _)| *package).collect();
        // Bounded: a machine without a network must not wait for one.
        let bounds = [
            "--option=Acquire::Retries=1",
            "--option=Acquire::http::Timeout=20",
        ];
        let install = [
            &bounds[..],
            &["install", "--yes", "--no-install-recommends"],
            &packages,
        ]
        .concat();
        let done = shell::run("apt-get", &[&bounds[..], &["update"]].concat())
            .and_then(|()| shell::run("apt-get", &install));
        if let Err(error) = done {
            println!("{error:#}");
        }
    }
    for (program, version, package, purpose) in missing {
        if !shell::answers(program, &[version]) {
            println!("without {program} ({package}), which {purpose}, its tests check nothing");
        }
    }
}
