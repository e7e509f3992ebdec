//! One worker, from the first step to the goal, on data with a known answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use paceline_data::{DataSpec, Options, Split};
use paceline_kernels::Kernels;
use paceline_nets::{Mlp, Model, ModelSpec};
use paceline_train::{
    Cadence, Checkpoint, CheckpointSettings, Ending, Evaluation, Goal, Outcome, ProgressReport,
    Schedule, Session, Settings, Watch, input_of,
};

/// Remembers the evaluations.
#[derive(Default)]
struct Heard(Vec<Evaluation>);

impl Watch for Heard {
    fn progressed(&mut self, _: &ProgressReport) {}

    fn evaluated(&mut self, evaluation: &Evaluation) {
        self.0.push(*evaluation);
    }
}

fn blobs() -> Split {
    let spec: DataSpec = "synthetic:blobs,rows=600,width=20,classes=4,seed=3"
        .parse()
        .expect("a data set");
    paceline_data::open(&spec, &Options::default()).expect("generated rows")
}

fn network(data: &Split) -> Arc<dyn Model> {
    mlp(data, 24)
}

fn mlp(data: &Split, hidden: usize) -> Arc<dyn Model> {
    let (width, classes) = (data.train.width(), data.train.classes());
    Arc::new(Mlp::new(width, &[hidden], classes, Kernels::detect()))
}

fn settings(optimizer: &str, epochs: u64) -> Settings {
    Settings {
        batch_size: 32,
        threads: 2,
        seed: 5,
        optimizer: optimizer.parse().expect("an optimizer"),
        rate: 0.02,
        schedule: Schedule::CONSTANT,
        decay: 1e-4,
        clip: Some(5.0),
        goal: Goal {
            epochs: Some(epochs),
            ..Goal::default()
        },
        evaluate_every: Cadence::Epochs(1.0),
        checkpoint: None,
    }
}

fn run(session: &mut Session, heard: &mut Heard) -> Outcome {
    session
        .run(heard, &AtomicBool::new(false))
        .expect("training needs nothing but memory here")
}

fn with_checkpoint(mut settings: Settings, path: &Path) -> Settings {
    settings.checkpoint = Some(CheckpointSettings {
        path: path.to_owned(),
        every: Cadence::Steps(7),
        words: BTreeMap::new(),
    });
    settings
}

#[test]
fn every_optimizer_learns_to_tell_the_blobs_apart() {
    let data = blobs();
    for optimizer in ["sgd", "momentum", "nesterov", "adagrad", "adam"] {
        let mut heard = Heard::default();
        let mut session = Session::new(network(&data), data.clone(), settings(optimizer, 15));
        let outcome = run(&mut session, &mut heard);
        assert_eq!(outcome.ending, Ending::Epochs);
        assert_eq!(heard.0.len(), 15);
        let (first, last) = (heard.0[0], heard.0[14]);
        assert!(
            last.train.mean_loss() < first.train.mean_loss(),
            "{optimizer}"
        );
        assert!(
            last.test.accuracy() > 0.9,
            "{optimizer}: {}",
            last.test.accuracy()
        );
    }
}

#[test]
fn the_same_seed_and_threads_give_the_same_bits() {
    let data = blobs();
    let train = |threads| {
        let mut settings = settings("adam", 3);
        settings.threads = threads;
        let mut session = Session::new(network(&data), data.clone(), settings);
        run(&mut session, &mut Heard::default());
        bits(session.parameters())
    };
    for threads in [1, 2, 3] {
        assert_eq!(train(threads), train(threads), "{threads} threads");
    }
}

