//! What a probe measures: the columns of a sample.

/// The unit of a column, which is also the last part of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
    /// Megahertz.
    Megahertz,
    /// A share, from 0 to 1.
    Share,
    /// Joules.
    Joules,
    /// Watts.
    Watts,
    /// Degrees Celsius.
    Celsius,
}

/// How values of several intervals become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// The amount within the interval: intervals add up to a total.
    Sum,
    /// The state at the end of the interval: intervals have a mean and a peak.
    Level,
}

macro_rules! measures {
    (
        $(#[$enum_doc:meta])*
        pub enum $enum:ident {
            $( $variant:ident = $name:literal, $unit:ident, $aggregate:ident, $doc:literal; )*
        }
    ) => {
        $(#[$enum_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $enum { $( #[doc = $doc] $variant, )* }

        impl $enum {
            /// Every measure, in the order of the record's columns.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            /// The column's name, unit last.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }

            /// The column's unit.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $( Self::$variant => Unit::$unit, )* }
            }

            /// How intervals are combined.
            #[must_use]
            pub const fn aggregate(self) -> Aggregate {
                match self { $( Self::$variant => Aggregate::$aggregate, )* }
            }

            /// One line for a person, as in `paceline doctor` and the reference.
            #[must_use]
            pub const fn describe(self) -> &'static str {
                match self { $( Self::$variant => $doc, )* }
            }

            /// Finds a measure by its column name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|m| m.name() == name)
            }
        }
    };
}

