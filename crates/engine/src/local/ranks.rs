//! Commands of this machine that work together.

use crate::launch::Command;
use crate::rank::Endpoint;
use std::io;
use std::net::TcpListener;

/// Ports of this machine on which nobody listens, each another one.
///
/// They are not held: a program that asks for any port may be given one of them
/// before it is used. The system gives ports in turn, so that is rare.
///
/// # Errors
/// If the system has none left.
pub fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    // All are bound at the same time, so that none is given twice.
    let listeners: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind(("0.0.0.0", 0)))
        .collect::<io::Result<_>>()?;
    let ports = listeners.iter();
    ports
        .map(|listener| Ok(listener.local_addr()?.port()))
        .collect()
}

/// Tells commands with a rank who they are, ahead of what the user tells them.
pub(super) fn introduce(commands: &mut [Command]) -> io::Result<()> {
    let ranked = commands.iter().filter(|command| command.rank.is_some());
    let ports = free_ports(ranked.count())?;
    let jobs = commands.iter().filter_map(|command| command.rank);
    let mut jobs: Vec<u32> = jobs.map(|rank| rank.job).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let mut ports = ports.into_iter();
    for job in jobs {
        let mut members: Vec<&mut Command> = commands
            .iter_mut()
            .filter(|command| command.rank.is_some_and(|rank| rank.job == job))
            .collect();
        let endpoints: Vec<Endpoint> = ports
            .by_ref()
            .take(members.len())
            .map(|port| Endpoint {
                host: "127.0.0.1".to_owned(),
                port,
            })
            .collect();
        for command in &mut members {
            let Some(rank) = command.rank else { continue };
            let own = std::mem::take(&mut command.env);
            command.env = rank.variables(&endpoints);
            command.env.extend(own);
        }
    }
    Ok(())
}
