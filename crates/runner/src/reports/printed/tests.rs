//! Lines as the frameworks print them, and lines that only look like them.

use super::*;
use proptest::prelude::*;

/// What the lines of one stream show: step, name and value.
fn all(lines: &[&str]) -> Vec<(Option<u64>, String, f64)> {
    let mut printed = Printed::default();
    let found = lines
        .iter()
        .flat_map(|line| printed.read(line.as_bytes()))
        .map(|report| match report.kind {
            ReportKind::Metric(value) => (report.step, report.name, value),
            other => panic!("{other:?}"),
        });
    found.collect()
}

#[track_caller]
fn check(lines: &[&str], expected: &[(u64, &str, f64)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|&(step, name, value)| (Some(step), name.to_owned(), value))
        .collect();
    assert_eq!(all(lines), expected, "{lines:?}");
}

#[test]
fn a_dictionary_of_hugging_faces_trainer() {
    check(
        &["{'loss': 0.51, 'grad_norm': 1.25, 'learning_rate': 5e-05, 'epoch': 1.0}"],
        &[
            (1, "loss", 0.51),
            (1, "grad_norm", 1.25),
            (1, "learning_rate", 5e-5),
            (1, "epoch", 1.0),
        ],
    );
    let diverged = all(&["{'loss': nan, 'note': 'it\\'s bad', 'epoch': 2}"]);
    assert!(diverged.is_empty() || diverged[0].2.is_nan());
    assert!(all(&["{'loss': nan, 'epoch': 2}"])[0].2.is_nan());
}

#[test]
fn keras_when_an_epoch_is_whole() {
    check(
        &[
            "Epoch 2/3",
            "\u{1b}[1m 100/1875\u{1b}[0m \u{1b}[32m━━\u{1b}[0m \u{1b}[1m2s\u{1b}[0m 1ms/step - accuracy: 0.5 - loss: 1.2",
            "\u{1b}[1m1875/1875\u{1b}[0m \u{1b}[32m━━━━\u{1b}[0m\u{1b}[37m\u{1b}[0m \u{1b}[1m3s\u{1b}[0m 1ms/step - accuracy: 0.8795 - loss: 0.4187 - val_accuracy: 0.94 - val_loss: 0.21",
        ],
        &[
            (2, "accuracy", 0.8795),
            (2, "loss", 0.4187),
            (2, "val_accuracy", 0.94),
            (2, "val_loss", 0.21),
        ],
    );
}

#[test]
fn lightning_and_tqdm_when_a_bar_is_full() {
    check(
        &[
            "Epoch 3:  50%|█████     | 938/1875 [00:05<00:05, 180.00it/s, v_num=0, train_loss=0.5]",
            "Epoch 3: 100%|██████████| 1875/1875 [00:10<00:00, 180.00it/s, v_num=0, train_loss=0.123, val_acc=0.98]",
        ],
        &[(3, "train_loss", 0.123), (3, "val_acc", 0.98)],
    );
    let plain = all(&["100%|██████████| 938/938 [00:05<00:00, 170.1it/s, loss=0.35]"]);
    assert_eq!(plain, [(None, "loss".to_owned(), 0.35)]);
    assert!(all(&["100%|██████████| 938/938 [00:05<00:00, 170.1it/s]"]).is_empty());
}

#[test]
fn rounds_of_xgboost_and_lightgbm() {
    check(
        &["[12]\ttrain-rmse:0.48123\teval-rmse:0.51"],
        &[(12, "train-rmse", 0.48123), (12, "eval-rmse", 0.51)],
    );
    check(
        &["[10]\ttraining's l2: 0.25\tvalid_0's l2: 0.31"],
        &[(10, "training.l2", 0.25), (10, "valid_0.l2", 0.31)],
    );
    assert!(all(&["[LightGBM] [Info] Total Bins 510"]).is_empty());
    assert!(all(&["[12] worker: 3 of 4 is up"]).is_empty());
}

#[test]
fn scikit_learn_with_verbose() {
    check(
        &[
            "      Iter       Train Loss   Remaining Time ",
            "         1           1.2613           10.05s",
            "        10           0.9000            1.20m",
        ],
        &[(1, "train_loss", 1.2613), (10, "train_loss", 0.9)],
    );
    check(
        &["Iteration 7, loss = 0.43218", "Validation score: 0.912"],
        &[(7, "loss", 0.43218), (7, "validation_score", 0.912)],
    );
    let epochs = all(&[
        "-- Epoch 2",
        "Norm: 3.86, NNZs: 784, Bias: -1.0, T: 60000, Avg. loss: 0.43",
    ]);
    assert_eq!(epochs, [(Some(2), "loss".to_owned(), 0.43)]);
}

#[test]
fn pytorchs_example_and_lines_of_ones_own() {
    check(
        &[
            "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.297585",
            "Test set: Average loss: 0.0472, Accuracy: 9847/10000 (98%)",
        ],
        &[
            (1, "train_loss", 2.297585),
            (1, "test_loss", 0.0472),
            (1, "test_accuracy", 0.9847),
        ],
    );
    check(
        &["epoch 3: loss 0.35, val_acc 0.91"],
        &[(3, "loss", 0.35), (3, "val_acc", 0.91)],
    );
    check(
        &["Epoch [4/10], Loss: 0.1234, Validation Accuracy: 97.5%"],
        &[(4, "loss", 0.1234), (4, "val_accuracy", 0.975)],
    );
}

#[test]
fn what_is_no_metric_is_none() {
    for line in [
        "packet loss 3 of 10",
        "loss of connection to 10.0.0.3",
        "found 10 accuracy problems",
        "learning from 60000 rows",
        "step 3 of 10",
        "{not a dictionary: 3}",
        "100%|████| 10/10 [00:01<00:00]",
        "glossary: 12",
        "the f1 race of 2021",
        "",
    ] {
        assert_eq!(all(&[line]), [], "{line}");
    }
}

#[test]
fn a_stream_without_metrics_is_given_up() {
    let mut printed = Printed::default();
    for _ in 0..PATIENCE {
        assert!(printed.read(b"row 17").is_empty());
    }
    assert!(printed.read(b"loss: 0.5").is_empty());
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(lines in proptest::collection::vec(
        proptest::collection::vec(any::<u8>(), 0..200), 0..5)
    ) {
        let mut printed = Printed::default();
        for line in &lines {
            printed.read(line);
        }
    }

    #[test]
    fn every_name_is_one_that_a_table_can_have(text in "[a-z0-9 :=,%/.\\[\\]\t-]{0,120}") {
        for report in Printed::default().read(text.as_bytes()) {
            prop_assert!(is_name(&report.name) || report.name.contains('.'), "{:?}", report);
        }
    }
}
