//! Named tensors in one safetensors file, with a checksum.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, View};

/// The key under which the checksum of all tensors is kept.
const CHECKSUM: &str = "paceline.crc32";
/// How a checksum begins that covers the tensors' types and shapes too.
const WITH_FORM: &str = "2:";

/// Files beyond this are refused before they are read into memory.
const LARGEST_FILE: u64 = 64 << 30;

/// What a checkpoint file holds: words and numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorFile {
    /// Words by key.
    pub words: BTreeMap<String, String>,
    /// Numbers by name.
    pub tensors: BTreeMap<String, Tensor>,
}

/// An array of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its extents, outermost first.
    pub shape: Vec<usize>,
    /// Its numbers, the last index running fastest.
    pub numbers: Numbers,
}

/// The kinds of numbers a checkpoint holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Indexes.
    U32(Vec<u32>),
}

/// Why a checkpoint could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadTensorsError {
    /// The file could not be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no safetensors file, or is cut short.
    #[error("{path} is not a whole safetensors file: {source}")]
    Form {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: safetensors::SafeTensorError,
    },
    /// The file was not written by Paceline, or its bytes have changed.
    #[error("{path} is damaged or not a checkpoint of Paceline: {what}")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// Why a checkpoint could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteTensorsError {
    /// The tensors do not fit the format.
    #[error("the checkpoint cannot be encoded: {0}")]
    Form(#[from] safetensors::SafeTensorError),
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] paceline_files::WriteError),
}

impl TensorFile {
    /// Writes the file so that at any instant, power loss included, `path` is
    /// either the old file or the whole new one.
    pub fn write(&self, path: &Path) -> Result<(), WriteTensorsError> {
        let mut words: HashMap<String, String> = self.words.clone().into_iter().collect();
        words.insert(CHECKSUM.to_owned(), self.checksum());
        let bytes = safetensors::tensor::serialize(&self.tensors, Some(words))?;
        paceline_files::write(path, &bytes)?;
        Ok(())
    }

    /// Reads a file and checks it.
    pub fn read(path: &Path) -> Result<Self, ReadTensorsError> {
        let io = |source| ReadTensorsError::Io {
            path: path.to_owned(),
            source,
        };
        let bytes = paceline_files::read_regular(path, LARGEST_FILE)
            .map_err(|error| io(error.into_io()))?;
        Self::decode(&bytes, path)
    }

    fn decode(bytes: &[u8], path: &Path) -> Result<Self, ReadTensorsError> {
        let damaged = |what: String| ReadTensorsError::Damaged {
            path: path.to_owned(),
            what,
        };
        let form = |source| ReadTensorsError::Form {
            path: path.to_owned(),
            source,
        };
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(form)?;
        let mut words: BTreeMap<String, String> = header
            .metadata()
            .clone()
            .unwrap_or_default()
            .into_iter()
            .collect();
        let file = SafeTensors::deserialize(bytes).map_err(form)?;
        let mut tensors = BTreeMap::new();
        for (name, view) in file.tensors() {
            let data = view.data();
            let numbers = match view.dtype() {
                Dtype::F32 => Numbers::F32(decode_all(data, f32::from_le_bytes)),
                Dtype::F64 => Numbers::F64(decode_all(data, f64::from_le_bytes)),
                Dtype::U32 => Numbers::U32(decode_all(data, u32::from_le_bytes)),
                other => return Err(damaged(format!("tensor `{name}` has type {other:?}"))),
            };
            let shape = view.shape().to_vec();
            tensors.insert(name, Tensor { shape, numbers });
        }
        let stated = words
            .remove(CHECKSUM)
            .ok_or_else(|| damaged("it has no checksum".to_owned()))?;
        let found = Self { words, tensors };
        // Files of earlier versions have the checksum of words and numbers alone.
        let is_earlier = !stated.starts_with(WITH_FORM);
        let fits = match is_earlier {
            true => stated == format!("{:08x}", found.hash(false)),
            false => stated == found.checksum(),
        };
        if !fits {
            return Err(damaged("its checksum does not fit its content".to_owned()));
        }
        Ok(found)
    }

    /// Over everything: words, numbers, and what the numbers are.
    fn checksum(&self) -> String {
        format!("{WITH_FORM}{:08x}", self.hash(true))
    }

