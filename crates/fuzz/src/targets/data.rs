//! Data files of every format, nearly right.

use crate::Source;
use paceline_data::{DataSpec, Options, open};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

fn take(path: &Path) {
    let Ok(spec) = path.to_string_lossy().parse::<DataSpec>() else {
        return;
    };
    let options = Options {
        threads: NonZeroUsize::MIN,
        ..Options::default()
    };
    if let Ok(split) = open(&spec, &options) {
        assert!(split.train.rows() > 0, "a split has rows to learn from");
    }
}

pub(super) fn csv(case: u64, dir: &Path) {
    let mut source = Source::new(case);
    let columns = 1 + source.below(5);
    let mut text = String::new();
    if source.once_in(2) {
        let names: Vec<String> = (0..columns).map(|i| format!("c{i}")).collect();
        text.push_str(&names.join(","));
        text.push_str(",label\n");
    }
    for _ in 0..1 + source.below(30) {
        for _ in 0..columns {
            let cell = match source.once_in(12) {
                true => source.number(),
                false => format!("{}.{}", source.below(10), source.below(10)),
            };
            text.push_str(&cell);
            text.push(',');
        }
        text.push_str(source.pick(&["0", "1", "cat", "\"a,b\""]));
        text.push_str(source.pick(&["\n", "\r\n"]));
    }
    let mut bytes = text.into_bytes();
    if source.once_in(2) {
        source.damage(&mut bytes);
    }
    let path = dir.join("t.csv");
    fs::write(&path, bytes).expect("there is room");
    take(&path);
}

pub(super) fn npy(case: u64, dir: &Path) {
    let mut source = Source::new(case);
    let (rows, columns) = (1 + source.below(8), 1 + source.below(4));
    let kind = source.pick(&["<f4", "<f8", "|u1", "<i8", "<i4", ">f4", "|b1", "<c8"]);
    let size = match kind.as_bytes().last() {
        Some(b'8') => 8,
        Some(b'1') => 1,
        _ => 4,
    };
    let shape = match source.below(8) {
        0 => "()".to_owned(),
        1 => format!("({rows},)"),
        2 => format!("({}, {columns})", u64::MAX),
        3 => "(99999999999, 99999999999)".to_owned(),
        _ => format!("({rows}, {columns})"),
    };
    let order = source.pick(&["False", "False", "True", "Maybe"]);
    let header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend((0..rows * columns * size).map(|i| i as u8));
    if source.once_in(2) {
        source.damage(&mut bytes);
    }
    let path = dir.join("x.npy");
    fs::write(&path, bytes).expect("there is room");
    let mut labels = b"\x93NUMPY\x01\x00".to_vec();
    let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({rows},), }}\n");
    labels.extend_from_slice(&(header.len() as u16).to_le_bytes());
    labels.extend_from_slice(header.as_bytes());
    labels.extend((0..rows).flat_map(|i| ((i % 2) as i64).to_le_bytes()));
    for name in ["x.labels.npy", "x_labels.npy", "y.npy"] {
        fs::write(dir.join(name), &labels).expect("there is room");
    }
    take(&path);
}

pub(super) fn libsvm_and_idx(case: u64, dir: &Path) {
    let mut source = Source::new(case);
    if source.once_in(2) {
        let mut text = String::new();
        for _ in 0..1 + source.below(20) {
            text.push_str(source.pick(&["+1", "-1", "0", "2.5", "x"]));
            let mut column = 0;
            for _ in 0..source.below(6) {
                column += 1 + source.below(3);
                let value = match source.once_in(10) {
                    true => source.number(),
                    false => format!("{}.5", source.below(10)),
                };
                text.push_str(&format!(" {column}:{value}"));
            }
            if source.once_in(8) {
                text.push_str(" # said so");
            }
            text.push('\n');
        }
        let mut bytes = text.into_bytes();
        if source.once_in(2) {
            source.damage(&mut bytes);
        }
        let path = dir.join("t.svm");
        fs::write(&path, bytes).expect("there is room");
        take(&path);
        return;
    }
    let rows = 1 + source.below(6);
    let mut images = vec![0, 0, 8, 3];
    let claimed = if source.once_in(6) {
        u32::MAX
    } else {
        rows as u32
    };
    for extent in [claimed, 2, 2] {
        images.extend_from_slice(&extent.to_be_bytes());
    }
    images.extend(std::iter::repeat_n(7, rows * 4));
    let mut labels = vec![0, 0, 8, 1];
    labels.extend_from_slice(&(rows as u32).to_be_bytes());
    labels.extend((0..rows).map(|row| (row % 2) as u8));
    if source.once_in(2) {
        let damaged = if source.once_in(2) {
            &mut images
        } else {
            &mut labels
        };
        source.damage(damaged);
    }
    for name in ["train", "t10k"] {
        fs::write(dir.join(format!("{name}-images-idx3-ubyte")), &images).expect("there is room");
        fs::write(dir.join(format!("{name}-labels-idx1-ubyte")), &labels).expect("there is room");
    }
    take(dir);
}
