//! Every key of `study.toml`: the one table that the parser, the schema and
//! the reference are made from.

use crate::design::DesignKind;
use crate::engine::{EngineKind, Supply};
use crate::factor::FactorType;
use crate::job::JobKind;
use crate::policy::Noise;
use crate::response::Take;
use crate::words::{ALPHA_WORDS, Word as _};
use paceline_design::{BlockBy, CompositeCube, CompositeShape, Order, Scale};

/// What a key's value looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Text,
    Switch,
    Whole {
        min: i64,
        max: i64,
    },
    Number,
    OneOf(&'static [&'static str]),
    NumberOrOneOf(&'static [&'static str]),
    /// `"90s"` or a number of seconds.
    Duration,
    /// `"4GiB"` or a number of bytes.
    Size,
    /// A list of texts, or one text for the shell.
    Command,
    TextList,
    /// Names with texts.
    TextTable,
    /// Names with levels.
    LevelTable,
    /// At least two levels.
    Levels,
    Expression,
}

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// One sentence for the editor and the reference.
    pub(crate) doc: &'static str,
    /// The designs that read the key; empty if it always has a meaning.
    pub(crate) only: &'static [DesignKind],
}

/// One table of the file.
#[derive(Debug)]
pub(crate) struct SectionKeys {
    /// As the user sees it: `[design]`.
    pub(crate) title: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) keys: &'static [Key],
}

impl SectionKeys {
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.keys.iter().map(|key| key.name)
    }
}

const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key {
        name,
        shape,
        doc,
        only: &[],
    }
}

const fn only(
    kinds: &'static [DesignKind],
    name: &'static str,
    shape: Shape,
    doc: &'static str,
) -> Key {
    Key {
        name,
        shape,
        doc,
        only: kinds,
    }
}

const fn whole(min: i64, max: i64) -> Shape {
    Shape::Whole { min, max }
}

/// The most runs a study may plan, replicates included.
pub(crate) const MAX_RUNS: i64 = 1_000_000;

/// The tables that may stand at the top of the file, with their documentation.
pub(crate) const SECTIONS: &[(&str, &str)] = &[
    ("job", "What one run executes."),
    (
        "fixed",
        "Constants: name = level. Exported and filled in like factors, but they do not vary.",
    ),
    (
        "factors",
        "What varies: name = [levels], or a table with levels or a range.",
    ),
    (
        "design",
        "Which combinations of levels are run, how often and in which order.",
    ),
    (
        "responses",
        "What is measured: name = expression, or a table that reads the log or a metric.",
    ),
    (
        "policy",
        "What happens when a run fails, hangs or is disturbed, and what a run may use.",
    ),
    ("engine", "Where runs execute."),
];

pub(crate) const TOP: SectionKeys = SectionKeys {
    title: "the file",
    doc: "A study: what varies, what is measured, and which combinations are run.",
    keys: &[key(
        "name",
        Shape::Text,
        "The question the study answers, in the user's words.",
    )],
};

const JOB_KIND: Key = key(
    "kind",
    Shape::OneOf(JobKind::WORDS),
    "`command` runs a command of yours (the default); `train` the built-in trainer; `spark-submit` a Spark application of yours.",
);
const JOB_TIMEOUT: Key = key(
    "timeout",
    Shape::Duration,
    "A run that takes longer is ended and counts as failed. The same as `timeout` under [policy].",
);

pub(crate) const COMMAND_JOB: SectionKeys = SectionKeys {
    title: "[job]",
    doc: "A command of yours.",
    keys: &[
        JOB_KIND,
        key(
            "command",
            Shape::Command,
            "The command: a list of arguments, or one text that `sh -c` runs. `{name}` stands for the level of a factor or constant; `{{` and `}}` are braces.",
        ),
        key(
            "cwd",
            Shape::Text,
            "The directory the command starts in, relative to the study file; by default that file's own. `{run_dir}` is a directory of the run's own.",
        ),
        key(
            "env",
            Shape::TextTable,
            "Environment variables; values may hold placeholders.",
        ),
        key(
            "reads_env",
            Shape::Switch,
            "True if the program reads its factors from the environment (`PACELINE_BATCH_SIZE`), so that a factor needs no placeholder.",
        ),
        JOB_TIMEOUT,
    ],
};

