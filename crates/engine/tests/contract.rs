//! The local engine keeps what every engine promises.

use paceline_engine::LocalEngine;
use paceline_model::NodeName;
use paceline_probe::Roots;
use paceline_testkit::EngineContract;

#[test]
fn the_local_engine_keeps_the_contract() {
    let engine = LocalEngine::new(NodeName::from_host("here"), Roots::default(), false);
    EngineContract {
        engine: &engine,
        hasty: &engine,
        nodes: 1,
    }
    .check();
}
