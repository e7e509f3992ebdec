//! Prints the JSON Schema of `study.toml`:
//! `cargo run -p paceline-study --example schema > docs/reference/study.schema.json`

#[expect(clippy::print_stdout, reason = "printing is what the example is for")]
fn main() {
    print!("{}", paceline_study::schema());
}
