//! What the models reach on real data with the settings that `paceline train`
//! uses where the user says nothing: MNIST's own test images, and the rated
//! tweets in five-fold cross-validation.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use paceline_data::{DataSpec, Options, Split};
use paceline_kernels::Kernels;
use paceline_nets::{Model, ModelSpec};
use paceline_train::{
    Cadence, ClassicSpec, Defaults, Evaluation, Goal, ProgressReport, Session, Settings, Watch,
    input_of,
};

struct Unheard;

impl Watch for Unheard {
    fn progressed(&mut self, _: &ProgressReport) {}
    fn evaluated(&mut self, _: &Evaluation) {}
}

fn open(words: &str, options: &Options) -> Split {
    let spec: DataSpec = words.parse().expect("a data set");
    paceline_data::open(&spec, options).expect("it ships with the program")
}

/// The test accuracy of a model that learns by gradient.
fn descend(name: &str, data: Split) -> f64 {
    let spec: ModelSpec = name.parse().expect("a model");
    let usual = Defaults::of(&spec);
    let model: Arc<dyn Model> = spec
        .build(
            input_of(&data.train),
            data.train.classes(),
            Kernels::detect(),
        )
        .expect("the model reads these rows")
        .into();
    let settings = Settings {
        batch_size: usual.batch_size,
        threads: 2,
        seed: 1,
        optimizer: usual.optimizer,
        rate: usual.rate,
        schedule: usual.schedule,
        decay: 0.0,
        clip: None,
        goal: Goal {
            epochs: Some(usual.epochs),
            ..Goal::default()
        },
        evaluate_every: Cadence::Epochs(usual.epochs as f64),
        checkpoint: None,
    };
    let outcome = Session::new(model, data, settings)
        .run(&mut Unheard, &AtomicBool::new(false))
        .expect("no checkpoint is written");
    let evaluation = outcome.evaluation.expect("the end is an evaluation");
    evaluation.test.accuracy()
}

/// The test accuracy of a model that is solved as a whole.
fn solve(name: &str, data: &Split) -> f64 {
    let spec: ClassicSpec = name.parse().expect("a model");
    let fitted = spec.fit(&data.train, 1, 2).expect("the rows are fit");
    assert!(fitted.model.converged(), "{name}");
    let judged = fitted.model.judge(&data.test, 2).expect("the same rows");
    judged.accuracy()
}

#[track_caller]
fn reaches(accuracy: f64, bound: f64) {
    assert!(accuracy >= bound, "{accuracy} is below {bound}");
}

fn mnist(rows: &str) -> Split {
    open(rows, &Options::default())
}

/// The mean accuracy over the five folds of the tweets, and that of always
/// naming the larger class of the training rows.
fn tweets(text: &str, accuracy: impl Fn(Split) -> f64) -> (f64, f64) {
    let (mut sum, mut majority) = (0.0, 0.0);
    for fold in 1..=5 {
        let options = Options {
            text: text.parse().expect("steps of the pipeline"),
            holdout: format!("fold:{fold}/5").parse().expect("a fold"),
            ..Options::default()
        };
        let data = open("tweets", &options);
        let train = data.train.class_counts();
        let larger = (0..train.len()).max_by_key(|class| train[*class]);
        let larger = larger.expect("there are classes");
        majority += data.test.class_counts()[larger] as f64 / data.test.rows() as f64;
        sum += accuracy(data);
    }
    let (mean, majority) = (sum / 5.0, majority / 5.0);
    (mean, majority)
}

/// Words that occur in fewer than a few tweets tell nothing: a dictionary of
/// the 2,000 most frequent ones as a bag.
const BAG: &str = "words=2000,encoding=bag";

#[test]
fn softmax_reads_92_in_100_digits() {
    reaches(descend("softmax", mnist("mnist")), 0.92);
}

#[test]
fn a_network_of_one_hidden_layer_reads_975_in_1000_digits() {
    reaches(descend("mlp:128", mnist("mnist")), 0.975);
}

#[test]
#[ignore = "takes half a minute"]
fn a_network_of_two_hidden_layers_reads_975_in_1000_digits() {
    reaches(descend("mlp:128,128", mnist("mnist")), 0.975);
}

#[test]
#[ignore = "takes a minute"]
fn lenet_reads_989_in_1000_digits() {
    reaches(descend("lenet5", mnist("mnist")), 0.989);
}

#[test]
#[ignore = "takes minutes"]
fn a_recurrent_network_that_reads_lines_from_both_ends_reads_97_in_100_digits() {
    reaches(descend("birnn:128", mnist("mnist")), 0.97);
}

#[test]
#[ignore = "takes half a minute"]
fn a_kernel_machine_on_10000_images_reads_955_in_1000_digits() {
    reaches(solve("svm-rbf", &mnist("mnist:10000")), 0.955);
}

#[test]
#[ignore = "takes half a minute"]
fn a_forest_of_100_trees_reads_965_in_1000_digits() {
    reaches(solve("forest:100", &mnist("mnist")), 0.965);
}

#[test]
fn a_linear_machine_on_bags_of_words_tells_moods_better_than_the_larger_class() {
    let (found, majority) = tweets(BAG, |data| solve("svm-linear", &data));
    reaches(found, majority + 0.05);
}

#[test]
#[ignore = "takes half a minute"]
fn a_forest_on_bags_of_words_tells_moods_better_than_the_larger_class() {
    let (found, majority) = tweets(BAG, |data| solve("forest:100", &data));
    reaches(found, majority + 0.05);
}

#[test]
#[ignore = "takes minutes"]
fn an_lstm_on_words_tells_moods_better_than_the_larger_class() {
    let (found, majority) = tweets("words=2000,length=20", |data| descend("lstm:64", data));
    reaches(found, majority + 0.05);
}
