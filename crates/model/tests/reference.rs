//! The reference names everything that the trainer reports of its workers.

use paceline_model::WorkerMetric;

#[test]
fn every_metric_of_a_worker_is_in_the_reference() {
    let page = include_str!("../../../docs/reference/training-events.md");
    for metric in WorkerMetric::ALL {
        let name = format!("`{}`", metric.name());
        assert!(page.contains(&name), "{name}");
    }
}