#[test]
fn a_resumed_training_ends_with_the_bits_of_one_that_never_stopped() {
    let data = blobs();
    let model = network(&data);
    let dir = tempfile::tempdir().unwrap();
    for optimizer in ["sgd", "nesterov", "adagrad", "adam"] {
        let mut whole = Session::new(model.clone(), data.clone(), settings(optimizer, 4));
        let mut heard_whole = Heard::default();
        run(&mut whole, &mut heard_whole);
        // Stops in the middle of an epoch, at a step where no checkpoint is due.
        let path = dir.path().join(format!("{optimizer}.safetensors"));
        let mut halted = with_checkpoint(settings(optimizer, 4), &path);
        halted.goal.steps = Some(23);
        let mut first = Session::new(model.clone(), data.clone(), halted);
        assert_eq!(run(&mut first, &mut Heard::default()).ending, Ending::Steps);
        let checkpoint = Checkpoint::read(model.layout(), &path).unwrap();
        assert_eq!(checkpoint.progress.steps, 23);
        let mut second = Session::resume(
            model.clone(),
            data.clone(),
            settings(optimizer, 4),
            checkpoint,
        );
        let mut heard_second = Heard::default();
        run(&mut second, &mut heard_second);
        assert_eq!(
            bits(whole.parameters()),
            bits(second.parameters()),
            "{optimizer}"
        );
        let last = |heard: &Heard| heard.0.last().map(|found| (found.steps, found.test));
        assert_eq!(last(&heard_whole), last(&heard_second));
    }
}

#[test]
fn a_goal_ends_the_training_whichever_comes_first() {
    let data = blobs();
    let outcome = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings("momentum", 40);
        change(&mut settings);
        let mut session = Session::new(network(&data), data.clone(), settings);
        run(&mut session, &mut Heard::default())
    };
    let reached = outcome(&|settings| settings.goal.until = Some("loss<=0.3".parse().unwrap()));
    assert_eq!(reached.ending, Ending::Reached);
    assert!(reached.evaluation.unwrap().train.mean_loss() <= 0.3);
    let counted = outcome(&|settings| settings.goal.steps = Some(11));
    assert_eq!(
        (counted.ending, counted.progress.steps),
        (Ending::Steps, 11)
    );
    assert!(counted.evaluation.is_some(), "the end is evaluated");
    let stale = outcome(&|settings| {
        settings.goal.epochs = Some(500);
        settings.goal.patience = Some(2);
        settings.rate = 0.3;
    });
    assert_eq!(stale.ending, Ending::Stale);
    let timed = outcome(&|settings| {
        settings.goal.epochs = None;
        settings.goal.time = Some(std::time::Duration::ZERO);
    });
    assert_eq!((timed.ending, timed.progress.steps), (Ending::Time, 0));
}

#[test]
fn a_rate_too_large_is_an_outcome_that_keeps_the_last_good_checkpoint() {
    let data = blobs();
    let model = network(&data);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.safetensors");
    let mut wild = with_checkpoint(settings("sgd", 50), &path);
    wild.rate = 1e30;
    wild.clip = None;
    wild.checkpoint.as_mut().unwrap().every = Cadence::Steps(1);
    let outcome = run(
        &mut Session::new(model.clone(), data, wild),
        &mut Heard::default(),
    );
    assert_eq!(outcome.ending, Ending::Diverged);
    if path.exists() {
        Checkpoint::read(model.layout(), &path).unwrap();
    }
}

#[test]
fn a_stop_is_obeyed_and_leaves_a_checkpoint() {
    let data = blobs();
    let model = network(&data);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.safetensors");
    let mut session = Session::new(
        model.clone(),
        data,
        with_checkpoint(settings("sgd", 1000), &path),
    );
    let outcome = session
        .run(&mut Heard::default(), &AtomicBool::new(true))
        .unwrap();
    assert_eq!(outcome.ending, Ending::Interrupted);
    assert_eq!(
        Checkpoint::read(model.layout(), &path)
            .unwrap()
            .progress
            .steps,
        outcome.progress.steps
    );
}