pub(crate) const SPARK_JOB: SectionKeys = SectionKeys {
    title: "[job]",
    doc: "A Spark application of yours. Every key that begins with `spark.`, in quotes, is a setting of Spark.",
    keys: &[
        JOB_KIND,
        key(
            "application",
            Shape::Text,
            "The `.py` or `.jar`. `{name}` stands for the level of a factor or constant here and in all texts below.",
        ),
        key("args", Shape::TextList, "The application's own arguments."),
        key(
            "master",
            Shape::Text,
            "Where it runs: `spark://HOST:7077`, `yarn`, `k8s://…`, `local[2]`; what Spark's own settings say by default.",
        ),
        key("class", Shape::Text, "The main class of a jar."),
        key(
            "executors",
            whole(1, 100_000),
            "How many executors it asks for: `spark.executor.instances`, and on a standalone master `spark.cores.max`. Most useful as a factor.",
        ),
        key(
            "executor_cores",
            whole(1, 65_536),
            "The cores of each executor; 1 by default where `executors` is given.",
        ),
        key(
            "executor_memory",
            Shape::Text,
            "The memory of each executor in Spark's words, as in `2g`.",
        ),
        key(
            "extra",
            Shape::TextList,
            "More arguments of spark-submit, as in `[\"--jars\", \"a.jar\"]`.",
        ),
        key(
            "submit",
            Shape::Text,
            "The program that submits; `spark-submit` by default.",
        ),
        key(
            "cwd",
            Shape::Text,
            "The directory it starts in, relative to the study file; by default that file's own.",
        ),
        key(
            "env",
            Shape::TextTable,
            "Environment variables; values may hold placeholders.",
        ),
        key(
            "reads_env",
            Shape::Switch,
            "True if the application reads its factors from the environment (`PACELINE_BATCH_SIZE`), so that a factor needs no placeholder.",
        ),
        JOB_TIMEOUT,
    ],
};

pub(crate) const TRAIN_JOB: SectionKeys = SectionKeys {
    title: "[job]",
    doc: "The built-in trainer. Every other key is an option of the trainer.",
    keys: &[JOB_KIND, JOB_TIMEOUT],
};

pub(crate) const FACTOR: SectionKeys = SectionKeys {
    title: "a factor",
    doc: "A factor with more to say than its levels.",
    keys: &[
        key("levels", Shape::Levels, "The levels, at least two."),
        key("low", Shape::Number, "The low end of a range."),
        key("high", Shape::Number, "The high end of a range."),
        key(
            "steps",
            whole(2, 10_000),
            "How many evenly spaced levels the range becomes, ends included.",
        ),
        key(
            "scale",
            Shape::OneOf(Scale::WORDS),
            "`log` if equal ratios matter rather than equal differences.",
        ),
        key(
            "type",
            Shape::OneOf(FactorType::WORDS),
            "`categorical` if the levels are numbers without an order.",
        ),
    ],
};

use DesignKind as D;

