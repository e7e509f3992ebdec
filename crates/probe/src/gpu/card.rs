//! What a driver tells of its GPUs.

use std::time::Duration;

/// One reading of one GPU. What the driver does not tell is absent. Amounts count
/// from some time before the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Card {
    /// `nvidia0 NVIDIA A100`: the same in every reading.
    pub(crate) name: String,
    /// From 0 to 1.
    pub(crate) busy: Option<f64>,
    pub(crate) mem_used: Option<u64>,
    pub(crate) mem_total: Option<u64>,
    pub(crate) power_w: Option<f64>,
    /// Degrees Celsius.
    pub(crate) temperature: Option<f64>,
    pub(crate) pcie_rx: Option<u64>,
    pub(crate) pcie_tx: Option<u64>,
    pub(crate) nvlink_rx: Option<u64>,
    pub(crate) nvlink_tx: Option<u64>,
    /// Microjoules.
    pub(crate) energy_uj: Option<u64>,
    /// The processes on it, by the ids of the machine's own namespace.
    pub(crate) processes: Option<Vec<OnCard>>,
    /// Something could not be read that this GPU should have.
    pub(crate) lost: bool,
}

/// One process on a GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OnCard {
    pub(crate) pid: i32,
    /// Bytes of the GPU's memory.
    pub(crate) mem: Option<u64>,
    /// From 0 to 1.
    pub(crate) busy: Option<f64>,
}

/// Who can be asked about GPUs. It may take its time, and may never answer.
pub(crate) trait Driver {
    /// Adds one reading of every GPU.
    fn read(&mut self, cards: &mut Vec<Card>);

    /// Takes what cannot be read at once, after a reading was handed over;
    /// `since_last` is the time since the call before.
    fn look(&mut self, since_last: Duration);
}
