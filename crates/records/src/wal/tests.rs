use super::*;
use paceline_model::{
    Event, EventKind, GapReason, Measure, Micros, PartKind, PartMeasure, PartReading, Sample,
    WorkerId,
};
use proptest::prelude::*;
use std::fs;

/// Where each entry of a log ends, and what it holds.
struct Specimen {
    bytes: Vec<u8>,
    events: Vec<Event>,
    /// The ends of the file header, the dictionary and each event.
    ends: Vec<usize>,
}

fn event(i: u32) -> Event {
    Event {
        at: Micros(u64::from(i) * 1_000_000),
        worker: i.is_multiple_of(2).then_some(WorkerId(i)),
        kind: EventKind::ALL[i as usize % 4],
        step: Some(u64::from(i)),
        name: "loss".to_owned(),
        value: Some(1.0 / f64::from(i + 1)),
        text: i.is_multiple_of(3).then(|| format!("epoch {i}")),
    }
}

fn specimen(events: u32) -> Specimen {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.wal");
    let mut ends = vec![8];
    let mut log = WalWriter::<EventCodec>::create(&path).unwrap();
    let length = || fs::metadata(&path).unwrap().len() as usize;
    ends.push(length());
    let events: Vec<Event> = (0..events).map(event).collect();
    for event in &events {
        log.append(event).unwrap();
        ends.push(length());
    }
    Specimen {
        bytes: fs::read(&path).unwrap(),
        events,
        ends,
    }
}

fn read(bytes: &[u8]) -> Result<(Vec<Event>, Option<Cut>), WalError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.wal");
    fs::write(&path, bytes).unwrap();
    let mut log = WalReader::<EventCodec>::open(&path)?;
    let mut events = Vec::new();
    while let Some(event) = log.next()? {
        events.push(event);
    }
    Ok((events, log.cut()))
}

#[test]
fn a_log_cut_at_any_byte_opens_with_what_was_whole_before_it() {
    let specimen = specimen(5);
    for length in 0..=specimen.bytes.len() {
        let (events, cut) = read(&specimen.bytes[..length]).unwrap();
        let whole = specimen.ends.iter().filter(|&&end| end <= length).count();
        assert_eq!(events, specimen.events[..whole.saturating_sub(2)]);
        let good = specimen.ends[..whole].last().copied().unwrap_or(0);
        let expected = (good < length || whole == 0).then_some(Cut {
            offset: good as u64,
            bytes: (length - good) as u64,
        });
        assert_eq!(cut, expected, "cut at byte {length}");
    }
}

#[test]
fn zeros_behind_the_last_entry_are_cut() {
    let mut specimen = specimen(3);
    let good = specimen.bytes.len();
    specimen.bytes.resize(good + 5000, 0);
    let (events, cut) = read(&specimen.bytes).unwrap();
    assert_eq!(events, specimen.events);
    assert_eq!(
        cut,
        Some(Cut {
            offset: good as u64,
            bytes: 5000
        })
    );
}

#[test]
fn a_byte_changed_anywhere_is_never_taken_for_data() {
    let specimen = specimen(4);
    let last_entry = specimen.ends[specimen.ends.len() - 2];
    for position in 0..specimen.bytes.len() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut bytes = specimen.bytes.clone();
            bytes[position] ^= flip;
            match read(&bytes) {
                // The last entry may be an incomplete one: it is left out, and said to be.
                Ok((events, cut)) => {
                    assert!(position >= last_entry, "byte {position} was trusted");
                    assert_eq!(events, specimen.events[..3]);
                    assert_eq!(cut.unwrap().offset as usize, last_entry);
                }
                Err(WalError::Damaged { offset }) => {
                    let frame = specimen.ends.iter().rfind(|&&end| end <= position);
                    assert_eq!(Some(&(offset as usize)), frame);
                }
                Err(WalError::Foreign | WalError::TooNew { .. }) => assert!(position < 8),
                Err(error) => panic!("byte {position}: {error}"),
            }
        }
    }
}

#[test]
fn more_garbage_than_one_entry_is_damage_and_not_a_crash() {
    let mut specimen = specimen(1);
    let offset = specimen.bytes.len() as u64;
    specimen.bytes.resize(specimen.bytes.len() + (17 << 20), 7);
    assert!(matches!(read(&specimen.bytes), Err(WalError::Damaged { offset: at }) if at == offset));
}

#[test]
fn a_reader_that_meets_a_half_written_entry_goes_on_when_it_is_whole() {
    let specimen = specimen(2);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.wal");
    let half = specimen.ends[2] + 5;
    fs::write(&path, &specimen.bytes[..half]).unwrap();
    let mut log = WalReader::<EventCodec>::open(&path).unwrap();
    assert_eq!(log.next().unwrap(), Some(specimen.events[0].clone()));
    // The reader's buffer holds the half; the file holds the whole.
    fs::write(&path, &specimen.bytes).unwrap();
    assert_eq!(log.next().unwrap(), Some(specimen.events[1].clone()));
    assert_eq!(log.next().unwrap(), None);
    assert_eq!(log.cut(), None);
}