measures! {
    /// One column of a node's sample. `Node…` is the whole machine, `Run…` the
    /// run's own processes. Amounts are those within the sample's interval, so
    /// a column's sum is the run's total.
    pub enum Measure {
        NodeCpuUser = "node_cpu_user_s", Seconds, Sum, "CPU time in user mode, nice included, all cores";
        NodeCpuSystem = "node_cpu_system_s", Seconds, Sum, "CPU time in the kernel, interrupts included, all cores";
        NodeCpuIowait = "node_cpu_iowait_s", Seconds, Sum, "idle CPU time while a disk request was outstanding, all cores";
        NodeCpuSteal = "node_cpu_steal_s", Seconds, Sum, "CPU time taken by the hypervisor, all cores";
        NodeCpuIdle = "node_cpu_idle_s", Seconds, Sum, "idle CPU time, all cores";
        NodeRunQueue = "node_run_queue_count", Count, Level, "threads that run or could run";
        NodeBlocked = "node_blocked_count", Count, Level, "threads blocked on a disk";
        NodeContextSwitches = "node_context_switches_count", Count, Sum, "context switches";
        NodeMemTotal = "node_mem_total_bytes", Bytes, Level, "memory of the machine";
        NodeMemAvailable = "node_mem_available_bytes", Bytes, Level, "memory available without swapping";
        NodeSwapUsed = "node_swap_used_bytes", Bytes, Level, "swap in use";
        NodeSwapIn = "node_swap_in_bytes", Bytes, Sum, "bytes swapped in";
        NodeSwapOut = "node_swap_out_bytes", Bytes, Sum, "bytes swapped out";
        NodePageFaults = "node_page_faults_count", Count, Sum, "page faults, minor ones included";
        NodePageFaultsMajor = "node_page_faults_major_count", Count, Sum, "page faults that read a disk";
        NodeDiskRead = "node_disk_read_bytes", Bytes, Sum, "bytes read from disks";
        NodeDiskWrite = "node_disk_write_bytes", Bytes, Sum, "bytes written to disks";
        NodeDiskReads = "node_disk_reads_count", Count, Sum, "read requests completed by disks";
        NodeDiskWrites = "node_disk_writes_count", Count, Sum, "write requests completed by disks";
        NodeDiskInFlight = "node_disk_in_flight_count", Count, Level, "disk requests outstanding";
        NodeDiskBusy = "node_disk_busy_s", Seconds, Sum, "time in which the busiest disk had a request outstanding";
        NodeNetRx = "node_net_rx_bytes", Bytes, Sum, "bytes received, loopback excluded";
        NodeNetTx = "node_net_tx_bytes", Bytes, Sum, "bytes sent, loopback excluded";
        NodeNetRxPackets = "node_net_rx_packets_count", Count, Sum, "packets received, loopback excluded";
        NodeNetTxPackets = "node_net_tx_packets_count", Count, Sum, "packets sent, loopback excluded";
        NodeNetErrors = "node_net_errors_count", Count, Sum, "receive and send errors, loopback excluded";
        NodeNetDrops = "node_net_drops_count", Count, Sum, "packets dropped, loopback excluded";
        NodeLoopback = "node_loopback_bytes", Bytes, Sum, "bytes sent over loopback";
        NodeTcpRetransmits = "node_tcp_retransmits_count", Count, Sum, "TCP segments sent again";
        NodePsiCpuSome = "node_psi_cpu_some_s", Seconds, Sum, "time in which some task waited for a CPU (PSI)";
        NodePsiMemorySome = "node_psi_memory_some_s", Seconds, Sum, "time in which some task waited for memory (PSI)";
        NodePsiMemoryFull = "node_psi_memory_full_s", Seconds, Sum, "time in which every task waited for memory (PSI)";
        NodePsiIoSome = "node_psi_io_some_s", Seconds, Sum, "time in which some task waited for a disk (PSI)";
        NodePsiIoFull = "node_psi_io_full_s", Seconds, Sum, "time in which every task waited for a disk (PSI)";
        NodeCpuFrequency = "node_cpu_frequency_mhz", Megahertz, Level, "mean clock rate of the cores, where the kernel tells";
        NodeCpuEnergy = "node_cpu_energy_j", Joules, Sum, "energy of the processors' packages, where RAPL tells";
        NodeDramEnergy = "node_dram_energy_j", Joules, Sum, "energy of the memory, where RAPL tells";
        NodeGpus = "node_gpus_count", Count, Level, "GPUs that were read";
        NodeGpuBusy = "node_gpu_busy_share", Share, Level, "share of the time in which a GPU executed anything, mean over the GPUs";
        NodeGpuMem = "node_gpu_mem_bytes", Bytes, Level, "memory in use on all GPUs";
        NodeGpuMemTotal = "node_gpu_mem_total_bytes", Bytes, Level, "memory of all GPUs";
        NodeGpuPower = "node_gpu_power_w", Watts, Level, "power drawn by all GPUs";
        NodeGpuTemperature = "node_gpu_temperature_celsius", Celsius, Level, "temperature of the hottest GPU";
        NodeGpuPcieRx = "node_gpu_pcie_rx_bytes", Bytes, Sum, "bytes that the GPUs received over PCIe";
        NodeGpuPcieTx = "node_gpu_pcie_tx_bytes", Bytes, Sum, "bytes that the GPUs sent over PCIe";
        NodeGpuNvlinkRx = "node_gpu_nvlink_rx_bytes", Bytes, Sum, "bytes that the GPUs received over NVLink";
        NodeGpuNvlinkTx = "node_gpu_nvlink_tx_bytes", Bytes, Sum, "bytes that the GPUs sent over NVLink";
        NodeGpuEnergy = "node_gpu_energy_j", Joules, Sum, "energy of all GPUs";
        RunCpuUser = "run_cpu_user_s", Seconds, Sum, "CPU time of the run in user mode, exited children included";
        RunCpuSystem = "run_cpu_system_s", Seconds, Sum, "CPU time of the run in the kernel, exited children included";
        RunProcesses = "run_processes_count", Count, Level, "processes of the run";
        RunThreads = "run_threads_count", Count, Level, "threads of the run";
        RunMemRss = "run_mem_rss_bytes", Bytes, Level, "resident memory of the run, shared pages counted per process";
        RunMemPss = "run_mem_pss_bytes", Bytes, Level, "resident memory of the run, shared pages divided";
        RunMemCgroup = "run_mem_cgroup_bytes", Bytes, Level, "memory charged to the run's cgroup, file cache included";
        RunMemPeak = "run_mem_peak_bytes", Bytes, Level, "highest memory of the run's cgroup so far";
        RunPageFaults = "run_page_faults_count", Count, Sum, "page faults of the run, minor ones included";
        RunPageFaultsMajor = "run_page_faults_major_count", Count, Sum, "page faults of the run that read a disk";
        RunDiskRead = "run_disk_read_bytes", Bytes, Sum, "bytes the run caused to be read from disks";
        RunDiskWrite = "run_disk_write_bytes", Bytes, Sum, "bytes the run caused to be written to disks";
        RunIoRead = "run_io_read_bytes", Bytes, Sum, "bytes the run read with read calls, from files, caches and pipes; sockets only where it reads them like files";
        RunIoWrite = "run_io_write_bytes", Bytes, Sum, "bytes the run wrote with write calls, to files, caches and pipes; sockets only where it writes them like files";
        RunContextSwitches = "run_context_switches_count", Count, Sum, "context switches of the run's threads, voluntary and forced; absent above 32 threads";
        RunCpuThrottled = "run_cpu_throttled_s", Seconds, Sum, "time in which the run's CPU limit held it back";
        RunPsiCpuSome = "run_psi_cpu_some_s", Seconds, Sum, "time in which some task of the run waited for a CPU (PSI of its cgroup v2)";
        RunPsiMemorySome = "run_psi_memory_some_s", Seconds, Sum, "time in which some task of the run waited for memory (PSI of its cgroup v2)";
        RunPsiIoSome = "run_psi_io_some_s", Seconds, Sum, "time in which some task of the run waited for a disk (PSI of its cgroup v2)";
        RunNetRx = "run_net_rx_bytes", Bytes, Sum, "bytes the run's own TCP sockets received from other hosts";
        RunNetTx = "run_net_tx_bytes", Bytes, Sum, "bytes the run's own TCP sockets sent to other hosts";
        RunNetBusy = "run_net_busy_s", Seconds, Sum, "time in which the busiest of the run's TCP sockets to other hosts had data on its way";
        RunLoopbackRx = "run_loopback_rx_bytes", Bytes, Sum, "bytes the run's own TCP sockets received over loopback";
        RunLoopbackTx = "run_loopback_tx_bytes", Bytes, Sum, "bytes the run's own TCP sockets sent over loopback";
        RunTcpSegments = "run_tcp_segments_count", Count, Sum, "TCP segments the run sent to other hosts";
        RunTcpRetransmits = "run_tcp_retransmits_count", Count, Sum, "TCP segments the run sent to other hosts again";
        RunTcpSockets = "run_tcp_sockets_count", Count, Level, "TCP connections of the run";
        RunGpus = "run_gpus_count", Count, Level, "GPUs that processes of the run are on, where the driver tells";
        RunGpuBusy = "run_gpu_busy_share", Share, Level, "share of the time in which the run's GPUs executed anything, mean over them";
        RunGpuMem = "run_gpu_mem_bytes", Bytes, Level, "GPU memory of the run's processes, where the driver tells";
    }
}

