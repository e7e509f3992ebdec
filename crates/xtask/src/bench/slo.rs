//! The deadline queue against schedulers that predict nothing, on a simulated machine.

use super::{Options, peers};
use crate::shell;
use anyhow::{Context, Result};
use serde_json::Value;

/// Prints how many deadlines were kept, and at which accuracy.
pub(crate) fn run(options: Options) -> Result<()> {
    options.build(&["paceline-serve", "--example", "slo"])?;
    let example = peers::target().join("release/examples/slo");
    let seeds = if options.quick { "1" } else { "10" };
    for jobs in ["100", "200", "300"] {
        let printed = shell::output(&example.to_string_lossy(), &[seeds, jobs, "4"])?;
        println!("\n{jobs} jobs an hour on 4 CPUs, {seeds} hours:\n");
        println!(
            "| Scheduler | Accepted | Kept of accepted | Stated | Kept of all | Accuracy of kept | Accuracy of all, a late one counting nothing |"
        );
        println!("|---|---|---|---|---|---|---|");
        for line in printed.lines() {
            let said: Value =
                serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
            let number = |key: &str| said[key].as_f64().unwrap_or(f64::NAN);
            let accepted = number("accepted");
            let stated = match number("stated") > 0.0 {
                true => format!("{:.3}", number("stated") / accepted),
                false => "–".to_owned(),
            };
            println!(
                "| {} | {:.3} | {:.3} | {stated} | {:.3} | {:.4} | {:.4} |",
                said["policy"].as_str().unwrap_or_default(),
                accepted / number("submitted"),
                number("kept_of_accepted"),
                number("kept_of_submitted"),
                number("accuracy_of_kept"),
                number("accuracy_per_submitted"),
            );
        }
    }
    Ok(())
}
