//! Prints the reference of `study.toml`:
//! `cargo run -p paceline-study --example reference > docs/reference/study.md`

#[expect(clippy::print_stdout, reason = "printing is what the example is for")]
fn main() {
    print!("{}", paceline_study::reference());
}
