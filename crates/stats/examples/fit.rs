//! Times the work that `cargo xtask bench analyze` times in statsmodels: reads a
//! table, fits a formula, and prints the type I analysis of variance and the
//! coefficients' intervals.
//!
//! usage: fit TABLE FORMULA REPEATS; prints the least time in seconds

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use paceline_stats::anova::{Anova, AnovaType};
use paceline_stats::fit::{FitOptions, fit};
use paceline_stats::formula::{Formula, FrameOptions};
use paceline_stats::matrix::{Contrast, ModelMatrix};
use paceline_stats::table::{Column, Table};
use std::error::Error;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, formula, repeats] = words.as_slice() else {
        return Err("usage: fit TABLE FORMULA REPEATS".into());
    };
    let mut least = Duration::MAX;
    for _ in 0..repeats.parse::<u32>()? {
        #[expect(clippy::disallowed_methods, reason = "the example is a stopwatch")]
        let start = Instant::now();
        let printed = analyse(path, formula)?;
        least = least.min(start.elapsed());
        assert!(!printed.is_empty(), "there is a table to print");
    }
    println!("{}", least.as_secs_f64());
    Ok(())
}

fn analyse(path: &str, formula: &str) -> Result<String, Box<dyn Error>> {
    let table = read(path)?;
    let frame = Formula::parse(formula)?.frame(&table, &FrameOptions::default())?;
    let matrix = ModelMatrix::new(&frame, Contrast::Treatment);
    let fit = fit(&matrix, &FitOptions::default())?;
    let anova = Anova::of(&fit, AnovaType::I)?;
    Ok(format!(
        "{anova:?}{:?}{}",
        fit.coefficients(),
        fit.r_squared()
    ))
}

/// A table of numbers with a header and nothing unusual.
fn read(path: &str) -> Result<Table, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().ok_or("no header")?.split(',').collect();
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for line in lines {
        for (column, cell) in columns.iter_mut().zip(line.split(',')) {
            column.push(cell.parse()?);
        }
    }
    let columns = names
        .iter()
        .zip(columns)
        .map(|(name, values)| Column::numeric(*name, values));
    Ok(Table::new(columns.collect())?)
}
