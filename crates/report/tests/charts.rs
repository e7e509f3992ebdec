//! What holds for every chart, whatever the numbers and names.

mod markup;

use markup::{assert_described, assert_self_contained, assert_well_formed};
use paceline_report::chart::{
    Axis, BarRow, Chart, DanielEffect, Interaction, InteractionLine, LevelMean, Limit, Look,
    MainEffect, Mark, Panel, Plot, QqLine, bars, cooks_distance, half_normal, interactions,
    main_effects, predicted_and_actual, quantile_quantile, residuals_and_fitted,
};
use paceline_report::page::{Page, Section};

/// Every chart, drawn with this name everywhere and these values.
fn charts(name: &str, values: &[f64]) -> Vec<Chart> {
    let name = name.to_owned();
    let points: Vec<(f64, f64)> = values.iter().map(|v| (*v, *v)).collect();
    let bounds: Vec<(f64, f64, f64)> = values.iter().map(|v| (*v, *v, *v)).collect();
    let look = Look::Series(0);
    let rows: Vec<BarRow> = values
        .iter()
        .map(|v| BarRow {
            label: name.clone(),
            value: *v,
            interval: Some((*v, *v)),
            note: name.clone(),
            prominent: true,
        })
        .collect();
    let main = MainEffect {
        factor: name.clone(),
        levels: values
            .iter()
            .map(|v| LevelMean {
                level: name.clone(),
                mean: *v,
                interval: Some((*v, *v)),
            })
            .collect(),
    };
    let pair = Interaction {
        along: name.clone(),
        levels: vec![name.clone(); values.len()],
        by: name.clone(),
        lines: vec![InteractionLine {
            level: name.clone(),
            means: values.iter().map(|v| Some(*v)).collect(),
        }],
    };
    let effects: Vec<DanielEffect> = values
        .iter()
        .map(|v| DanielEffect {
            label: name.clone(),
            quantile: *v,
            size: *v,
            active: true,
        })
        .collect();
    let limit = Limit {
        size: values.first().copied().unwrap_or(1.0),
        label: name.clone(),
    };
    let line = QqLine {
        intercept: 0.0,
        slope: values.first().copied().unwrap_or(1.0),
    };
    let every_mark = Panel::new(Axis::log(&name), Axis::log(&name))
        .heading(&name)
        .mark(Mark::Band {
            look,
            between: bounds.clone(),
        })
        .mark(Mark::Intervals { look, at: bounds })
        .mark(Mark::Steps {
            look,
            through: points.clone(),
        })
        .mark(Mark::Moment {
            look,
            at: 1.0,
            label: name.clone(),
        });
    vec![
        bars(&name, &name, &name, &rows),
        main_effects(&name, &[main.clone(), main]),
        interactions(&name, &[pair.clone(), pair]),
        half_normal(&name, &effects, 1.0, &[limit]),
        residuals_and_fitted(&name, &points),
        quantile_quantile(&points, line),
        cooks_distance(&points, 0.5),
        predicted_and_actual(&name, &points),
        Plot::new(&name, &name)
            .legend(look, &name)
            .panel(every_mark)
            .draw(),
    ]
}

#[test]
fn hostile_names_stay_text() {
    for name in [
        "<script>alert(1)</script>",
        "a\" onload=\"b",
        "a&b",
        "]]>",
        "\u{0}",
    ] {
        for chart in charts(name, &[1.0, 2.0, 3.0]) {
            assert_well_formed(&chart.document());
            assert_self_contained(&chart.document());
            assert_described(&chart.document());
            assert!(!chart.document().contains("<script"));
        }
    }
}

#[test]
fn no_value_puts_a_broken_coordinate_into_a_chart() {
    for values in [
        &[][..],
        &[0.0],
        &[-1.0, 0.0, 1.0],
        &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0],
        &[1e-308, 1e308],
        &[-1e308, 1e308],
        &[5.0; 3],
    ] {
        for chart in charts("x", values) {
            let svg = chart.document();
            assert_well_formed(&svg);
            let body = &svg[svg.find("</style>").expect("a document has its style")..];
            for d in body.split(" d=\"").skip(1) {
                let d = &d[..d.find('"').expect("an attribute ends")];
                assert!(!d.contains("NaN") && !d.contains("inf"), "{values:?}: {d}");
            }
        }
    }
}

#[test]
fn a_million_points_take_no_more_room_than_the_pixels_they_cover() {
    let points: Vec<(f64, f64)> = (0..1_000_000u32)
        .map(|i| (f64::from(i % 1000), f64::from(i / 1000)))
        .collect();
    let bytes = residuals_and_fitted("time", &points).document().len();
    assert!(bytes < 400_000, "{bytes} bytes");
}

#[test]
fn a_page_of_charts_stands_alone() {
    let charts = charts("batch_size", &[1.0, 2.0, 4.0]);
    let mut section = Section::new("all", "All charts");
    for chart in &charts {
        section = section.figure(chart, chart.title());
    }
    let html = Page::new("Charts").section(section).render();
    assert_well_formed(&html);
    assert_self_contained(&html);
    assert_described(&html);
}