measures! {
    /// One column of a part's reading: a core, a disk, an interface, a GPU, a process.
    pub enum PartMeasure {
        CpuUser = "cpu_user_s", Seconds, Sum, "CPU time in user mode";
        CpuSystem = "cpu_system_s", Seconds, Sum, "CPU time in the kernel";
        CpuIowait = "cpu_iowait_s", Seconds, Sum, "idle time while a disk request was outstanding";
        CpuSteal = "cpu_steal_s", Seconds, Sum, "time taken by the hypervisor";
        DiskRead = "disk_read_bytes", Bytes, Sum, "bytes read";
        DiskWrite = "disk_write_bytes", Bytes, Sum, "bytes written";
        DiskReads = "disk_reads_count", Count, Sum, "read requests completed";
        DiskWrites = "disk_writes_count", Count, Sum, "write requests completed";
        DiskInFlight = "disk_in_flight_count", Count, Level, "requests outstanding";
        DiskBusy = "disk_busy_s", Seconds, Sum, "time with a request outstanding";
        NetRx = "net_rx_bytes", Bytes, Sum, "bytes received";
        NetTx = "net_tx_bytes", Bytes, Sum, "bytes sent";
        NetRxPackets = "net_rx_packets_count", Count, Sum, "packets received";
        NetTxPackets = "net_tx_packets_count", Count, Sum, "packets sent";
        NetErrors = "net_errors_count", Count, Sum, "receive and send errors";
        NetDrops = "net_drops_count", Count, Sum, "packets dropped";
        GpuBusy = "gpu_busy_share", Share, Level, "share of the time in which it executed anything; of a process, its share of the GPU";
        GpuMem = "gpu_mem_bytes", Bytes, Level, "GPU memory in use";
        GpuMemTotal = "gpu_mem_total_bytes", Bytes, Level, "memory of the GPU";
        GpuPower = "gpu_power_w", Watts, Level, "power drawn";
        GpuTemperature = "gpu_temperature_celsius", Celsius, Level, "temperature";
        GpuPcieRx = "gpu_pcie_rx_bytes", Bytes, Sum, "bytes received over PCIe";
        GpuPcieTx = "gpu_pcie_tx_bytes", Bytes, Sum, "bytes sent over PCIe";
        GpuNvlinkRx = "gpu_nvlink_rx_bytes", Bytes, Sum, "bytes received over NVLink";
        GpuNvlinkTx = "gpu_nvlink_tx_bytes", Bytes, Sum, "bytes sent over NVLink";
        GpuEnergy = "gpu_energy_j", Joules, Sum, "energy used";
        GpuProcesses = "gpu_processes_count", Count, Level, "processes of the run on it, where the driver tells";
        MemRss = "mem_rss_bytes", Bytes, Level, "resident memory";
        Threads = "threads_count", Count, Level, "threads";
    }
}

