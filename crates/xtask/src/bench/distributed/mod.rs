//! Workers and servers against TensorFlow, MXNet, PyTorch and OpenMPI: processes
//! of one machine, two workers of one thread each, batches of 100 rows.

mod group;
mod models;
mod overhead;
mod reduce;

use super::machine::Machine;
use super::{Options, book};
use anyhow::Result;

/// Prints all tables and writes them down.
pub(crate) fn run(options: Options) -> Result<()> {
    let machine = Machine::look()?;
    options.build(&["paceline"])?;
    let parts = [
        models::run(options)?,
        overhead::run(options),
        reduce::run(options)?,
    ];
    let section = format!(
        "## Distributed training\n\n{}\n\n{}",
        machine.line(),
        parts.join("\n\n")
    );
    println!("\n{section}");
    if options.quick || options.alone {
        return Ok(());
    }
    book::write("distributed", &section)
}
