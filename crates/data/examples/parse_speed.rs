//! How fast files are parsed on one core, against copying the same bytes in
//! memory, in one run. Speeds are per second of processor time, so that other
//! load on the machine distorts them little: `cargo run --release -p paceline-data --example
//! parse_speed [MEGABYTES [FILE]]`.
#![expect(clippy::print_stdout, reason = "a measurement prints what it finds")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::Path;

use paceline_data::{Cache, DataSpec, Options, epoch_order_into, open};
use rustix::time::{ClockId, clock_gettime};

/// Each figure is the best of this many runs: the machine's limit, not its
/// other load.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let megabytes: usize = match std::env::args().nth(1) {
        Some(argument) => argument.parse()?,
        None => 100,
    };
    let only = std::env::args().nth(2);
    let size = megabytes * 1_000_000;
    let folder = tempfile::tempdir()?;
    let one_thread = Options {
        threads: NonZeroUsize::MIN,
        ..Options::default()
    };

    println!("{:<40}{:>9}  {:>7}", "", "MB/s", "of copy");
    let mut copied = vec![0_u8; size];
    let original = vec![1_u8; size];
    let copy = best(size, || copied.copy_from_slice(black_box(&original)));
    report("memory copy", copy, copy);
    drop((copied, original));

    for (name, write) in [
        ("dense.csv", dense_rows as fn(usize) -> String),
        ("long.csv", long_rows),
        ("sparse.libsvm", sparse_rows),
        ("binary.libsvm", binary_rows),
    ] {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        // The same file trains and tests, so that rows are parsed and nothing
        // is copied to divide them.
        let text = write(size / 2);
        let extension = Path::new(name)
            .extension()
            .ok_or("a name has an extension")?;
        let home = folder.path().join(name);
        fs::create_dir(&home)?;
        for part in ["train", "test"] {
            fs::write(home.join(part).with_extension(extension), &text)?;
        }
        let bytes = 2 * text.len();
        let spec = DataSpec::Path(home);
        let speed = best(bytes, || {
            let split = open(&spec, &one_thread).expect("the file was just written");
            black_box(split);
        });
        report(name, speed, copy);
        let cached = Options {
            cache: Some(Cache::new(folder.path().join("cache"), u64::MAX)),
            ..one_thread.clone()
        };
        open(&spec, &cached)?;
        let speed = best(bytes, || {
            let split = open(&spec, &cached).expect("the entry was just written");
            black_box(split);
        });
        report(&format!("{name}, from the cache"), speed, copy);
    }

    if only.is_some() {
        return Ok(());
    }
    let mnist_bytes = 70_000 * 785;
    let mnist: DataSpec = "mnist".parse()?;
    let unpacked = best(mnist_bytes, || {
        black_box(open(&mnist, &Options::default()).expect("mnist is embedded"));
    });
    report("mnist, unpacked", unpacked, copy);
    let cached = Options {
        cache: Some(Cache::new(folder.path().join("cache"), u64::MAX)),
        ..Options::default()
    };
    open(&mnist, &cached)?;
    let mapped = best(mnist_bytes, || {
        black_box(open(&mnist, &cached).expect("the entry was just written"));
    });
    report("mnist, from the cache", mapped, copy);

    for (words, bytes) in [
        ("synthetic:dense,rows=4000,width=10000", 4000 * 10_000 * 4),
        ("synthetic:sparse,rows=200000", 200_000 * 100 * 8),
    ] {
        let spec: DataSpec = words.parse()?;
        let speed = best(bytes, || {
            black_box(open(&spec, &Options::default()).expect("it fits in memory"));
        });
        report(words, speed, copy);
    }

    let mut order = Vec::new();
    let shuffled = best(60_000, || {
        epoch_order_into(1, black_box(3), 60_000, &mut order);
        black_box(&order);
    });
    println!("\nan order of 60,000 rows takes {:.2} ms", 60.0 / shuffled);
    Ok(())
}

/// Megabytes per second of processor time of all threads, the best of several
/// runs.
fn best(bytes: usize, mut task: impl FnMut()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let seconds = (0..RUNS).map(|_| {
        let start = now();
        task();
        now() - start
    });
    bytes as f64 / 1e6 / seconds.fold(f64::INFINITY, f64::min)
}

fn report(what: &str, speed: f64, copy: f64) {
    println!("{what:<40}{speed:>9.0}  {:>6.1}%", 100.0 * speed / copy);
}

/// Pseudo-random numbers that need no seed from outside: the file is the same
/// in every run.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self, bound: u64) -> u64 {
        // Knuth's MMIX constants.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn rows(size: usize, mut row: impl FnMut(&mut Sequence, &mut String)) -> String {
    let mut sequence = Sequence(1);
    let mut text = String::with_capacity(size + 4096);
    while text.len() < size {
        row(&mut sequence, &mut text);
        text.push('\n');
    }
    text
}

/// Fifty features with six decimals, as `%f` prints them.
fn dense_rows(size: usize) -> String {
    rows(size, |sequence, text| {
        for _ in 0..50 {
            let (whole, part) = (sequence.next(10), sequence.next(1_000_000));
            let _ = write!(text, "{whole}.{part:06},");
        }
        let _ = write!(text, "{}", sequence.next(2));
    })
}

/// Twenty features with all digits of a double, as Python prints them.
fn long_rows(size: usize) -> String {
    rows(size, |sequence, text| {
        for _ in 0..20 {
            let value = sequence.next(1 << 30) as f64 / 1.234_567e8;
            let _ = write!(text, "{value},");
        }
        let _ = write!(text, "{}", sequence.next(2));
    })
}

/// A hundred entries with six digits.
fn sparse_rows(size: usize) -> String {
    rows(size, |sequence, text| {
        text.push_str(if sequence.next(2) == 0 { "-1" } else { "+1" });
        let mut column = 0;
        for _ in 0..100 {
            column += 1 + sequence.next(900);
            let _ = write!(text, " {column}:0.{:06}", sequence.next(1_000_000));
        }
    })
}

/// Fourteen entries that are all one, as categories are written.
fn binary_rows(size: usize) -> String {
    rows(size, |sequence, text| {
        text.push_str(if sequence.next(2) == 0 { "-1" } else { "+1" });
        let mut column = 0;
        for _ in 0..14 {
            column += 1 + sequence.next(17);
            let _ = write!(text, " {column}:1");
        }
    })
}
