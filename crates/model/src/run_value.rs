//! What Paceline measures of every run.

/// Declares the values with their names and meanings: the one list that tables,
/// expressions, their check and the reference follow.
macro_rules! run_values {
    ($( $variant:ident = $name:literal, $doc:literal; )+) => {
        /// A value that Paceline measures for every run and that responses may use.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum RunValue { $( #[doc = $doc] $variant, )+ }

        impl RunValue {
            /// Every value, in the order of the study's table.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            /// The name in an expression and in the study's table, unit last.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }

            /// One line for a person.
            #[must_use]
            pub const fn describe(self) -> &'static str {
                match self { $( Self::$variant => $doc, )+ }
            }

            /// Finds a value by its name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

run_values! {
    Duration = "duration_s", "time from the start of the command to its end";
    CpuMean = "cpu_mean_cores", "CPU time of the run divided by its duration";
    CpuPeak = "cpu_peak_cores", "highest CPU use of the run within one sample";
    CpuUser = "cpu_user_s", "CPU time of the run in user mode";
    CpuSystem = "cpu_system_s", "CPU time of the run in the kernel";
    MemMean = "mem_mean_bytes", "mean resident memory of the run";
    MemPeak = "mem_peak_bytes", "highest memory of the run";
    DiskRead = "disk_read_bytes", "bytes the run caused to be read from disks";
    DiskWrite = "disk_write_bytes", "bytes the run caused to be written to disks";
    NetRx = "net_rx_bytes", "bytes the node received during the run";
    NetTx = "net_tx_bytes", "bytes the node sent during the run";
    Iowait = "iowait_s", "idle CPU time of the node while a disk request was outstanding";
    Steal = "steal_s", "CPU time the hypervisor took from the node during the run";
    PsiCpu = "psi_cpu_s", "time in which some task waited for a CPU";
    PsiMemory = "psi_memory_s", "time in which some task waited for memory";
    PsiIo = "psi_io_s", "time in which some task waited for a disk";
}
