//! Slurm: a controller on the head, one `slurmd` per node, munge for all.

use super::ledger::{Ledger, Made};
use super::{Wish, network, packages, process};
use crate::shell;
use anyhow::{Context, Result};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Starts the daemons; returns what a person pastes.
pub(crate) fn up(ledger: &mut Ledger, folder: &Path, wish: &Wish) -> Result<String> {
    packages::debian(&[
        ("slurmctld", "slurmctld"),
        ("slurmd", "slurmd"),
        ("sbatch", "slurm-client"),
        ("munged", "munge"),
        ("nsenter", "util-linux"),
        ("tc", "iproute2"),
    ])?;
    network::up(ledger, folder, wish.nodes, true, &wish.rate)?;
    let sockets = super::sockets(ledger)?;
    for name in ["state", "spool", "log"] {
        fs::create_dir(folder.join(name))?;
    }
    let logs = folder.join("log");
    let groups = Path::new("/sys/fs/cgroup/freezer").is_dir();
    let names: Vec<String> = workers(ledger).map(|node| node.name.clone()).collect();
    for name in names.iter().filter(|_| groups) {
        ledger.record(Made::Cgroups(format!("slurm_{name}")))?;
    }
    let path = folder.join("slurm.conf");
    fs::write(&path, settings(ledger, folder, &sockets, groups))?;
    fs::write(folder.join("cgroup.conf"), CGROUP_CONF)?;
    let shown = path.to_string_lossy().into_owned();
    let environment = [("SLURM_CONF", shown.as_str())];

    let head = ledger.nodes.last().context("a head was asked for")?.clone();
    munge(ledger, &sockets, &logs)?;
    // The log goes to stderr as well; the file would hold every line twice.
    let words = ["/usr/sbin/slurmctld", "-D", "-c", "-i"];
    let log = logs.join("slurmctld.out");
    process::daemon(ledger, &head, "slurmctld", &log, &words, &environment)?;
    for node in workers(ledger).cloned().collect::<Vec<_>>() {
        fs::create_dir(folder.join("spool").join(&node.name))?;
        let log = logs.join(format!("{}.out", node.name));
        let words = ["/usr/sbin/slurmd", "-D", "-N", &node.name];
        process::daemon(ledger, &node, "slurmd", &log, &words, &environment)?;
    }
    let count = names.len().to_string();
    process::ready(ledger, 300, "idle nodes", &logs, || {
        let mut idle = shell::command("sinfo", &["-h", "-t", "idle", "-p", "main", "-o", "%D"]);
        idle.env("SLURM_CONF", &shown);
        idle.output()
            .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == count)
    })?;
    Ok(format!(
        "export SLURM_CONF={shown}\n\n\
         [engine]\nkind = \"slurm\"\npartition = \"main\"\n\n\
         # by hand: SLURM_CONF={shown} srun -N{count} hostname\n\
         # this machine, as the nodes see it: {}\n\
         # partition `hi` preempts `main`: sbatch -p hi --exclusive -N{count} --wrap 'sleep 5'\n",
        network::host_address(ledger),
    ))
}

fn workers(ledger: &Ledger) -> impl Iterator<Item = &super::ledger::Node> {
    ledger.nodes[..ledger.nodes.len() - 1].iter()
}

/// One munged for all nodes, because they share the folder of its socket. It
/// refuses to run as root, and its folder must be its own.
fn munge(ledger: &mut Ledger, sockets: &Path, logs: &Path) -> Result<()> {
    let own = sockets.join("munge");
    fs::create_dir(&own)?;
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755))?;
    let key = own.join("key");
    let mut bytes = [0; 1024];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o400)
        .open(&key)?;
    std::io::Write::write_all(&mut file, &bytes)?;
    let shown = own.to_string_lossy().into_owned();
    shell::output("chown", &["-R", "munge:", &shown])?;
    let socket = own.join("socket");
    let options = [
        format!("--socket={}", socket.display()),
        format!("--key-file={shown}/key"),
        format!("--pid-file={shown}/pid"),
        format!("--log-file={shown}/log"),
        format!("--seed-file={shown}/seed"),
    ];
    let mut words = vec![
        "setpriv",
        "--reuid",
        "munge",
        "--regid",
        "munge",
        "--clear-groups",
    ];
    words.extend(["/usr/sbin/munged", "--foreground", "--force"]);
    words.extend(options.iter().map(String::as_str));
    let head = ledger.nodes.last().context("a head was asked for")?.clone();
    let log = logs.join("munged.out");
    process::daemon(ledger, &head, "munged", &log, &words, &[])?;
    process::ready(ledger, 100, "munge's socket", logs, || socket.exists())
}

/// Without a cgroup of freezer kind, processes are followed by their parents.
fn settings(ledger: &Ledger, folder: &Path, sockets: &Path, groups: bool) -> String {
    let head = ledger.nodes.last().expect("a head was made");
    let (process_tracking, task) = if groups {
        ("proctrack/cgroup", "task/cgroup")
    } else {
        ("proctrack/linuxproc", "task/none")
    };
    let number = ledger.number;
    let folder = folder.display();
    let mut text = format!(
        "ClusterName=pl{number}\n\
         SlurmctldHost={}({})\n\
         SlurmUser=root\n\
         SlurmdUser=root\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={}/munge/socket\n\
         CryptoType=crypto/munge\n\
         SlurmctldPort=6817\n\
         SlurmdPort=6818\n\
         SlurmctldPidFile={folder}/slurmctld.pid\n\
         SlurmdPidFile={folder}/slurmd-%n.pid\n\
         StateSaveLocation={folder}/state\n\
         SlurmdSpoolDir={folder}/spool/%n\n\
         SlurmctldLogFile={folder}/log/slurmctld.log\n\
         SlurmdLogFile={folder}/log/slurmd-%n.log\n\
         SlurmdParameters=config_overrides\n\
         ProctrackType={process_tracking}\n\
         TaskPlugin={task}\n",
        head.name,
        head.address,
        sockets.display(),
    );
    text.push_str(SETTINGS);
    for node in workers(ledger) {
        text.push_str(&format!(
            "NodeName={0} NodeAddr={1} NodeHostname={0} CPUs=2 RealMemory=4000\n",
            node.name, node.address
        ));
    }
    let all = format!("pl{number}-[1-{}]", ledger.nodes.len() - 1);
    text.push_str(&format!(
        "PartitionName=main Nodes={all} Default=YES MaxTime=INFINITE State=UP PriorityTier=1\n\
         PartitionName=hi Nodes={all} MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF\n"
    ));
    text
}

/// Short waits, no database, preemption by partition.
const SETTINGS: &str = "\
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=30
InactiveLimit=0
KillWait=5
MinJobAge=300
Waittime=0
SchedulerParameters=sched_interval=2,bf_interval=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
";

/// Groups only to find a job's processes: nodes share this machine's cores.
const CGROUP_CONF: &str = "\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainCores=no
ConstrainRAMSpace=no
ConstrainSwapSpace=no
ConstrainDevices=no
";
