//! Every chart of the crate on one page, from made-up numbers:
//! `cargo run -p paceline-report --example gallery -- gallery.html`.

use paceline_report::chart::{
    Axis, BarRow, DanielEffect, Interaction, InteractionLine, LevelMean, Limit, Look, MainEffect,
    Mark, Panel, Plot, QqLine, bars, cooks_distance, half_normal, interactions, main_effects,
    predicted_and_actual, quantile_quantile, residuals_and_fitted,
};
use paceline_report::page::{Heading, HtmlTable, Page, Section};

fn main() -> std::io::Result<()> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "gallery.html".into());
    std::fs::write(path, gallery())
}

fn gallery() -> String {
    let mut table = HtmlTable::new(
        "A table with numbers",
        [Heading::words("term"), Heading::numbers("sum of squares")],
    );
    table
        .row(["batch_size", "0.065909"])
        .row(["workers", "12.1"]);
    Page::new("Every chart of Paceline")
        .lead("Made-up numbers, for developers who change how charts look.")
        .section(
            Section::new("effects", "What matters")
                .paragraph("Bars, main effects, interactions and the half-normal plot.")
                .push(table)
                .figure(&variation(), "Bars with intervals.")
                .figure(&mains(), "Main effects on a common scale.")
                .figure(&pairs(), "Interactions.")
                .figure(&daniel(), "Half-normal plot."),
        )
        .section(Section::new("checks", "Whether to believe it").figures([
            (
                &residuals_and_fitted("time", &cloud(300)),
                "Residuals against fitted.",
            ),
            (
                &quantile_quantile(
                    &quantiles(120),
                    QqLine {
                        intercept: 0.0,
                        slope: 1.0,
                    },
                ),
                "Q–Q plot.",
            ),
            (&cooks_distance(&distances(200), 0.04), "Cook's distance."),
            (
                &predicted_and_actual("time in s", &predictions()),
                "Predicted and actual.",
            ),
        ]))
        .section(
            Section::new("lines", "Lines, steps and bands")
                .figure(&lines(), "Six series differ by dash and marker.")
                .figure(&resources(), "Steps, a band, a gap and a moment."),
        )
        .foot("Paceline")
        .render()
}

/// A fixed sequence in -1 to 1 that looks like noise.
fn noise(i: usize) -> f64 {
    let x = (i as f64 * 12.9898).sin() * 43_758.545_3;
    2.0 * (x - x.floor()) - 1.0
}

fn variation() -> paceline_report::chart::Chart {
    let rows: Vec<BarRow> = [
        ("workers", 48.1),
        ("batch_size", 27.5),
        ("epochs:learning_rate:batch_size", 9.2),
        ("workers:sync", 3.1),
        ("sync", 0.4),
    ]
    .iter()
    .map(|(label, value)| BarRow {
        label: (*label).to_owned(),
        value: *value,
        interval: Some((value * 0.8, value * 1.15)),
        note: format!("{value}%"),
        prominent: *value > 2.0,
    })
    .collect();
    bars(
        "Variation explained",
        "Workers explain most.",
        "percent of the variation",
        &rows,
    )
}

fn mains() -> paceline_report::chart::Chart {
    let effect = |factor: &str, levels: &[(&str, f64)]| MainEffect {
        factor: factor.to_owned(),
        levels: levels
            .iter()
            .map(|(level, mean)| LevelMean {
                level: (*level).to_owned(),
                mean: *mean,
                interval: Some((mean - 2.0, mean + 2.0)),
            })
            .collect(),
    };
    main_effects(
        "time",
        &[
            effect(
                "batch_size",
                &[("64", 41.0), ("128", 33.0), ("256", 29.0), ("512", 28.5)],
            ),
            effect("workers", &[("1", 44.0), ("2", 25.0)]),
            effect("sync", &[("bsp", 35.0), ("ssp:3", 33.5), ("async", 31.0)]),
            effect(
                "a_factor_with_a_very_long_name_indeed",
                &[("low", 33.0), ("high", 34.0)],
            ),
        ],
    )
}

