//! All-reduce between two processes, against OpenMPI's.

use crate::bench::table::{NOTHING, Table};
use crate::bench::train::verdict;
use crate::bench::{Options, peers};
use crate::shell;
use anyhow::{Context, Result};

const EXAMPLE: &str = "crates/wire/examples/allreduce_speed.c";
const SIZES: [(usize, &str); 3] = [
    (100_000, "100 KB"),
    (1_000_000, "1 MB"),
    (30_000_000, "30 MB"),
];
/// How much longer than OpenMPI it may take.
const TARGET: f64 = 1.3;

/// The least median of each size in microseconds, in the order of [`SIZES`].
type Micros = [f64; SIZES.len()];

/// Everybody in turn, then the table.
pub(crate) fn run(options: Options) -> Result<String> {
    println!("all-reduce");
    options.build(&["paceline-wire", "--example", "allreduce_speed"])?;
    let mpi = if options.alone {
        Err(anyhow::anyhow!("only Paceline's side was asked for"))
    } else {
        mpi(options)
    };
    let mut columns = [const { None }; 4];
    for _ in 0..options.turns() {
        for (column, transport) in columns.iter_mut().zip(["unix", "tcp"]) {
            let program = peers::target().join("release/examples/allreduce_speed");
            least(column, own(&program.to_string_lossy(), transport)?);
        }
        if let Ok(program) = &mpi {
            least(&mut columns[2], mpirun(program, &[])?);
            least(
                &mut columns[3],
                mpirun(program, &["--mca", "btl", "tcp,self"])?,
            );
        }
    }
    let absent = match mpi {
        Ok(_) => String::new(),
        Err(error) => format!("\nOpenMPI is absent: {error:#}"),
    };
    Ok(format!("{}{absent}", page(&columns)))
}

fn own(program: &str, transport: &str) -> Result<Micros> {
    read(&shell::output(program, &[transport])?)
}

/// Compiles the same benchmark for MPI.
fn mpi(options: Options) -> Result<String> {
    let packages = ["openmpi-bin", "libopenmpi-dev"];
    peers::debian("mpicc", &packages, options)?;
    peers::debian("mpirun", &packages, options)?;
    let program = std::path::absolute(peers::target().join("bench/allreduce_mpi"))?;
    let program = program.to_string_lossy().into_owned();
    shell::run("mpicc", &["-O2", "-o", &program, EXAMPLE])?;
    Ok(program)
}

fn mpirun(program: &str, transport: &[&str]) -> Result<Micros> {
    let usual = ["--allow-run-as-root", "--oversubscribe", "-n", "2"];
    read(&shell::output(
        "mpirun",
        &[&usual[..], transport, &[program]].concat(),
    )?)
}

/// From lines such as `ring  1000000 bytes  median  600.0 µs  least  580.0 µs`.
/// A server's round, which the example also prints, is no all-reduce.
fn read(printed: &str) -> Result<Micros> {
    let mut found = [f64::INFINITY; SIZES.len()];
    for line in printed
        .lines()
        .filter(|line| !line.contains("push and pull"))
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, bytes, "bytes", "median", median, ..] = words.as_slice() else {
            continue;
        };
        let Some(place) = SIZES
            .iter()
            .position(|(size, _)| size.to_string() == *bytes)
        else {
            continue;
        };
        found[place] = found[place].min(median.parse()?);
    }
    let is_whole = found.iter().all(|micros| micros.is_finite());
    is_whole.then_some(found).context("a size was not measured")
}

fn least(known: &mut Option<Micros>, found: Micros) {
    let known = known.get_or_insert(found);
    for (least, micros) in known.iter_mut().zip(found) {
        *least = least.min(micros);
    }
}

fn page(columns: &[Option<Micros>; 4]) -> String {
    let mut table = Table::new(&[
        "microseconds, median",
        "Paceline, Unix socket",
        "Paceline, TCP",
        "OpenMPI, shared memory",
        "OpenMPI, TCP",
        "Unix socket / shared memory",
        "TCP / TCP",
        "target",
        "Unix socket",
        "TCP",
    ]);
    for (index, (_, shown)) in SIZES.iter().enumerate() {
        let at = |column: usize| columns[column].map(|micros| micros[index]);
        let cell =
            |column: usize| at(column).map_or(NOTHING.to_owned(), |micros| format!("{micros:.0}"));
        let both = |own: usize| at(own).zip(at(own + 2));
        let ratio = |own: usize| {
            both(own).map_or(NOTHING.to_owned(), |(ours, theirs)| {
                format!("{:.2}×", ours / theirs)
            })
        };
        let judged = |own: usize| {
            both(own).map_or(NOTHING.to_owned(), |(ours, theirs)| {
                verdict(TARGET, ours / theirs)
            })
        };
        table.row([
            (*shown).to_owned(),
            cell(0),
            cell(1),
            cell(2),
            cell(3),
            ratio(0),
            ratio(1),
            format!("{TARGET}×"),
            judged(0),
            judged(1),
        ]);
    }
    format!("### All-reduce between two processes\n\nHere a ratio is of times: less is better.\n\n{table}")
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_median_of_each_size_is_read() {
        let printed = "\
parameter server round over unix, spinning 50µs
  push and pull     100000 bytes  median       1.0 µs  least       1.0 µs
  doubling          100000 bytes  median      90.0 µs  least      80.0 µs
  ring              100000 bytes  median      70.0 µs  least      60.0 µs
  ring             1000000 bytes  median     600.0 µs  least     580.0 µs
  MPI_Allreduce   30000000 bytes  median   36000.0 us  least   35000.0 us
";
        assert_eq!(read(printed).unwrap(), [70.0, 600.0, 36_000.0]);
        assert!(read("nothing").is_err());
    }
}
