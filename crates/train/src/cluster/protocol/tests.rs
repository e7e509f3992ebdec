//! Every message survives its bytes, and no bytes make decoding panic.

use std::borrow::Cow;
use std::time::Duration;

use paceline_nets::Tally;
use paceline_wire::{Header, Kind, Payload};
use proptest::array::{uniform2, uniform3, uniform14};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::Union;

use super::*;
use crate::cluster::milestones::{Due, Milestones};
use crate::cluster::totals::WorkerTotals;

/// Numbers of a payload, kept for messages that borrow them.
#[derive(Clone, Debug)]
enum Values {
    Dense(Vec<f32>),
    Half(Vec<u16>),
    Rows {
        width: u32,
        rows: Vec<u32>,
        values: Vec<f32>,
    },
    Sparse {
        indices: Vec<u32>,
        values: Vec<f32>,
    },
    Bytes(Vec<u8>),
}

impl Values {
    fn payload(&self) -> Payload<'_> {
        match self {
            Self::Dense(values) => Payload::Dense(values),
            Self::Half(values) => Payload::Half(values),
            Self::Rows {
                width,
                rows,
                values,
            } => Payload::Rows {
                width: *width,
                rows,
                values,
            },
            Self::Sparse { indices, values } => Payload::Sparse { indices, values },
            Self::Bytes(bytes) => Payload::Bytes(bytes),
        }
    }
}

/// What a clock or a number of rows may be.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![0..1000_u64, 0..=MOST_COUNT]
}

/// Without NaN, which equals nothing.
fn float() -> impl Strategy<Value = f32> {
    any::<f32>().prop_filter("a number", |value| !value.is_nan())
}

fn numbers() -> impl Strategy<Value = Values> {
    let rows = (1u32..4, vec(any::<u32>(), 0..5)).prop_flat_map(|(width, rows)| {
        let count = rows.len() * width as usize;
        vec(float(), count).prop_map(move |values| Values::Rows {
            width,
            rows: rows.clone(),
            values,
        })
    });
    prop_oneof![
        vec(float(), 0..20).prop_map(Values::Dense),
        vec(any::<u16>(), 0..20).prop_map(Values::Half),
        rows,
        vec((any::<u32>(), float()), 0..9).prop_map(|pairs| {
            let (indices, values) = pairs.into_iter().unzip();
            Values::Sparse { indices, values }
        }),
    ]
}

fn payloads() -> impl Strategy<Value = Values> {
    prop_oneof![numbers(), vec(any::<u8>(), 0..400).prop_map(Values::Bytes)]
}

fn tally() -> impl Strategy<Value = Tally> {
    (-1e9..1e9, count(), count()).prop_map(|(loss, hits, rows)| Tally { loss, hits, rows })
}

fn totals() -> impl Strategy<Value = WorkerTotals> {
    (uniform14(count()), any::<u32>(), vec(any::<u64>(), 0..5)).prop_map(
        |(numbers, restarts, waited_for)| {
            let time = |place: usize| Duration::from_nanos(numbers[place]);
            WorkerTotals {
                iterations: numbers[0],
                rows: numbers[1],
                computing: time(2),
                waiting: time(3),
                sending: time(4),
                receiving: time(5),
                serialising: time(11),
                on_wire: time(12),
                queued: time(13),
                bytes_sent: numbers[6],
                bytes_received: numbers[7],
                staleness_sum: numbers[8],
                staleness_most: numbers[9],
                dropped: numbers[10],
                restarts,
                waited_for: waited_for.into_iter().map(Duration::from_nanos).collect(),
            }
        },
    )
}

fn caption() -> impl Strategy<Value = Caption> {
    let due = any::<[bool; 3]>().prop_map(|[evaluation, checkpoint, end]| Due {
        evaluation,
        checkpoint,
        end,
    });
    (uniform2(count()), tally(), due).prop_map(|([steps, optimizer_steps], tally, due)| Caption {
        steps,
        optimizer_steps,
        tally,
        due,
    })
}

