//! A trained model on disk.

use std::collections::BTreeMap;
use std::path::Path;

use paceline_learn::{
    KernelSvmModel, KernelSvmParts, LinearClassifierModel, LinearClassifierParts, PartsError,
    RandomForestClassifierModel, RandomForestClassifierParts, SupportVectors, SvmKernel,
};

use super::model::{ClassicModel, Machine};
use super::spec::ClassicSpec;
use crate::checkpoint::LoadCheckpointError;
use crate::tensors::{Numbers, Tensor, TensorFile};

/// The version of the words and tensors below. A later reader refuses a newer
/// one.
const FORMAT: &str = "1";

impl ClassicModel {
    /// The model as a file, with the caller's own words. `model` is the model's
    /// name and is set here.
    pub fn to_file(&self, mut words: BTreeMap<String, String>) -> TensorFile {
        let mut tensors = BTreeMap::new();
        let mut put = |name: &str, numbers: Numbers| {
            tensors.insert(name.to_owned(), flat(numbers));
        };
        let (classes, columns, converged) = match &self.machine {
            Machine::Kernel(model) => {
                let parts = model.to_parts();
                let SvmKernel::Rbf { gamma } = parts.kernel else {
                    unreachable!("only the Gaussian kernel has a name")
                };
                put("kernel.gamma", Numbers::F64(vec![gamma]));
                put("support.counts", Numbers::U32(parts.support_counts.clone()));
                put("support.weights", Numbers::F32(parts.weights));
                put("thresholds", Numbers::F32(parts.thresholds));
                match parts.vectors {
                    SupportVectors::Dense(values) => {
                        put("support.values", Numbers::F32(values));
                    }
                    SupportVectors::Sparse {
                        starts,
                        places,
                        values,
                    } => {
                        let lengths = starts.windows(2).map(|pair| (pair[1] - pair[0]) as u32);
                        put("support.lengths", Numbers::U32(lengths.collect()));
                        put("support.columns", Numbers::U32(places));
                        put("support.values", Numbers::F32(values));
                    }
                }
                (parts.support_counts.len(), parts.columns, parts.converged)
            }
            Machine::Linear(model) => {
                let parts = model.to_parts();
                put("weights", Numbers::F32(parts.weights));
                put("intercepts", Numbers::F32(parts.intercepts));
                (parts.classes, parts.columns, parts.converged)
            }
            Machine::Forest(model) => {
                let parts = model.to_parts();
                put("tree.roots", Numbers::U32(parts.roots));
                put("node.features", Numbers::U32(parts.features));
                put("node.thresholds", Numbers::F32(parts.thresholds));
                put("node.lefts", Numbers::U32(parts.lefts));
                put("node.leaves", Numbers::U32(parts.leaves));
                put("leaf.shares", Numbers::F32(parts.shares));
                (parts.classes, parts.columns, true)
            }
        };
        words.extend([
            ("model".to_owned(), self.spec.to_string()),
            ("paceline.format".to_owned(), FORMAT.to_owned()),
            ("paceline.classes".to_owned(), classes.to_string()),
            ("paceline.columns".to_owned(), columns.to_string()),
            ("paceline.converged".to_owned(), converged.to_string()),
        ]);
        TensorFile { words, tensors }
    }

    /// Takes a model out of a file that has been read, and checks it: a model
    /// that was not made by [`ClassicModel::to_file`] is refused, not asked.
    pub fn from_file(file: TensorFile, path: &Path) -> Result<Self, LoadCheckpointError> {
        let content = |what: String| LoadCheckpointError::Content {
            path: path.to_owned(),
            what,
        };
        let mut stored = Stored(file);
        stored.model().map_err(content)
    }
}

/// What is left of a file while a model is taken out of it. Errors are words
/// for [`LoadCheckpointError::Content`].
struct Stored(TensorFile);

impl Stored {
    fn model(&mut self) -> Result<ClassicModel, String> {
        let format = self.word("paceline.format")?;
        if format != FORMAT {
            return Err(format!(
                "the checkpoint has format {format}, this version reads format {FORMAT}"
            ));
        }
        let spec: ClassicSpec = self.word("model")?.parse().map_err(says)?;
        let classes: usize = self.number("paceline.classes")?;
        let columns: usize = self.number("paceline.columns")?;
        let converged: bool = self.number("paceline.converged")?;
        let machine = match spec {
            ClassicSpec::RbfSvm { .. } => {
                let machine = self.kernel(columns, converged)?;
                if machine.classes() != classes {
                    return Err(format!(
                        "{} classes have counts, not {classes}",
                        machine.classes()
                    ));
                }
                Machine::Kernel(machine)
            }
            ClassicSpec::LinearSvm { .. } | ClassicSpec::Logistic { .. } => {
                let parts = LinearClassifierParts {
                    classes,
                    columns,
                    weights: self.f32s("weights")?,
                    intercepts: self.f32s("intercepts")?,
                    converged,
                };
                Machine::Linear(LinearClassifierModel::from_parts(parts).map_err(unfit)?)
            }
            ClassicSpec::Forest { .. } => {
                let parts = RandomForestClassifierParts {
                    classes,
                    columns,
                    roots: self.u32s("tree.roots")?,
                    features: self.u32s("node.features")?,
                    thresholds: self.f32s("node.thresholds")?,
                    lefts: self.u32s("node.lefts")?,
                    leaves: self.u32s("node.leaves")?,
                    shares: self.f32s("leaf.shares")?,
                };
                Machine::Forest(RandomForestClassifierModel::from_parts(parts).map_err(unfit)?)
            }
        };
        if let Some(name) = self.0.tensors.keys().next() {
            return Err(format!(
                "the checkpoint has a tensor `{name}` that this model lacks"
            ));
        }
        Ok(ClassicModel { spec, machine })
    }

