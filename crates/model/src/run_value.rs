//! What Paceline measures of every run.

use crate::named;

named! {
    /// A value that Paceline measures for every run and that responses may use, in the
    /// order of the study's table.
    pub enum RunValue {
        Duration = "duration_s", "time from the start of the command to its end";
        CpuMean = "cpu_mean_cores", "CPU time of the run divided by its duration";
        CpuPeak = "cpu_peak_cores", "highest CPU use of the run within one sample";
        CpuUser = "cpu_user_s", "CPU time of the run in user mode";
        CpuSystem = "cpu_system_s", "CPU time of the run in the kernel";
        MemMean = "mem_mean_bytes", "mean resident memory of the run";
        MemPeak = "mem_peak_bytes", "highest memory of the run";
        DiskRead = "disk_read_bytes", "bytes the run caused to be read from disks";
        DiskWrite = "disk_write_bytes", "bytes the run caused to be written to disks";
        NetRx = "net_rx_bytes", "bytes the run's TCP sockets received from other hosts; where those are unknown, what the node received";
        NetTx = "net_tx_bytes", "bytes the run's TCP sockets sent to other hosts; where those are unknown, what the node sent";
        Iowait = "iowait_s", "idle CPU time of the node while a disk request was outstanding";
        Steal = "steal_s", "CPU time the hypervisor took from the node during the run";
        PsiCpu = "psi_cpu_s", "time in which some task waited for a CPU";
        PsiMemory = "psi_memory_s", "time in which some task waited for memory";
        PsiIo = "psi_io_s", "time in which some task waited for a disk";
        Energy = "energy_j", "energy of the node's processors, memory and GPUs during the run, of those that tell";
        CpuEnergy = "cpu_energy_j", "energy of the node's processors during the run (RAPL)";
        DramEnergy = "dram_energy_j", "energy of the node's memory during the run (RAPL)";
        GpuEnergy = "gpu_energy_j", "energy of the node's GPUs during the run";
        GpuBusy = "gpu_busy_share", "share of the time in which the run's GPUs executed anything; the node's where the driver does not tell whose";
        GpuMem = "gpu_mem_peak_bytes", "highest memory in use on the run's GPUs; the node's where the driver does not tell whose";
    }
}