    fn hash(&self, with_form: bool) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for (key, word) in &self.words {
            hasher.update(key.as_bytes());
            hasher.update(&[0]);
            hasher.update(word.as_bytes());
            hasher.update(&[0]);
        }
        for (name, tensor) in &self.tensors {
            hasher.update(name.as_bytes());
            hasher.update(&[0]);
            if with_form {
                let kind = match tensor.numbers {
                    Numbers::F32(_) => 1,
                    Numbers::F64(_) => 2,
                    Numbers::U32(_) => 3,
                };
                hasher.update(&[kind]);
                hasher.update(&(tensor.shape.len() as u64).to_le_bytes());
                for extent in &tensor.shape {
                    hasher.update(&(*extent as u64).to_le_bytes());
                }
            }
            hasher.update(&tensor.bytes());
        }
        hasher.finalize()
    }
}

fn decode_all<T, const N: usize>(data: &[u8], decode: impl Fn([u8; N]) -> T) -> Vec<T> {
    data.as_chunks()
        .0
        .iter()
        .map(|bytes| decode(*bytes))
        .collect()
}

impl Tensor {
    /// A vector of single-precision numbers.
    pub fn floats(shape: Vec<usize>, values: Vec<f32>) -> Self {
        assert_eq!(
            shape.iter().product::<usize>(),
            values.len(),
            "a tensor has as many numbers as its shape says"
        );
        Self {
            shape,
            numbers: Numbers::F32(values),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match &self.numbers {
            Numbers::F32(values) => values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
            Numbers::F64(values) => values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
            Numbers::U32(values) => values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        }
    }
}

impl View for &Tensor {
    fn dtype(&self) -> Dtype {
        match self.numbers {
            Numbers::F32(_) => Dtype::F32,
            Numbers::F64(_) => Dtype::F64,
            Numbers::U32(_) => Dtype::U32,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(self.bytes())
    }

    fn data_len(&self) -> usize {
        match &self.numbers {
            Numbers::F32(values) => values.len() * 4,
            Numbers::F64(values) => values.len() * 8,
            Numbers::U32(values) => values.len() * 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> TensorFile {
        TensorFile {
            words: [("paceline.model".to_owned(), "softmax".to_owned())].into(),
            tensors: [
                (
                    "weight".to_owned(),
                    Tensor::floats(vec![2, 3], vec![1.0, -2.5, 0.0, 4.0, 5.5, f32::MIN]),
                ),
                (
                    "starts".to_owned(),
                    Tensor {
                        shape: vec![2],
                        numbers: Numbers::U32(vec![0, 7]),
                    },
                ),
            ]
            .into(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.safetensors");
        example().write(&path).unwrap();
        assert_eq!(TensorFile::read(&path).unwrap(), example());
    }

    #[test]
    fn a_file_of_an_earlier_version_is_read() {
        let file = example();
        let mut words: HashMap<String, String> = file.words.clone().into_iter().collect();
        words.insert(CHECKSUM.to_owned(), format!("{:08x}", file.hash(false)));
        let bytes = safetensors::tensor::serialize(&file.tensors, Some(words)).unwrap();
        let read = TensorFile::decode(&bytes, Path::new("earlier")).unwrap();
        assert_eq!(read, file);
    }

    /// Found by fuzzing: numbers that were read as others of the same size.
    #[test]
    fn a_changed_type_and_a_changed_shape_are_noticed() {
        let file = example();
        let words = [(CHECKSUM.to_owned(), file.checksum())]
            .into_iter()
            .chain(file.words.clone());
        let words: HashMap<String, String> = words.collect();
        let mut others = [file.clone(), file.clone()];
        others[0].tensors.insert(
            "starts".to_owned(),
            Tensor::floats(vec![2], vec![f32::from_bits(0), f32::from_bits(7)]),
        );
        others[1].tensors.get_mut("weight").unwrap().shape = vec![3, 2];
        for other in others {
            let bytes =
                safetensors::tensor::serialize(&other.tensors, Some(words.clone())).unwrap();
            let read = TensorFile::decode(&bytes, Path::new("changed"));
            assert!(
                matches!(read, Err(ReadTensorsError::Damaged { .. })),
                "{read:?}"
            );
        }
    }

    #[test]
    fn every_cut_and_every_flipped_byte_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.safetensors");
        example().write(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for end in 0..whole.len() {
            assert!(
                TensorFile::decode(&whole[..end], &path).is_err(),
                "cut at {end}"
            );
        }
        for place in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[place] ^= 1;
            let read = TensorFile::decode(&flipped, &path);
            // A changed blank between the header's tokens carries no meaning.
            assert!(
                read.is_err() || read.unwrap() == example(),
                "flipped byte {place}"
            );
        }
    }
}
