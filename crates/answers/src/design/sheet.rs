//! The planned runs as CSV, in the columns that the study's table begins with.

use paceline_records::study::Plan;

/// One line per run after the heading: who it is, its levels, its coded levels.
#[must_use]
pub fn csv(plan: &Plan) -> String {
    let mut heading: Vec<String> = ["run", "trial", "replicate", "block", "order"]
        .map(str::to_owned)
        .to_vec();
    heading.extend(plan.factors.iter().cloned());
    heading.extend(plan.factors.iter().map(|name| format!("{name}_coded")));
    // A trial is written as often as it is run, and put into words once.
    let trials: Vec<Vec<String>> = plan
        .trials
        .iter()
        .map(|trial| {
            let levels = trial.levels.iter().map(ToString::to_string);
            levels
                .chain(trial.coded.iter().map(ToString::to_string))
                .collect()
        })
        .collect();
    let mut out = csv::Writer::from_writer(Vec::new());
    let in_memory = "writing to memory succeeds";
    out.write_record(&heading).expect(in_memory);
    for (position, run) in plan.runs.iter().enumerate() {
        out.write_field(run.id.as_str()).expect(in_memory);
        let numbers = [run.trial, run.replicate, run.block, position as u32];
        for number in numbers {
            let counted = (number + 1).to_string();
            out.write_field(counted).expect(in_memory);
        }
        for cell in &trials[run.trial as usize] {
            out.write_field(cell).expect(in_memory);
        }
        out.write_record(None::<&[u8]>).expect(in_memory);
    }
    let bytes = out.into_inner().expect(in_memory);
    String::from_utf8(bytes).expect("names, levels and numbers are text")
}