#[test]
fn a_checkpoint_of_another_model_is_refused_by_name() {
    let data = blobs();
    let model = network(&data);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.safetensors");
    run(
        &mut Session::new(
            model,
            data.clone(),
            with_checkpoint(settings("sgd", 1), &path),
        ),
        &mut Heard::default(),
    );
    let other = mlp(&data, 32);
    let error = Checkpoint::read(other.layout(), &path)
        .unwrap_err()
        .to_string();
    assert!(error.contains("shape"), "{error}");
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Trains a linear model by plain SGD. A clip that never bites forces the way
/// over a gradient.
fn descend(
    (words, batch_size, decay): (&str, usize, f32),
    clip: Option<f32>,
    steps: &[u64],
) -> (Vec<f32>, Heard) {
    let spec: DataSpec = words.parse().expect("a data set");
    let data = paceline_data::open(&spec, &Options::default()).expect("generated rows");
    let model: Arc<dyn Model> = "logistic"
        .parse::<ModelSpec>()
        .expect("a model")
        .build(input_of(&data.train), 2, Kernels::detect())
        .expect("a linear model reads these rows")
        .into();
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("model.safetensors");
    let mut heard = Heard::default();
    let mut parameters = Vec::new();
    for (number, most) in steps.iter().enumerate() {
        let mut settings = Settings {
            batch_size,
            threads: 1,
            rate: 0.05,
            decay,
            clip,
            schedule: "step:1,0.5".parse().expect("a schedule"),
            evaluate_every: Cadence::Steps(150),
            ..settings("sgd", 100)
        };
        settings.goal.steps = Some(*most);
        let settings = with_checkpoint(settings, &path);
        let mut session = if number == 0 {
            Session::new(Arc::clone(&model), data.clone(), settings)
        } else {
            let checkpoint = Checkpoint::read(model.layout(), &path).expect("the one before");
            Session::resume(Arc::clone(&model), data.clone(), settings, checkpoint)
        };
        let outcome = run(&mut session, &mut heard);
        assert_eq!(outcome.progress.steps, *most);
        parameters = session.parameters().to_vec();
    }
    (parameters, heard)
}

const DENSE: &str = "synthetic:dense,rows=300,test=60,width=37";
const SPARSE: &str = "synthetic:sparse,rows=300,test=60,width=400,entries=12";

/// Data, rows per step and decay for which linear models have a way of their
/// own. 300 is no multiple of 7.
const OWN_WAYS: [(&str, usize, f32); 4] = [
    (DENSE, 1, 0.0),
    (DENSE, 1, 1e-3),
    (SPARSE, 1, 0.0),
    (SPARSE, 7, 0.0),
];

#[test]
fn steps_in_a_models_own_way_are_those_of_its_gradient() {
    for case in OWN_WAYS {
        let (own, heard) = descend(case, None, &[700]);
        let (plain, expected) = descend(case, Some(1e30), &[700]);
        let largest = plain
            .iter()
            .fold(0.0_f32, |most, value| most.max(value.abs()));
        assert!(largest > 0.01, "{case:?}: nothing was learnt");
        for (found, value) in own.iter().zip(&plain) {
            let off = (found - value).abs();
            assert!(off < 1e-5 * largest, "{case:?}: {found} {value}");
        }
        // At steps 150, 300, 450, 600 and at the end.
        assert_eq!(heard.0.len(), 5);
        for (found, evaluation) in heard.0.iter().zip(&expected.0) {
            assert_eq!(found.steps, evaluation.steps);
            assert_eq!(found.train.rows, evaluation.train.rows);
            let (found, loss) = (found.train.mean_loss(), evaluation.train.mean_loss());
            assert!((found - loss).abs() < 1e-5, "{case:?}: {found} {loss}");
        }
    }
}

#[test]
fn steps_in_a_models_own_way_go_on_after_a_stop_as_if_there_had_been_none() {
    for case in OWN_WAYS {
        let (whole, _) = descend(case, None, &[700]);
        let (resumed, _) = descend(case, None, &[137, 333, 700]);
        assert_eq!(whole, resumed, "{case:?}");
    }
}
