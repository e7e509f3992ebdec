//! What `doctor` says of GPUs.

use super::amd::Amd;
use super::is_own_namespace;
use super::nvidia::Nvidia;
use super::nvml::OpenError;
use crate::capabilities::Offer;
use crate::roots::Roots;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// How long `doctor` waits for a driver.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks for GPUs and asks their drivers.
pub(crate) fn gpus(roots: &Roots) -> Offer {
    let nvidia = ask_nvidia(roots);
    let amd = Amd::open(roots).map(|amd| amd.describe());
    let found: Vec<String> = nvidia.iter().chain(&amd).cloned().collect();
    let (lost, advice) = match &nvidia {
        Ok(_) => (None, None),
        Err((lost, advice)) => (Some(lost.clone()), *advice),
    };
    let name = "GPUs";
    if found.is_empty() {
        return Offer {
            name,
            found: Err(lost.unwrap_or_else(|| "no driver answers".to_owned())),
            advice: advice.map(str::to_owned),
        };
    }
    let mut text = found.join("; ");
    if !is_own_namespace(roots) {
        text.push_str(
            "; not by process: drivers number those of the machine, not this container's",
        );
    }
    Offer {
        name,
        found: Ok(text),
        advice: None,
    }
}

type Lost = (String, Option<&'static str>);

fn ask_nvidia(roots: &Roots) -> Result<String, Lost> {
    let (answer, answered) = sync_channel(1);
    let library = roots.nvml.clone();
    let thread = Builder::new().name("paceline-gpu".to_owned());
    let asked = thread.spawn(move || {
        // Nobody waits any more if this fails.
        let _ = answer.send(Nvidia::describe(library));
    });
    if let Err(error) = asked {
        return Err((format!("no thread to ask the driver ({error})"), None));
    }
    let library = roots.nvml.display();
    match answered.recv_timeout(PATIENCE) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(OpenError::Missing)) => Err((
            format!("no {library} and no amdgpu device: no GPU is measured"),
            None,
        )),
        Ok(Err(OpenError::TooOld(symbol))) => Err((
            format!("{library} has no {symbol}: no GPU is measured"),
            Some("install a driver of this decade"),
        )),
        Ok(Err(OpenError::Init(failed))) => Err((
            format!("{library} does not start ({failed}): no GPU is measured"),
            Some("see what `nvidia-smi` says"),
        )),
        Err(RecvTimeoutError::Timeout) => Err((
            format!(
                "{library} does not answer within {} s: GPUs are missing in samples",
                PATIENCE.as_secs()
            ),
            Some("see what `nvidia-smi` says; `nvidia-smi -pm 1` keeps the driver loaded"),
        )),
        Err(RecvTimeoutError::Disconnected) => Err((format!("{library} failed"), None)),
    }
}
