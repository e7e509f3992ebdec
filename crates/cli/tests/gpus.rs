//! A run on a GPU, on a machine without one: the stand-in for NVIDIA's library, from
//! the sample to what people and studies see.

mod support;

use paceline_testkit::skipped;
use std::path::Path;
use support::{Ran, paceline};

/// What the stand-in answers: one GPU that the job itself is on, and whose energy
/// grows by 50 J a second. The job's child is on none.
const JOB: &str = r#"
answer() {
    printf 'gpus 1\n0.name Test 9000\n0.busy 41\n0.mem_total 80000\n0.mem_used 500\n' > new
    printf '0.power_mw 50000\n0.temperature 61\n0.energy_mj %d\n' "$1" >> new
    printf '0.pid.0 %d\n0.pid_mem.0 300\n' $$ >> new
    mv new readings
}
sleep 3.3 &
for tenths in 0 3 6 9 12 15 18 21 24 27 30; do
    answer $((tenths * 5000))
    sleep 0.3
done
wait
"#;

/// Compiles the stand-in into `dir`.
fn stand_in(dir: &Path) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../probe/tests/stand_in/nvml.c");
    #[expect(clippy::disallowed_methods, reason = "the test compiles its stand-in")]
    let mut cc = std::process::Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o", "libnvidia-ml.so.1"]);
    match cc.arg(source).current_dir(dir).status() {
        Ok(status) => {
            assert!(status.success(), "the stand-in does not compile");
            true
        }
        Err(error) => {
            skipped(format!("no C compiler ({error})"));
            false
        }
    }
}

fn with_gpu(dir: &Path, words: &[&str]) -> Ran {
    let mut command = paceline(dir, words);
    command.env("LD_LIBRARY_PATH", dir);
    command.env("NVML_STAND_IN", dir.join("readings"));
    let ran = Ran::from(command.output().expect("the binary can be started"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

#[test]
fn a_runs_gpu_is_in_its_verdict_its_record_and_the_page() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    if !stand_in(dir) {
        return;
    }
    std::fs::write(dir.join("readings"), "gpus 1\n0.name Test 9000\n").expect("written");
    let doctor = with_gpu(dir, &["doctor"]);
    assert!(doctor.out.contains("nvidia0 Test 9000"), "{}", doctor.out);
    with_gpu(dir, &["run", "-q", "--out", "r", "--", "sh", "-c", JOB]);

    let shown = with_gpu(dir, &["show", "r", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&shown.out).expect("it is JSON");
    let node = &json["nodes"][0];
    assert_eq!(node["gpus"]["count"], 1.0);
    assert_eq!(node["gpus"]["temperature_celsius"]["peak"], 61.0);
    let joules = node["energy_j"]["gpu"].as_f64().expect("it was counted");
    assert!(joules > 0.0 && joules <= 150.0, "{joules} J");
    let namespace = std::fs::read_link("/proc/self/ns/pid").expect("there is /proc");
    let text = with_gpu(dir, &["show", "r"]).out;
    if namespace == Path::new("pid:[4026531836]") {
        assert_eq!(node["gpus"]["of_run_count"], 1.0);
        assert_eq!(node["gpus"]["memory_bytes"]["peak"], 300.0);
        assert!(
            text.contains("300 B at most, 50.0 W, 61 °C at most (1 GPU)"),
            "{text}"
        );
    } else {
        // A container numbers processes anew.
        assert!(node["gpus"]["of_run_count"].is_null(), "{node}");
        assert!(text.contains("whole machine)"), "{text}");
    }

    with_gpu(dir, &["export", "r", "--to", "csv", "--out", "csv"]);
    let parts = std::fs::read_dir(dir.join("csv/samples"))
        .or_else(|_| std::fs::read_dir(dir.join("csv")))
        .expect("it was exported")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.to_string_lossy().ends_with("parts.csv"))
        .expect("there are parts");
    let parts = std::fs::read_to_string(parts).expect("it can be read");
    assert!(parts.contains(",gpu,nvidia0 Test 9000,"), "{parts}");
    with_gpu(dir, &["report", "r", "--out", "page.html"]);
    let page = std::fs::read_to_string(dir.join("page.html")).expect("it was written");
    assert!(page.contains("Energy on"), "the page tells the energy");
}

#[test]
fn joules_are_a_response_of_a_study() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    if !stand_in(dir) {
        return;
    }
    std::fs::write(dir.join("readings"), "gpus 1\n0.name Test 9000\n").expect("written");
    std::fs::write(dir.join("job.sh"), JOB).expect("written");
    let study = format!(
        "[job]\ncommand = [\"sh\", \"-c\", 'cd {}; . ./job.sh; : {{x}}']\n[factors]\nx = [1, 2]\n\
         [responses]\nenergy = \"gpu_energy_j\"\nall = \"energy_j\"\n",
        dir.display()
    );
    std::fs::write(dir.join("s.toml"), study).expect("written");
    with_gpu(dir, &["study", "run", "s.toml", "--quiet"]);
    let table = std::fs::read_dir(dir)
        .expect("the directory")
        .map(|entry| entry.expect("an entry").path().join("table.csv"))
        .find(|path| path.exists())
        .expect("the study has a table");
    let text = std::fs::read_to_string(table).expect("it can be read");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = header.iter().position(|&name| name == "energy");
    let column = column.expect("the response is a column");
    let values: Vec<f64> = lines
        .map(|line| line.split(',').nth(column).expect("a value"))
        .map(|value| value.parse().expect("a number"))
        .collect();
    assert_eq!(values.len(), 2, "{text}");
    assert!(values.iter().all(|&joules| joules > 0.0), "{text}");
}