/// The kinds of part a node is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartKind {
    /// One logical CPU, named by its number.
    Core,
    /// One block device that is not a partition.
    Disk,
    /// One network interface, loopback included.
    Interface,
    /// One process of the run, named `<pid> <command>`.
    Process,
    /// One GPU, named `<where> <model>`: `nvidia0 NVIDIA A100-SXM4-80GB`.
    Gpu,
}

impl PartKind {
    /// Every kind, in the order of the record's dictionary.
    pub const ALL: [Self; 5] = [
        Self::Core,
        Self::Disk,
        Self::Interface,
        Self::Process,
        Self::Gpu,
    ];

    /// The name in a record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Disk => "disk",
            Self::Interface => "interface",
            Self::Process => "process",
            Self::Gpu => "gpu",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_column_is_named_once_and_ends_with_its_unit() {
        let suffix = |unit| match unit {
            Unit::Seconds => "_s",
            Unit::Bytes => "_bytes",
            Unit::Count => "_count",
            Unit::Megahertz => "_mhz",
            Unit::Share => "_share",
            Unit::Joules => "_j",
            Unit::Watts => "_w",
            Unit::Celsius => "_celsius",
        };
        let columns = Measure::ALL.iter().map(|m| (m.name(), m.unit()));
        let parts = PartMeasure::ALL.iter().map(|m| (m.name(), m.unit()));
        let mut seen = BTreeSet::new();
        for (name, unit) in columns.chain(parts) {
            assert!(
                name.ends_with(suffix(unit)),
                "{name} does not end with its unit"
            );
            assert!(seen.insert(name), "{name} is named twice");
        }
    }

    #[test]
    fn a_name_finds_its_measure() {
        for &measure in Measure::ALL {
            assert_eq!(Measure::from_name(measure.name()), Some(measure));
        }
        assert_eq!(Measure::from_name("cpu"), None);
    }
}