pub(crate) const DESIGN: SectionKeys = SectionKeys {
    title: "[design]",
    doc: "Which combinations of levels are run, how often and in which order.",
    keys: &[
        key(
            "kind",
            Shape::OneOf(D::WORDS),
            "The design; `full` by default.",
        ),
        key(
            "replicates",
            whole(1, MAX_RUNS),
            "How many runs each trial gets; 1 by default.",
        ),
        key(
            "seed",
            whole(0, i64::MAX),
            "The seed of everything random; 1 by default.",
        ),
        key(
            "order",
            Shape::OneOf(Order::WORDS),
            "The order of runs; `random` by default, so that drift does not look like an effect.",
        ),
        only(
            &[D::Fractional],
            "generators",
            Shape::TextList,
            "Which factor is set to which product, as in `F = A*B*C*D*E`; letters count factors (A to Z without I), names work too.",
        ),
        only(
            &[D::Fractional],
            "resolution",
            whole(3, 15),
            "The smallest resolution that is good enough.",
        ),
        only(
            &[
                D::Fractional,
                D::PlackettBurman,
                D::LatinHypercube,
                D::Optimal,
            ],
            "runs",
            whole(2, MAX_RUNS),
            "How many trials the design may have, before replicates.",
        ),
        only(
            &[
                D::TwoLevel,
                D::Fractional,
                D::PlackettBurman,
                D::CentralComposite,
                D::BoxBehnken,
            ],
            "center_points",
            whole(0, 10_000),
            "How many runs at the middle of every numeric factor are added; each kind of design has its own default.",
        ),
        only(
            &[D::CentralComposite],
            "alpha",
            Shape::NumberOrOneOf(ALPHA_WORDS),
            "How far the axial points lie from the centre, in half widths of the cube; `rotatable` by default.",
        ),
        only(
            &[D::CentralComposite],
            "shape",
            Shape::OneOf(CompositeShape::WORDS),
            "Whether the cube or the axial points lie at the ends of the factors; `circumscribed` by default.",
        ),
        only(
            &[D::CentralComposite],
            "cube",
            Shape::OneOf(CompositeCube::WORDS),
            "Whether all corners are run or the smallest fraction of resolution V; `full` by default.",
        ),
        only(
            &[D::Optimal],
            "model",
            Shape::Text,
            "The terms to estimate: `main`, `interactions`, `quadratic`, or a formula such as `a + b + a:b + a^2`.",
        ),
        only(
            &[D::OneAtATime],
            "control",
            Shape::LevelTable,
            "The level each factor keeps while another varies; the first one by default.",
        ),
        key(
            "blocks",
            whole(2, 10_000),
            "Into how many blocks the runs are divided.",
        ),
        key(
            "block_by",
            Shape::OneOf(BlockBy::WORDS),
            "What a block stands for; `time` by default.",
        ),
        key(
            "forbid",
            Shape::TextList,
            "Combinations that are never run, as in `batch_size == 512 and workers == 1`.",
        ),
        key(
            "cost_per_run",
            Shape::Expression,
            "What one run costs, over factors and constants.",
        ),
        only(
            &[D::Optimal],
            "budget",
            Shape::Number,
            "What all runs together may cost; needs `cost_per_run`.",
        ),
        key(
            "warmup",
            whole(0, 10_000),
            "How many runs are made first and discarded; 0 by default.",
        ),
    ],
};

pub(crate) const RESPONSE: SectionKeys = SectionKeys {
    title: "a response",
    doc: "A response that is read from the log or from a metric.",
    keys: &[
        key(
            "expression",
            Shape::Expression,
            "A formula over reported metrics, built-in values, factors and other responses.",
        ),
        key(
            "regex",
            Shape::Text,
            "A regular expression over each line of the log; its first group, or the whole match, is the number.",
        ),
        key(
            "metric",
            Shape::Text,
            "The name of a metric that the run reports.",
        ),
        key(
            "take",
            Shape::OneOf(Take::WORDS),
            "Which of several values counts; `last` by default.",
        ),
        key(
            "unit",
            Shape::Text,
            "The unit of its values, such as `s`, `bytes` or `share` (said in percent); names like `time_s` and `accuracy` say it themselves.",
        ),
    ],
};

pub(crate) const POLICY: SectionKeys = SectionKeys {
    title: "[policy]",
    doc: "What happens when a run fails, hangs or is disturbed, and what a run may use.",
    keys: &[
        key(
            "keep_going",
            Shape::Switch,
            "Whether the study goes on after a failed run; true by default.",
        ),
        key("fail_fast", Shape::Switch, "The opposite of `keep_going`."),
        key(
            "retries",
            whole(0, 1_000),
            "How often a failed run is tried again; 0 by default.",
        ),
        key(
            "timeout",
            Shape::Duration,
            "A run that takes longer is ended and counts as failed.",
        ),
        key(
            "noise",
            Shape::OneOf(Noise::WORDS),
            "What happens to a run that others disturbed; `mark` by default.",
        ),
        key(
            "noise_repeats",
            whole(1, 1_000),
            "How often a disturbed run is repeated at most, with `noise = \"repeat\"`; 3 by default.",
        ),
        key(
            "cpus",
            whole(1, 65_536),
            "To how many CPUs of its own a run is bound; all of them by default.",
        ),
        key(
            "memory",
            Shape::Size,
            "The memory a run may use, where cgroups allow.",
        ),
    ],
};