fn milestones() -> impl Strategy<Value = Milestones> {
    (1u64.., 1u64.., any::<u64>(), any::<u64>())
        .prop_map(|(a, b, c, d)| Milestones::from_numbers([a, b, c, d]).expect("some are due"))
}

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,40}"
}

fn address() -> impl Strategy<Value = paceline_wire::Address> {
    let text = prop_oneof![
        "tcp://[a-z]{1,9}:[1-9][0-9]{0,3}",
        "tcp://\\[::1\\]:[1-9][0-9]{0,3}",
        "unix:///tmp/[a-z0-9./]{1,9}",
    ];
    text.prop_filter_map("an address", |text| text.parse().ok())
}

fn roster() -> impl Strategy<Value = Roster> {
    let numbers = (any::<u32>(), any::<u32>(), uniform3(count()), any::<bool>());
    (numbers, tally(), milestones(), vec(address(), 0..4)).prop_map(
        |((generation, source, [step, optimizer_steps, taken], stops), tally, due, addresses)| {
            Roster {
                generation,
                source,
                step,
                optimizer_steps,
                tally,
                taken,
                milestones: due,
                stops,
                addresses,
            }
        },
    )
}

fn request() -> impl Strategy<Value = JoinRequest> {
    (uniform2(count()), tally(), address(), text()).prop_map(
        |([step, optimizer_steps], tally, address, identity)| JoinRequest {
            step,
            optimizer_steps,
            tally,
            address,
            identity,
        },
    )
}

/// What messages of all directions are made of.
#[derive(Clone, Debug)]
struct Material {
    long: [u64; 2],
    word: [u32; 2],
    flag: [bool; 2],
    text: String,
    values: Values,
    dense: Vec<f32>,
    tally: Tally,
    totals: Vec<WorkerTotals>,
    caption: Caption,
    milestones: Milestones,
    roster: Roster,
    request: JoinRequest,
}

fn material() -> impl Strategy<Value = Material> {
    let plain = (uniform2(count()), any::<[u32; 2]>(), any::<[bool; 2]>());
    let values = (text(), numbers(), vec(float(), 0..20));
    let state = (tally(), vec(totals(), 1..4), caption(), milestones());
    (plain, values, state, roster(), request()).prop_map(
        |((long, word, flag), (text, values, dense), state, roster, request)| {
            let (tally, totals, caption, milestones) = state;
            Material {
                long,
                word,
                flag,
                text,
                values,
                dense,
                tally,
                totals,
                caption,
                milestones,
                roster,
                request,
            }
        },
    )
}

impl Material {
    fn parts(&self) -> [SnapshotPart<'_>; 3] {
        let values = |buffer| SnapshotPart::Values {
            steps: self.long[0],
            buffer,
            is_last: self.flag[0],
            values: &self.dense,
        };
        [
            SnapshotPart::Caption(self.caption),
            values(Buffer::Parameters),
            values(Buffer::Moment(self.word[0])),
        ]
    }

