//! Which vector instructions the arithmetic uses.

use crate::context::variable;
use crate::failure::Failure;
use anyhow::anyhow;
use paceline_kernels::Isa;

/// Lets `$PACELINE_SIMD` choose the instructions of this process: for comparing
/// paths, and where a wide one is to be kept out. Without it, the widest that
/// the machine has.
///
/// # Errors
///
/// If it names none, or some that the machine lacks.
pub(crate) fn choose() -> Result<(), Failure> {
    let Some(word) = variable("PACELINE_SIMD").filter(|word| !word.is_empty()) else {
        return Ok(());
    };
    let names = |all: &[Isa]| -> String {
        let names: Vec<&str> = all.iter().rev().map(|isa| isa.name()).collect();
        names.join(", ")
    };
    let Some(isa) = word.to_str().and_then(Isa::from_name) else {
        let problem = anyhow!(
            "PACELINE_SIMD={} names no instructions",
            word.to_string_lossy()
        );
        return Err(Failure::user(problem).hint(format!(
            "it is one of {}; unset it for the widest that the machine has",
            names(&Isa::ALL)
        )));
    };
    isa.choose().map_err(|error| {
        Failure::user(anyhow!(error).context(format!("PACELINE_SIMD={}", isa.name())))
            .hint(format!("this machine has {}", names(&Isa::available())))
    })
}