#[test]
fn a_log_of_the_other_kind_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.wal");
    WalWriter::<EventCodec>::create(&path).unwrap();
    assert!(matches!(
        WalReader::<SampleCodec>::open(&path),
        Err(WalError::Vocabulary(_))
    ));
}

fn sample() -> Sample {
    Sample {
        at: Micros(1),
        interval: Micros(2),
        gap: Some(GapReason::Unreadable),
        readings: [(Measure::ALL[0], 0.5), (Measure::ALL[1], 0.25)]
            .into_iter()
            .collect(),
        parts: vec![PartReading {
            kind: PartKind::Process,
            name: "1 init".to_owned(),
            readings: [(PartMeasure::Threads, 1.0)].into_iter().collect(),
        }],
    }
}

#[test]
fn numbers_mean_what_the_dictionary_of_their_own_log_says() {
    // A later vocabulary: two measures have changed places, one is new.
    let dictionary = String::from_utf8(SampleCodec::dictionary()).unwrap();
    let (first, second) = (Measure::ALL[0].name(), Measure::ALL[1].name());
    let later = dictionary
        .replace(first, "\0")
        .replace(second, first)
        .replace('\0', second);
    let codec = SampleCodec::from_dictionary(later.as_bytes()).unwrap();
    let mut payload = Vec::new();
    SampleCodec::encode(&sample(), &mut payload);
    let mut expected = sample();
    expected.readings = [(Measure::ALL[0], 0.25), (Measure::ALL[1], 0.5)]
        .into_iter()
        .collect();
    assert_eq!(codec.decode(&payload), Some(expected));

    let renamed = dictionary.replace(first, "node_eclipses_count");
    let codec = SampleCodec::from_dictionary(renamed.as_bytes()).unwrap();
    let mut expected = sample();
    expected.readings = [(Measure::ALL[1], 0.25)].into_iter().collect();
    assert_eq!(codec.decode(&payload), Some(expected));

    // A reason that cannot be named cannot be passed over either.
    let renamed = dictionary.replace("gap late", "gap eclipse");
    assert_eq!(
        SampleCodec::from_dictionary(renamed.as_bytes())
            .err()
            .unwrap()
            .to_string(),
        "the log speaks of `eclipse`, which this version of Paceline does not know"
    );
}

#[test]
fn the_order_of_each_vocabulary_is_the_order_of_its_numbers() {
    assert!(
        Measure::ALL
            .iter()
            .enumerate()
            .all(|(i, &m)| m as usize == i)
    );
    assert!(
        PartMeasure::ALL
            .iter()
            .enumerate()
            .all(|(i, &m)| m as usize == i)
    );
    assert!(
        PartKind::ALL
            .iter()
            .enumerate()
            .all(|(i, &k)| k as usize == i)
    );
    assert!(
        GapReason::ALL
            .iter()
            .enumerate()
            .all(|(i, &g)| g as usize == i)
    );
    assert!(
        EventKind::ALL
            .iter()
            .enumerate()
            .all(|(i, &k)| k as usize == i)
    );
}

#[test]
fn a_text_of_megabytes_is_cut_and_says_so() {
    let mut long = event(0);
    long.text = Some("ü".repeat(1 << 20));
    let mut payload = Vec::new();
    EventCodec::encode(&long, &mut payload);
    let codec = EventCodec::from_dictionary(&EventCodec::dictionary()).unwrap();
    let text = codec.decode(&payload).unwrap().text.unwrap();
    assert!(text.ends_with("ü… (2031616 bytes cut)"));
    assert!(text.len() < 66_000);
}

#[test]
fn an_entry_that_did_not_fit_leaves_the_log_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("samples.wal");
    let mut log = WalWriter::<SampleCodec>::create(&path).unwrap();
    log.append(&sample()).unwrap();
    let before = fs::read(&path).unwrap();
    let mut huge = sample();
    let part = PartReading {
        name: "x".repeat(60_000),
        ..huge.parts[0].clone()
    };
    huge.parts = vec![part; 300];
    let error = log.append(&huge).unwrap_err();
    assert!(
        matches!(error, WriteRecordError::FrameSize { .. }),
        "{error}"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    log.append(&sample()).unwrap();
}

proptest! {
    #[test]
    fn bytes_that_nobody_wrote_are_refused_without_a_panic(
        junk in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let codec = SampleCodec::from_dictionary(&SampleCodec::dictionary()).unwrap();
        let _ = codec.decode(&junk);
        let codec = EventCodec::from_dictionary(&EventCodec::dictionary()).unwrap();
        let _ = codec.decode(&junk);
        let _ = SampleCodec::from_dictionary(&junk);
        let _ = read(&junk);
        let mut after_header = specimen(0).bytes;
        after_header.extend_from_slice(&junk);
        let (events, _) = read(&after_header).unwrap();
        prop_assert!(events.is_empty());
    }
}