    fn to_server(&self) -> Vec<ToServer<'_>> {
        vec![
            ToServer::Join {
                identity: &self.text,
            },
            ToServer::Read {
                clock: self.long[0],
            },
            ToServer::Push {
                clock: self.long[0],
                values: self.values.payload(),
                is_last: self.flag[0],
                then_read: self.flag[1],
            },
            ToServer::Totals {
                totals: Cow::Borrowed(&self.totals[0]),
            },
            ToServer::Heartbeat,
            ToServer::ShardsDiffer,
        ]
    }

    fn said_by_server(&self) -> Vec<FromServer<'_>> {
        let grant = Grant {
            clock: self.long[0],
            version: self.long[1],
            waited_for: self.flag[0].then_some(self.word[0] & 0x00FF_FFFE),
            is_late: self.flag[1],
            // Shorter than what is rounded.
            waited: Duration::from_nanos(u64::from(self.word[0] % 16_384)),
            queued: Duration::from_nanos(u64::from(self.word[0] % 1_000)),
        };
        vec![
            FromServer::Welcome {
                clock: self.long[0],
                generation: self.word[0],
            },
            FromServer::Parameters {
                grant,
                values: Payload::Dense(&self.dense),
            },
            FromServer::Refused {
                join_with: self.word[0],
                reason: &self.text,
            },
            FromServer::OtherTraining {
                difference: &self.text,
            },
            FromServer::Heartbeat,
            FromServer::End {
                is_late: self.flag[0],
            },
        ]
    }

    fn to_controller(&self) -> Vec<ToController<'_>> {
        let (worker, words) = (self.word[0], &*self.text);
        let notice = |subject| ToController::Notice { subject, words };
        let working = |activity| ToController::Working { activity };
        let mut all = vec![
            ToController::WorkerJoined { worker },
            ToController::WorkerLost {
                worker,
                is_silent: self.flag[0],
                words,
            },
            ToController::ReplaceWorker {
                worker,
                incarnation: self.word[1],
            },
            ToController::WorkerRequired { worker },
            ToController::Progress {
                steps: self.long[0],
                tally: self.tally,
                totals: Cow::Borrowed(&self.totals),
                is_last: self.flag[0],
            },
            notice(Subject::Connection),
            notice(Subject::WaitingWorker(worker)),
            notice(Subject::OtherTraining),
            ToController::Heartbeat,
            working(Activity::Joining),
            working(Activity::Computing(self.long[0])),
            working(Activity::Summing(self.long[0])),
            ToController::Diverged,
            ToController::ShardsDiffer,
            ToController::OtherTraining { identity: words },
            ToController::JoinGroup(self.request.clone()),
        ];
        all.extend(self.parts().map(ToController::Snapshot));
        all
    }

    fn said_by_controller(&self) -> Vec<FromController<'_>> {
        let (steps, worker) = (self.long[0], self.word[0]);
        let mut all = vec![
            FromController::Begin {
                generation: self.word[0],
                milestones: self.milestones,
                join_within: Duration::from_micros(self.long[0]),
                identity: &self.text,
            },
            FromController::SnapshotTaken { steps },
            FromController::SnapshotWaived,
            FromController::ShowSnapshot { steps },
            FromController::EndAt { step: steps },
            FromController::EndSoon,
            FromController::WorkerGone { worker },
            FromController::Stop,
            FromController::FormGroup(self.roster.clone()),
            FromController::DissolveGroup { generation: worker },
            FromController::OtherTraining {
                difference: &self.text,
            },
        ];
        all.extend(self.parts().map(FromController::Snapshot));
        all
    }
}

/// Checks that every message of a direction is what its frame says, and that
/// the same frame says nothing in another direction but for snapshots.
macro_rules! check_identity {
    ($messages:expr, $direction:ident) => {
        for message in $messages {
            let mut room = Vec::new();
            let (header, payload) = message.encode(&mut room);
            let found = $direction::from_parts(&header, payload);
            prop_assert_eq!(found.as_ref(), Ok(&message));
            let mut again = Vec::new();
            let found = found.expect("it was just compared");
            prop_assert_eq!(found.encode(&mut again), (header, payload));
        }
    };
}

/// Headers as a careless or malicious member would write them: known numbers
/// with wrong fields more often than chance has it.
fn headers() -> impl Strategy<Value = Header> {
    let directions = (1u16..=5).prop_map(|direction| direction << 8);
    let kinds: Union<BoxedStrategy<u16>> = Union::new([
        (directions, 0u16..16).prop_map(|(a, b)| a | b).boxed(),
        any::<u16>().boxed(),
    ]);
    let field = || prop_oneof![0u64..4, Just(u64::MAX), any::<u64>()];
    let flags = prop_oneof![0u8..8, any::<u8>()];
    (kinds, flags, [field(), field(), field()]).prop_map(|(kind, flags, fields)| {
        Header::new(Kind(kind))
            .with_flags(flags)
            .with_fields(fields)
    })
}