pub(crate) const ENGINE: SectionKeys = SectionKeys {
    title: "[engine]",
    doc: "Where runs execute.",
    keys: &[
        key(
            "kind",
            Shape::OneOf(EngineKind::WORDS),
            "The engine; `local` by default.",
        ),
        key(
            "hosts",
            Shape::TextList,
            "The hosts of `ssh`, as `~/.ssh/config` names them.",
        ),
        key(
            "nodes",
            whole(1, 100_000),
            "Nodes of a run, unless `nodes` is a factor or a constant; all hosts of `ssh` by default, one of any other.",
        ),
        key(
            "tasks_per_node",
            whole(1, 4096),
            "Commands of a run on each of its nodes, unless it is a factor or a constant; 1 by default.",
        ),
        key(
            "binary",
            Shape::OneOf(Supply::WORDS),
            "Whether Paceline's program is copied to the nodes, once per content (`ship`, the default), or found there at the same path (`shared`).",
        ),
        key(
            "data",
            Shape::OneOf(Supply::WORDS),
            "Whether the files beside the study are copied to the nodes, once per content (`ship`), or found there at the same path (`shared`, the default).",
        ),
        key(
            "ssh_config",
            Shape::Text,
            "The configuration file of OpenSSH; the user's own by default.",
        ),
        key(
            "address",
            Shape::Text,
            "Where nodes reach this machine, as HOST or HOST:PORT; the address from which they were reached by default.",
        ),
        key(
            "silence",
            Shape::Duration,
            "After how long without a word a node is lost, and ends what runs on it; `\"20s\"` by default.",
        ),
        key("partition", Shape::Text, "The partition of `slurm`."),
        key("account", Shape::Text, "The account of `slurm`."),
        key("qos", Shape::Text, "The quality of service of `slurm`."),
        key(
            "time",
            Shape::Duration,
            "The time limit of an allocation of `slurm`.",
        ),
        key(
            "extra",
            Shape::TextList,
            "Further options of `sbatch`, such as `\"--constraint=gpu\"`.",
        ),
        key(
            "pilot",
            Shape::Switch,
            "Whether all runs share one allocation of `slurm`, so that each waits for nobody; `false` by default.",
        ),
        key(
            "master",
            Shape::Text,
            "The cluster of `spark`, such as `\"spark://HOST:7077\"`, `\"yarn\"` or `\"k8s://https://HOST:6443\"`; what Spark's own files say by default.",
        ),
        key(
            "executor_cores",
            whole(1, 4096),
            "Cores of each executor of `spark`, to which a run's commands are bound, unless it is a factor or a constant; 1 by default.",
        ),
        key(
            "executor_memory",
            Shape::Text,
            "Memory of each executor's Java on `spark`, as in `\"600m\"`; commands run beside it.",
        ),
        key(
            "conf",
            Shape::TextTable,
            "Any settings of `spark`, as in `{ \"spark.yarn.queue\" = \"research\" }`.",
        ),
        key(
            "spark_home",
            Shape::Text,
            "Where Spark is installed; `$SPARK_HOME`, the `pyspark` of the Python, or the `spark-submit` on the `PATH` by default.",
        ),
        key(
            "python",
            Shape::Text,
            "The Python of driver and executors of `spark` (`$PYSPARK_PYTHON` or `python3` by default), or of the driver of `ray` (`python3`).",
        ),
        key(
            "dashboard",
            Shape::Text,
            "Where the jobs API of `ray` listens, as `\"http://HOST:8265\"`.",
        ),
        key(
            "token_file",
            Shape::Text,
            "The file with the bearer token of `ray`; `$RAY_AUTH_TOKEN`, `$RAY_AUTH_TOKEN_PATH` or none by default.",
        ),
        key(
            "bundle",
            Shape::LevelTable,
            "What is reserved on each node of `ray`, as in `{ CPU = 2, GPU = 1 }`; one `CPU` by default.",
        ),
        key(
            "wait",
            Shape::Duration,
            "How long a run may wait for its nodes on `spark` and `ray`; `\"5m\"` by default.",
        ),
    ],
};