fn pairs() -> paceline_report::chart::Chart {
    let pair = |along: &str, by: &str, spread: f64| Interaction {
        along: along.to_owned(),
        levels: ["64", "128", "256"].map(str::to_owned).to_vec(),
        by: by.to_owned(),
        lines: ["bsp", "ssp:3", "async"]
            .iter()
            .enumerate()
            .map(|(n, level)| InteractionLine {
                level: (*level).to_owned(),
                means: (0..3)
                    .map(|i| Some(40.0 - 4.0 * i as f64 - spread * (n * i) as f64 - n as f64))
                    .collect(),
            })
            .collect(),
    };
    interactions(
        "time",
        &[pair("batch_size", "sync", 3.0), pair("epochs", "sync", 0.0)],
    )
}

fn daniel() -> paceline_report::chart::Chart {
    let names = ["A", "B", "C or A*B*D", "batch_size*workers", "E"];
    let effects: Vec<DanielEffect> = (0..15)
        .map(|i| {
            let quantile = (f64::from(i) + 0.5) / 7.0;
            let size = if i >= 11 {
                1.2 * f64::from(i) - 9.5
            } else {
                quantile * (1.0 + 0.1 * noise(i as usize))
            };
            DanielEffect {
                label: names[i as usize % 5].to_owned(),
                quantile,
                size,
                active: i >= 11,
            }
        })
        .collect();
    half_normal(
        "time",
        &effects,
        1.0,
        &[
            Limit {
                size: 2.4,
                label: "margin of error, 95%".into(),
            },
            Limit {
                size: 4.4,
                label: "simultaneous margin of error".into(),
            },
        ],
    )
}

fn cloud(n: usize) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            let x = 20.0 + 15.0 * noise(i);
            (x, noise(i + 7919) * x / 8.0)
        })
        .collect()
}

fn quantiles(n: usize) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            let x = -2.5 + 5.0 * (i as f64 + 0.5) / n as f64;
            (x, x + 0.06 * x.powi(3))
        })
        .collect()
}

fn distances(n: usize) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            (
                i as f64 + 1.0,
                (0.02 * noise(i).powi(2)) + if i % 70 == 13 { 0.06 } else { 0.0 },
            )
        })
        .collect()
}

fn predictions() -> Vec<(f64, f64)> {
    (0..80)
        .map(|i| {
            let x = 60.0 + 50.0 * noise(i);
            (x, x * (1.0 + 0.08 * noise(i + 101)))
        })
        .collect()
}

fn lines() -> paceline_report::chart::Chart {
    let mut plot = Plot::new("Loss by consistency model", "Six falling curves.").size(760.0, 320.0);
    let mut panel = Panel::new(Axis::linear("epoch"), Axis::log("loss"));
    for (n, name) in ["bsp", "ssp:3", "async", "backup:1", "allreduce", "dataflow"]
        .iter()
        .enumerate()
    {
        let at: Vec<(f64, f64)> = (1..=10)
            .map(|e| {
                let e = f64::from(e);
                (e, 2.3 * (-e * (0.25 + 0.05 * n as f64)).exp() + 0.01)
            })
            .collect();
        panel = panel
            .mark(Mark::Line {
                look: Look::Series(n),
                through: at.clone(),
            })
            .mark(Mark::Points {
                look: Look::Series(n),
                at,
            });
        plot = plot.legend(Look::Series(n), name);
    }
    plot.panel(panel).draw()
}

fn resources() -> paceline_report::chart::Chart {
    let cpu: Vec<(f64, f64)> = (0..120)
        .map(|i| {
            let gap = (50..56).contains(&i);
            (
                f64::from(i),
                if gap {
                    f64::NAN
                } else {
                    1.4 + 0.4 * noise(i as usize / 4)
                },
            )
        })
        .collect();
    let band = cpu.iter().map(|(x, y)| (*x, y - 0.3, y + 0.3)).collect();
    Plot::new("CPU of node w1", "About 1.4 cores, with a gap at 50 s.")
        .size(760.0, 240.0)
        .legend(Look::Series(0), "busy cores")
        .panel(
            Panel::new(
                Axis::linear("s since the start"),
                Axis::linear("cores").including(0.0),
            )
            .mark(Mark::Band {
                look: Look::Series(0),
                between: band,
            })
            .mark(Mark::Steps {
                look: Look::Series(0),
                through: cpu,
            })
            .mark(Mark::Moment {
                look: Look::Quiet,
                at: 80.0,
                label: "epoch 2".into(),
            })
            .mark(Mark::Level {
                look: Look::Ink,
                at: 2.0,
                label: "all cores".into(),
            }),
        )
        .draw()
}