fn decode_all(header: &Header, payload: Payload<'_>) {
    let _ = ToServer::from_parts(header, payload);
    let _ = FromServer::from_parts(header, payload);
    let _ = ToController::from_parts(header, payload);
    let _ = FromController::from_parts(header, payload);
    let _ = Grant::announced_by(header);
}

proptest! {
    #[test]
    fn every_message_survives_its_frame(material in material()) {
        check_identity!(material.to_server(), ToServer);
        check_identity!(material.to_controller(), ToController);
        check_identity!(material.said_by_controller(), FromController);
        for message in material.said_by_server() {
            let (header, payload) = message.encode();
            let found = FromServer::from_parts(&header, payload);
            prop_assert_eq!(found.as_ref(), Ok(&message));
            if let FromServer::Parameters { grant, .. } = message {
                prop_assert_eq!(Grant::announced_by(&header), Ok(Some(grant)));
            } else {
                prop_assert_eq!(Grant::announced_by(&header), Ok(None));
            }
        }
    }

    #[test]
    fn a_tally_survives_its_trailer(tally in tally()) {
        prop_assert_eq!(tally_of(&trailer(tally)), tally);
    }

    #[test]
    fn no_frame_makes_decoding_panic(header in headers(), values in payloads()) {
        decode_all(&header, values.payload());
    }

    /// The bytes of sound messages, with some of them changed or cut off.
    #[test]
    fn no_damage_makes_decoding_panic(
        material in material(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        kept in any::<prop::sample::Index>(),
    ) {
        let damage = |header: Header, payload: Payload<'_>| {
            decode_all(&header.with_flags(header.flags ^ byte), payload);
            if let Payload::Bytes(bytes) = payload && !bytes.is_empty() {
                let mut damaged = bytes.to_vec();
                damaged[at.index(bytes.len())] = byte;
                decode_all(&header, Payload::Bytes(&damaged));
                decode_all(&header, Payload::Bytes(&bytes[..kept.index(bytes.len())]));
            }
        };
        for message in material.to_server() {
            let mut room = Vec::new();
            let (header, payload) = message.encode(&mut room);
            damage(header, payload);
        }
        for message in material.to_controller() {
            let mut room = Vec::new();
            let (header, payload) = message.encode(&mut room);
            damage(header, payload);
        }
        for message in material.said_by_controller() {
            let mut room = Vec::new();
            let (header, payload) = message.encode(&mut room);
            damage(header, payload);
        }
    }
}

fn refusal(header: Header, payload: Payload<'_>) -> String {
    ToServer::from_parts(&header, payload)
        .unwrap_err()
        .to_string()
}

#[test]
fn what_is_refused_is_named() {
    let read = Header::new(Kind(0x0102));
    assert_eq!(
        refusal(Header::new(Kind(0x0409)), Payload::NONE),
        "message 0x0409, which nobody sends to a server"
    );
    assert_eq!(
        refusal(read.with_flags(8), Payload::NONE),
        "a malformed message `read`: it has an unknown flag"
    );
    assert_eq!(
        refusal(read.with_fields([1, 0, 7]), Payload::NONE),
        "a malformed message `read`: it has a field too many"
    );
    assert_eq!(
        refusal(read, Payload::Dense(&[1.0])),
        "a malformed message `read`: it has a payload"
    );
    assert_eq!(
        refusal(Header::new(Kind(0x0101)), Payload::Bytes(&[0xff])),
        "a malformed message `join`: its text is not UTF-8"
    );
}

#[test]
fn counts_that_exceed_the_bytes_allocate_nothing() {
    let header = Header::new(Kind(0x0305));
    let mut bytes = vec![0; 24];
    bytes.extend_from_slice(&u64::MAX.to_le_bytes());
    let found = ToController::from_parts(&header, Payload::Bytes(&bytes));
    assert_eq!(
        found.unwrap_err().to_string(),
        "a malformed message `progress`: it is too short"
    );
}