    fn kernel(&mut self, columns: usize, converged: bool) -> Result<KernelSvmModel, String> {
        let gamma = match self.take("kernel.gamma")? {
            Numbers::F64(values) if values.len() == 1 => values[0],
            _ => return Err("`kernel.gamma` is not one number of double precision".to_owned()),
        };
        let values = self.f32s("support.values")?;
        let vectors = if self.0.tensors.contains_key("support.lengths") {
            let mut starts = vec![0_u64];
            let mut end = 0;
            for length in self.u32s("support.lengths")? {
                end += u64::from(length);
                starts.push(end);
            }
            SupportVectors::Sparse {
                starts,
                places: self.u32s("support.columns")?,
                values,
            }
        } else {
            SupportVectors::Dense(values)
        };
        let parts = KernelSvmParts {
            kernel: SvmKernel::Rbf { gamma },
            columns,
            support_counts: self.u32s("support.counts")?,
            vectors,
            weights: self.f32s("support.weights")?,
            thresholds: self.f32s("thresholds")?,
            converged,
        };
        KernelSvmModel::from_parts(parts).map_err(unfit)
    }

    fn word(&self, key: &str) -> Result<&str, String> {
        let word = self.0.words.get(key).map(String::as_str);
        word.ok_or_else(|| format!("the checkpoint does not say its {key}"))
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Result<T, String> {
        let word = self.word(key)?;
        word.parse()
            .map_err(|_| format!("{key} is `{word}`, which it cannot be"))
    }

    fn take(&mut self, name: &str) -> Result<Numbers, String> {
        let tensor = self.0.tensors.remove(name);
        tensor
            .map(|tensor| tensor.numbers)
            .ok_or_else(|| format!("the checkpoint has no tensor `{name}`"))
    }

    fn f32s(&mut self, name: &str) -> Result<Vec<f32>, String> {
        match self.take(name)? {
            Numbers::F32(values) => Ok(values),
            _ => Err(format!("tensor `{name}` is not of single precision")),
        }
    }

    fn u32s(&mut self, name: &str) -> Result<Vec<u32>, String> {
        match self.take(name)? {
            Numbers::U32(values) => Ok(values),
            _ => Err(format!("tensor `{name}` is not of indexes")),
        }
    }
}

fn flat(numbers: Numbers) -> Tensor {
    let length = match &numbers {
        Numbers::F32(values) => values.len(),
        Numbers::F64(values) => values.len(),
        Numbers::U32(values) => values.len(),
    };
    Tensor {
        shape: vec![length],
        numbers,
    }
}

fn says(error: impl std::error::Error) -> String {
    error.to_string()
}

fn unfit(error: PartsError) -> String {
    format!("the tensors are no trained model: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_data::{DataSpec, Options, Split};

    fn open(words: &str) -> Split {
        let spec: DataSpec = words.parse().unwrap();
        paceline_data::open(&spec, &Options::default()).unwrap()
    }

    fn fit(name: &str, data: &Split) -> ClassicModel {
        let spec: ClassicSpec = name.parse().unwrap();
        spec.fit(&data.train, 1, 1).unwrap().model
    }

    fn models() -> Vec<ClassicModel> {
        let dense = open("synthetic:blobs,rows=60,test=20,width=4,classes=3");
        let sparse = open("synthetic:sparse,rows=60,test=20,width=30,entries=4");
        let names = [
            "svm-rbf:C=2,gamma=0.1",
            "svm-linear",
            "logistic-exact",
            "forest:3",
        ];
        [&dense, &sparse]
            .into_iter()
            .flat_map(|data| names.map(|name| fit(name, data)))
            .collect()
    }

    fn path() -> &'static Path {
        Path::new("model.safetensors")
    }

    #[test]
    fn a_model_comes_back_from_disk_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.safetensors");
        for model in models() {
            let words = [("data".to_owned(), "blobs".to_owned())].into();
            model.to_file(words).write(&path).unwrap();
            let file = TensorFile::read(&path).unwrap();
            assert_eq!(file.words["data"], "blobs");
            assert_eq!(ClassicModel::from_file(file, &path).unwrap(), model);
        }
    }

    #[test]
    fn a_file_that_lacks_or_adds_anything_is_refused() {
        for model in models() {
            let whole = model.to_file(BTreeMap::new());
            for name in whole.tensors.keys() {
                let mut file = whole.clone();
                file.tensors.remove(name);
                assert!(ClassicModel::from_file(file, path()).is_err(), "{name}");
                let mut file = whole.clone();
                let numbers = Numbers::F64(vec![0.5; 2]);
                file.tensors.insert(name.clone(), flat(numbers));
                assert!(ClassicModel::from_file(file, path()).is_err(), "{name}");
            }
            for key in whole.words.keys() {
                let mut file = whole.clone();
                file.words.remove(key);
                assert!(ClassicModel::from_file(file, path()).is_err(), "{key}");
            }
            let mut file = whole.clone();
            file.tensors
                .insert("more".to_owned(), flat(Numbers::U32(vec![1])));
            let error = ClassicModel::from_file(file, path())
                .unwrap_err()
                .to_string();
            assert!(error.contains("`more`"), "{error}");
            let mut file = whole;
            file.words
                .insert("paceline.format".to_owned(), "2".to_owned());
            let error = ClassicModel::from_file(file, path())
                .unwrap_err()
                .to_string();
            assert!(error.contains("format 2"), "{error}");
        }
    }
}
