//! Every kind of problem, as the user reads it.
//!
//! More than 600 lines: one exact message per mistake.

use paceline_study::{Capabilities, RawStudy};

/// A sound study, to which each test does one wrong thing.
const SOUND: &str = r#"name = "batch size"

[job]
command = ["python", "train.py", "--batch-size", "{batch_size}", "--rate", "{rate}"]

[factors]
batch_size = [64, 128]
rate = { levels = [0.001, 0.1], scale = "log" }

[responses]
time = "duration_s"
"#;

/// What the check of `text` says: every problem, or every notice, or nothing.
fn verdict(text: &str, arguments: &[&str]) -> String {
    let study = RawStudy::parse("study.toml", text)
        .and_then(|raw| raw.with_arguments(arguments.iter().copied()))
        .and_then(|raw| raw.check(&Capabilities::LOCAL_COMMANDS));
    match study {
        Ok(study) => study
            .notices()
            .iter()
            .map(|notice| notice.render("study.toml"))
            .collect::<Vec<_>>()
            .join("\n"),
        Err(problems) => problems.to_string(),
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(verdict(text, &[]), expected.trim(), "\n{text}");
}

/// Checks the sound study with `old` replaced by `new`.
#[track_caller]
fn check_with(old: &str, new: &str, expected: &str) {
    assert!(SOUND.contains(old), "the sound study has no {old:?}");
    check(&SOUND.replacen(old, new, 1), expected);
}

/// Checks the sound study with more text at its end.
#[track_caller]
fn check_adding(more: &str, expected: &str) {
    check(&format!("{SOUND}{more}"), expected);
}

/// Checks the sound study with arguments.
#[track_caller]
fn check_arguments(arguments: &[&str], expected: &str) {
    assert_eq!(verdict(SOUND, arguments), expected.trim(), "{arguments:?}");
}

#[test]
fn a_sound_study_has_no_problem() {
    check(SOUND, "");
}

#[test]
fn an_empty_file_lacks_a_job_and_factors() {
    check(
        "",
        r#"
study.toml:1: the study has no factors
hint: add [factors] with batch_size = [64, 128]
study.toml:1: the study has no [job]
hint: add [job] with command = ["python", "train.py", …]"#,
    );
}

#[test]
fn every_syntax_error_is_reported_with_its_line() {
    let said = verdict("name = \n[job]\ncommand = [\n", &[]);
    assert!(said.starts_with("study.toml:1: not valid TOML: "), "{said}");
    assert!(said.lines().count() >= 2, "{said}");
}

#[test]
fn all_unknown_keys_are_reported_at_once_with_the_nearest_name() {
    check(
        &SOUND
            .replace("name =", "nmae =")
            .replace("command =", "cmmand =")
            .replace("scale =", "scael =")
            .replace("[responses]", "[response]"),
        r#"
study.toml:1: unknown key `nmae` in the file
hint: did you mean `name`?
study.toml:3: [job] has no `command`
hint: add command = ["python", "train.py", …]
study.toml:4: unknown key `cmmand` in [job]
hint: did you mean `command`?
study.toml:8: unknown key `scael` in a factor
hint: did you mean `scale`?
study.toml:10: unknown key `response` in the file
hint: did you mean `responses`?"#,
    );
}

#[test]
fn a_key_unlike_any_other_lists_what_is_known() {
    check_adding(
        "[engine]\ncolour = 1\n",
        r#"
study.toml:13: unknown key `colour` in [engine]
hint: known here: `kind`, `hosts`, `nodes`, `tasks_per_node`, `binary`, `data`, `ssh_config`, `address`, `silence`, `partition`, `account`, `qos`, `time`, `extra`, `pilot`, `master`, `executor_cores`, `executor_memory`, `conf`, `spark_home`, `python`, `dashboard`, `token_file`, `bundle`, `wait`"#,
    );
}

#[test]
fn a_value_of_the_wrong_type_says_what_was_found() {
    check_adding(
        r#"
[design]
kind = 3
replicates = "three"
seed = 1.5
order = true
blocks = -2
warmup = -1
[policy]
keep_going = "yes"
timeout = [1]
memory = 1.5
[engine]
kind = ["local"]
"#,
        r#"
study.toml:14: `kind` must be text, found 3
study.toml:15: `replicates` must be a whole number, found "three"
study.toml:16: `seed` must be a whole number, found 1.5
study.toml:17: `order` must be text, found true
study.toml:18: `blocks` must be from 2 to 10000, found -2
study.toml:19: `warmup` must be from 0 to 10000, found -1
study.toml:21: `keep_going` must be true or false, found "yes"
study.toml:22: `timeout` must be a duration such as "90s", found a list
study.toml:23: `memory` must be an amount such as "4GiB", found 1.5
study.toml:25: `kind` must be text, found a list"#,
    );
}

#[test]
fn a_section_must_be_a_table() {
    check(
        "job = 1\nfactors = 2\ndesign = 3\nresponses = 4\npolicy = 5\nengine = 6\nfixed = 7\n",
        r#"
study.toml:1: [job] must be a table, found a whole number
study.toml:2: [factors] must be a table, found a whole number
study.toml:3: [design] must be a table, found a whole number
study.toml:4: [responses] must be a table, found a whole number
study.toml:5: [policy] must be a table, found a whole number
study.toml:6: [engine] must be a table, found a whole number
study.toml:7: [fixed] must be a table, found a whole number"#,
    );
}

#[test]
fn a_factor_needs_two_levels() {
    check_with(
        "[64, 128]",
        "[64]",
        r#"
study.toml:7: factor `batch_size` has one level
hint: a factor needs at least two; put constants under [fixed]"#,
    );
    check_with(
        "[64, 128]",
        "64",
        r#"
study.toml:7: factor `batch_size` has one level
hint: a factor needs at least two; put constants under [fixed]"#,
    );
    check_with(
        "[64, 128]",
        "[]",
        r#"
study.toml:7: factor `batch_size` has no levels
hint: a factor needs at least two"#,
    );
}

#[test]
fn levels_are_scalars_and_differ() {
    check_with(
        "[64, 128]",
        "[64, 128, 64]",
        "study.toml:7: factor `batch_size` has the level `64` twice",
    );
    check_with(
        "[0.001, 0.1]",
        "[1, 2, 1.0]",
        "study.toml:8: factor `rate` has the level `1` twice",
    );
    check_with(
        "[0.001, 0.1], scale = \"log\"",
        "[1, \"1\"]",
        "study.toml:8: factor `rate` has the level `1` twice",
    );
    check_with(
        "[64, 128]",
        "[64, nan, inf]",
        "
study.toml:7: factor `batch_size` has the level NaN, which is not finite
study.toml:7: factor `batch_size` has the level inf, which is not finite",
    );
    check_with(
        "[64, 128]",
        "[64, [1], {a = 1}, 2020-01-01]",
        "
study.toml:7: factor `batch_size` has a level that is a list
study.toml:7: factor `batch_size` has a level that is a table
study.toml:7: factor `batch_size` has a level that is a date",
    );
    check_with(
        "[0.001, 0.1], scale = \"log\"",
        r#"["", "a\nb"]"#,
        "
study.toml:8: factor `rate` has an empty level
study.toml:8: factor `rate` has a level with a line break or another control character",
    );
}

#[test]
fn built_in_factors_have_rules() {
    check_with(
        "[64, 128]",
        "[64, 0]",
        "study.toml:7: levels of `batch_size` must be whole numbers from 1, found `0`",
    );
    check_adding(
        "[fixed]\nmemory = \"4 gigs\"\nconcurrency = 1.5\n",
        r#"
study.toml:13: `memory` takes amounts of memory such as "4GiB", found `4 gigs`
study.toml:14: `concurrency` takes whole numbers from 1, found `1.5`"#,
    );
}

#[test]
fn a_factor_is_levels_or_a_range() {
    check_with(
        "levels = [0.001, 0.1]",
        "low = 1",
        r#"
study.toml:8: factor `rate` has neither levels nor a range
hint: give levels = […], or low = … and high = …"#,
    );
    check_with(
        "levels = [0.001, 0.1]",
        "levels = [1, 2], low = 1",
        r#"
study.toml:8: factor `rate` has both `levels` and `low`
hint: give levels = […], or low and high"#,
    );
    check_with(
        "levels = [0.001, 0.1]",
        "low = 2, high = 1",
        "study.toml:8: factor `rate` has a range from 2 to 1, which is empty",
    );
    check_with(
        "levels = [0.001, 0.1]",
        "low = 1, high = 3, steps = 5",
        r#"
study.toml:8: factor `rate` has no 5 different levels from 1 to 3
hint: give fewer steps; whole ends give whole levels, so write 1.0 for fractions"#,
    );
    check_with(
        "levels = [0.001, 0.1]",
        "low = \"a\", high = inf",
        r#"
study.toml:8: `low` must be a finite number, found "a"
study.toml:8: `high` must be a finite number, found inf"#,
    );
    check_with(
        "levels = [0.001, 0.1]",
        "low = 0.001, high = 0.1",
        r#"
study.toml:8: factor `rate` is a range; a full design needs levels
hint: give steps = n, or levels = […]"#,
    );
}

#[test]
fn scale_and_type_fit_the_levels() {
    check_with(
        "[0.001, 0.1]",
        "[0, 1]",
        "study.toml:8: factor `rate` has a log scale, so its level `0` must be above zero",
    );
    check_with(
        "[0.001, 0.1]",
        "[\"a\", \"b\"]",
        "study.toml:8: factor `rate` is categorical and has no scale",
    );
    check_with(
        "[0.001, 0.1], scale = \"log\"",
        "[1, \"b\"], type = \"numeric\"",
        "study.toml:8: factor `rate` cannot be numeric: the level `b` is not a number",
    );
    check_with(
        "scale = \"log\"",
        "scale = \"logarithmic\"",
        r#"
study.toml:8: `scale` cannot be `logarithmic`
hint: known here: `linear`, `log`"#,
    );
}

#[test]
fn names_are_names() {
    check_with(
        "rate = {",
        "learning-rate = {",
        r#"
study.toml:4: placeholder `{rate}` has no factor
    {rate}
    ^^^^^^
hint: write {{rate}} if the braces are meant
study.toml:8: `learning-rate` cannot name a factor
hint: use letters, digits and `_`, as in `learning_rate`"#,
    );
    check_with(
        "time =",
        "log =",
        "study.toml:11: `log` is a word of the expression language and cannot name a response",
    );
    check_with(
        "time =",
        "duration_s =",
        r#"
study.toml:11: `duration_s` is measured for every run and cannot name a response
hint: it is a column of the table already; choose another name"#,
    );
    check_with(
        "time =",
        "rate =",
        "study.toml:11: `rate` is a factor or a constant and cannot name a response",
    );
    check_with(
        "time =",
        "outcome =",
        r#"
study.toml:11: `outcome` is a column or variable of every run
hint: choose another name"#,
    );
    check_adding(
        "[fixed]\nrate = 1\nBatch_Size = 2\nreplicate = 3\nsizes = [1, 2]\n",
        r#"
study.toml:13: `rate` is a factor and a constant
hint: keep it under [factors] or under [fixed]
study.toml:14: `batch_size` and `Batch_Size` differ only in case
hint: both would be exported as PACELINE_BATCH_SIZE
study.toml:15: `replicate` is a column or variable of every run
hint: choose another name
study.toml:16: constant `sizes` is a list
hint: put what varies under [factors]"#,
    );
}

#[test]
fn a_placeholder_needs_a_factor() {
    check_with(
        "{batch_size}",
        "{batchsize}",
        r#"
study.toml:4: placeholder `{batchsize}` has no factor
    {batchsize}
    ^^^^^^^^^^^
hint: did you mean `{batch_size}`?
study.toml:7: factor `batch_size` has no use in the command
hint: write {batch_size} where it belongs, or say reads_env = true under [job] if the program reads PACELINE_BATCH_SIZE"#,
    );
    check_with(
        "train.py",
        "{ x",
        r#"
study.toml:4: `{` is not closed
    { x
    ^
hint: write {{ for a brace"#,
    );
    check_with("train.py", "{{fine}} {seed} {run_dir}", "");
}

#[test]
fn a_factor_needs_a_use() {
    check_adding(
        "[factors.momentum]\nlevels = [0, 1]\n",
        r#"
study.toml:12: factor `momentum` has no use in the command
hint: write {momentum} where it belongs, or say reads_env = true under [job] if the program reads PACELINE_MOMENTUM"#,
    );
    check_with(
        "[factors]",
        "reads_env = true\n[factors]\nmomentum = [0, 1]",
        "",
    );
    check_with(
        "[factors]",
        "env = { M = \"{momentum}\" }\n[factors]\nmomentum = [0, 1]",
        "",
    );
    check_with("train.py", "train.py $PACELINE_MOMENTUM\", \"", "");
    check(
        &SOUND.replace("train.py", "$PACELINE_MOMENTUM").replace(
            "[factors]",
            "[factors]\nmomentum = [0, 1]\nconcurrency = [1, 2]",
        ),
        "",
    );
}

#[test]
fn a_variable_is_mentioned_by_its_whole_name_only() {
    let check_mention = |text: &str, is_use: bool| {
        let study = SOUND
            .replace("train.py", text)
            .replace("[factors]", "[factors]\nmomentum = [0, 1]");
        let said = verdict(&study, &[]);
        assert_eq!(said.is_empty(), is_use, "{text}: {said}");
    };
    check_mention("$PACELINE_MOMENTUM", true);
    check_mention("a$PACELINE_MOMENTUM/b", true);
    check_mention("$MY_PACELINE_MOMENTUM", false);
    check_mention("$PACELINE_MOMENTUM_2", false);
}

#[test]
fn categories_that_are_numbers_can_be_calculated_with() {
    check_with(
        "[64, 128]",
        "{ levels = [64, 128], type = \"categorical\" }",
        "",
    );
    check(
        &SOUND
            .replace(
                "[64, 128]",
                "{ levels = [64, 128], type = \"categorical\" }",
            )
            .replace("\"duration_s\"", "\"duration_s / batch_size\""),
        "",
    );
}

#[test]
fn a_constant_without_a_use_is_a_notice() {
    check_adding(
        "[fixed]\ndata = \"mnist\"\ncpus = 2\n",
        "study.toml:13: constant `data` has no use in the command; it is only recorded",
    );
}

#[test]
fn a_command_can_be_started() {
    check_with(
        "command = [",
        "command = []\nx = [",
        r#"
study.toml:4: `command` is empty
hint: name a program, as in command = ["python", "train.py"]
study.toml:5: unknown key `x` in [job]
hint: known here: `kind`, `command`, `cwd`, `env`, `reads_env`, `timeout`"#,
    );
    check_with(
        "\"python\"",
        "true",
        "study.toml:4: `command` holds texts, found true or false",
    );
    check_with(
        "\"python\"",
        "\"a\\u0000b\"",
        "study.toml:4: a text with a NUL character cannot reach a program",
    );
    check_with(
        "[factors]",
        "env = { \"A B\" = \"1\", PACELINE_SEED = 2, C = [] }\n[factors]",
        r#"
study.toml:6: `A B` cannot name an environment variable
hint: use letters, digits and `_`
study.toml:6: `PACELINE_SEED` is set by Paceline itself
hint: factors and [fixed] constants are exported under that prefix
study.toml:6: `C` must be text, found a list"#,
    );
}

#[test]
fn a_shell_command_takes_only_levels_that_are_safe() {
    let shell = SOUND.replace(
        r#"["python", "train.py", "--batch-size", "{batch_size}", "--rate", "{rate}"]"#,
        r#""train {batch_size} {rate} {label}""#,
    );
    check(
        &shell.replace("[factors]", "[factors]\nlabel = [\"a\", \"b;rm -rf /\"]"),
        r#"
study.toml:4: the shell would not take the level `b;rm -rf /` of `label` as it is
hint: write "$PACELINE_LABEL" in the command, or give the command as a list"#,
    );
    check(
        &shell.replace("[factors]", "[factors]\nlabel = [\"a\", \"ssp:3\"]"),
        "",
    );
}

#[test]
fn what_this_version_cannot_do_is_said() {
    check(
        "[job]\nkind = \"train\"\nmodel = \"lenet5\"\nepochs = 3\n[factors]\nsync = [\"bsp\", \"async\"]\n[engine]\nkind = \"slurm\"\n",
        r#"
study.toml:2: kind "train" is not available in this version
hint: available: command
study.toml:8: engine "slurm" is not available in this version
hint: available: local"#,
    );
    check_with(
        "[job]",
        "[job]\nkind = \"comand\"",
        r#"
study.toml:4: `kind` cannot be `comand`
hint: did you mean `command`?"#,
    );
}

#[test]
fn a_response_must_make_sense() {
    check_adding(
        "cost = \"time / )\"\nx = \"time time\"\ny = true\nz = \"\"\n",
        r#"
study.toml:12: response `cost`: expected a number, a name or `(`, found `)`
    time / )
           ^
study.toml:13: response `x`: expected an operator or the end, found `time`
    time time
         ^^^^
study.toml:14: `y` must be an expression in quotes or a table, found true
study.toml:15: response `z`: expected an expression, found nothing
    
    ^"#,
    );
    check_adding(
        "a = \"b + 1\"\nb = \"c\"\nc = \"a\"\nd = \"a\"\n",
        r#"
study.toml:12: responses use each other in a circle: a → b → c → a
hint: one of them must be measured rather than calculated"#,
    );
    check_adding("accuracy = \"accuracy\"\n", "");
    check_with(
        "[64, 128]",
        "[64, 128]\nsync = [\"a\", \"b\"]\ncpus = [1, 2]",
        r#"
study.toml:8: factor `sync` has no use in the command
hint: write {sync} where it belongs, or say reads_env = true under [job] if the program reads PACELINE_SYNC"#,
    );
    check_adding(
        "x = \"kind * 2\"\n[fixed]\nkind = \"a\"\n",
        r#"
study.toml:12: response `x`: `kind` is not a number
    kind * 2
    ^^^^"#,
    );
}

#[test]
fn an_input_that_looks_mistyped_is_a_notice() {
    check_with(
        "\"duration_s\"",
        "\"duraton_s\"",
        r#"
study.toml:11: response `time`: `duraton_s` is taken to be a metric that the run reports
    duraton_s
    ^^^^^^^^^
hint: did you mean `duration_s`?"#,
    );
}

#[test]
fn a_response_table_has_one_source() {
    check_adding(
        "a = { regex = \"(\" }\nb = { regex = \"x\", metric = \"y\" }\nc = {}\nd = { metric = \"loss\", take = \"least\" }\ne = { expression = \"time\", take = \"max\" }\nf = { regx = \"x\" }\n",
        r#"
study.toml:12: response `a`: the regular expression does not compile: unclosed group
    (
    ^
study.toml:13: response `b` has more than one source
hint: give one of `expression`, `regex` and `metric`
study.toml:14: response `c` says nothing about where its value comes from
hint: give one of `expression`, `regex` and `metric`
study.toml:15: `take` cannot be `least`
hint: did you mean `last`?
study.toml:16: response `e`: `take` has no meaning in an expression
hint: `take` chooses among the values of a `regex` or a `metric`
study.toml:17: response `f` says nothing about where its value comes from
hint: give one of `expression`, `regex` and `metric`
study.toml:17: unknown key `regx` in a response
hint: did you mean `regex`?"#,
    );
}

#[test]
fn policies_do_not_contradict_themselves() {
    check_adding(
        "[policy]\nkeep_going = true\nfail_fast = true\nnoise_repeats = 2\ntimeout = \"soon\"\nmemory = \"much\"\nretries = -1\n",
        r#"
study.toml:14: `keep_going` and `fail_fast` are both true
hint: they are opposites; give one of them
study.toml:15: `noise_repeats` without `noise = "repeat"`
hint: a disturbed run is only repeated if noise = "repeat"
study.toml:16: `timeout` is not a duration: "soon"
hint: write "90s", "1h30m", "250ms" or a positive number of seconds
study.toml:17: `memory` is not an amount of memory: "much"
hint: write "4GiB", "512MB" or a positive number of bytes
study.toml:18: `retries` must be from 0 to 1000, found -1"#,
    );
    check(
        &SOUND
            .replace("[factors]", "timeout = 5\n[factors]\ncpus = [1, 2]")
            .replace(
                "[responses]",
                "[policy]\ntimeout = \"5s\"\ncpus = 2\n[responses]",
            ),
        r#"
study.toml:6: `timeout` stands under [job] and under [policy]
hint: keep one of them
study.toml:14: `cpus` stands under [policy] and is a factor or a constant
hint: remove it from [policy]; the level decides"#,
    );
}

#[test]
fn an_unknown_design_names_the_nearest() {
    check_adding(
        "[design]\nkind = \"latin-hipercube\"\nreplicates = 0\n",
        r#"
study.toml:13: `kind` cannot be `latin-hipercube`
hint: did you mean `latin-hypercube`?
study.toml:14: `replicates` must be from 1 to 1000000, found 0"#,
    );
}

#[test]
fn keys_of_another_design_are_reported() {
    check_adding(
        "[design]\ngenerators = [\"B = A\"]\nalpha = 1\nbudget = 3\n",
        r#"
study.toml:13: `generators` has no meaning in a full design
hint: it belongs to kind = fractional
study.toml:14: `alpha` has no meaning in a full design
hint: it belongs to kind = central-composite
study.toml:15: `budget` has no meaning in a full design
hint: it belongs to kind = optimal"#,
    );
}

#[test]
fn a_design_needs_what_it_needs() {
    check_adding(
        "[design]\nkind = \"latin-hypercube\"\n",
        "study.toml:12: a latin-hypercube design needs `runs`",
    );
    check_adding(
        "[design]\nkind = \"optimal\"\nblock_by = \"node\"\n",
        r#"
study.toml:12: an optimal design needs `runs`
study.toml:12: an optimal design needs `model`
study.toml:14: `block_by` without `blocks`
hint: say into how many, as in blocks = 2"#,
    );
    check_adding(
        "[design]\nkind = \"optimal\"\nruns = 8\nmodel = \"batch_size + raet^2\"\nbudget = 0\n",
        r#"
study.toml:15: `model`: `raet` is not a factor
    batch_size + raet^2
                 ^^^^^^
hint: did you mean `rate`?
study.toml:16: `budget` without `cost_per_run`
hint: say what one run costs, as in cost_per_run = "workers * epochs"
study.toml:16: `budget` must be above zero, found 0"#,
    );
    check_adding(
        "[design]\nkind = \"box-behnken\"\n",
        "study.toml:12: a box-behnken design needs at least 3 factors, found 2",
    );
    check_adding(
        "[design]\nkind = \"plackett-burman\"\nruns = 10\n",
        r#"
study.toml:14: a plackett-burman design has a multiple of four runs, not 10
hint: 12 is the next"#,
    );
    check_adding(
        "[design]\nkind = \"central-composite\"\nalpha = -1\nshape = \"cube\"\n",
        r#"
study.toml:14: `alpha` must be above zero, found -1
study.toml:15: `shape` cannot be `cube`
hint: known here: `circumscribed`, `inscribed`, `face-centered`"#,
    );
    check_adding(
        "[design]\nkind = \"one-at-a-time\"\ncontrol = { batch_size = 32, rat = 1 }\n",
        r#"
study.toml:14: `32` is not a level of factor `batch_size`
hint: its levels are `64`, `128`
study.toml:14: `rat` is not a factor
hint: did you mean `rate`?"#,
    );
}

#[test]
fn a_design_says_which_factors_do_not_fit() {
    let three = SOUND.replace("[64, 128]", "[64, 128, 256]");
    check(
        &format!("{three}[design]\nkind = \"two-level\"\n"),
        r#"
study.toml:7: factor `batch_size` has 3 levels; a two-level design needs two
hint: give two levels, or choose kind = "full" or "optimal""#,
    );
    let words = SOUND
        .replace("[64, 128]", "[64, 128]\n")
        .replace("[0.001, 0.1], scale = \"log\"", "[\"a\", \"b\"]");
    check(
        &format!("{words}[design]\nkind = \"central-composite\"\n"),
        r#"
study.toml:9: factor `rate` is categorical; a central-composite design needs numbers
hint: choose kind = "optimal", which mixes both"#,
    );
}

#[test]
fn a_hypercube_between_two_listed_levels_is_a_notice() {
    let text = SOUND.replace("levels = [0.001, 0.1]", "low = 0.001, high = 0.1");
    check(
        &format!("{text}[design]\nkind = \"latin-hypercube\"\nruns = 8\n"),
        r#"
study.toml:7: factor `batch_size` takes values between its two levels in a latin-hypercube design
hint: write low and high to say so, or type = "categorical" to prevent it"#,
    );
}

#[test]
fn a_trainer_that_knows_its_options_refuses_others() {
    let trainer = Capabilities {
        trainer_options: Some(&["model", "data", "momentum"]),
        ..Capabilities::ALL
    };
    let text = "[job]\nkind = \"train\"\nmodel = \"lenet5\"\ndta = \"mnist\"\n[factors]\nbatch_size = [64, 128]\nmomentun = [0, 1]\n";
    let raw = RawStudy::parse("study.toml", text).unwrap();
    assert_eq!(
        raw.check(&trainer).unwrap_err().to_string(),
        "study.toml:4: the trainer has no option `dta`\nhint: did you mean `data`?\n\
         study.toml:7: the trainer has no option `momentun`\nhint: did you mean `momentum`?"
    );
    assert!(raw.check(&Capabilities::ALL).is_ok());
}

#[test]
fn a_design_is_not_larger_than_anyone_can_run() {
    check_adding(
        "[design]\nreplicates = 300000\n",
        r#"
study.toml:12: a full design of 1200000 runs is more than 1000000
hint: choose kind = "fractional", "latin-hypercube" or "optimal""#,
    );
}

const SIX: &str = r#"[job]
command = "train {a} {b} {c} {d} {e} {f}"
[factors]
a = [0, 1]
b = [0, 1]
c = [0, 1]
d = [0, 1]
e = [0, 1]
f = [0, 1]
[design]
kind = "fractional"
"#;

#[test]
fn a_fraction_is_chosen_in_one_way() {
    check(&format!("{SIX}generators = [\"F = A*B*C*D*E\"]\n"), "");
    check(&format!("{SIX}runs = 16\nresolution = 4\n"), "");
    check(
        SIX,
        r#"
study.toml:10: a fractional design needs to know which fraction
hint: give resolution = 5, runs = 16 or generators = ["F = A*B*C*D*E"]"#,
    );
    check(
        &format!(
            "{SIX}generators = [\"F = A*B*C*D*G\", \"e = a*b\", \"E = C*D\"]\nresolution = 5\nruns = 12\n"
        ),
        r#"
study.toml:12: generator: `G` is not a factor
    F = A*B*C*D*G
                ^
hint: known here: `a`, `b`, `c`, `d`, `e`, `f` (or a letter: A is the first factor, there is no I)
study.toml:12: factor `e` has two generators
hint: each added factor has one
study.toml:13: `resolution` beside `generators`
hint: generators decide the resolution and the number of runs
study.toml:14: `runs` beside `generators`
hint: generators decide the resolution and the number of runs
study.toml:14: a fractional design has a power of two of runs, not 12
hint: 8 or 16"#,
    );
    check(
        &format!("{SIX}generators = [\"e = a*f\", \"f = a*b\"]\n"),
        r#"
study.toml:12: the generator of `e` uses `f`, which is generated later
hint: write generators over the factors that have none"#,
    );
    check(
        &format!("{SIX}generators = []\n"),
        r#"
study.toml:12: `generators` is empty
hint: for all combinations choose kind = "two-level""#,
    );
}

#[test]
fn forbidden_combinations_are_checked_against_the_factors() {
    let base = SOUND
        .replace("[factors]", "[factors]\nsync = [\"bsp\", \"async\"]")
        .replace("train.py", "{sync}");
    check(
        &format!(
            "{base}[design]\nforbid = [\"sync == async\", \"sync > 1\", \"batch_sise == 1\", \"rate = 1\", \"rate\", 3]\ncost_per_run = \"sync * rate + nodes\"\n"
        ),
        r#"
study.toml:14: `forbid`: `async` is not a factor
    sync == async
            ^^^^^
hint: put words in quotes, as in 'async'
study.toml:14: `forbid`: `sync` is not a number
    sync > 1
    ^^^^
study.toml:14: `forbid`: `batch_sise` is not a factor
    batch_sise == 1
    ^^^^^^^^^^
hint: did you mean `batch_size`?
study.toml:14: `forbid`: `=` compares nothing; write `==`
    rate = 1
         ^
study.toml:14: `forbid`: `rate` is neither true nor false
    rate
    ^^^^
hint: compare it with something
study.toml:14: `forbid` holds texts, found a whole number
study.toml:15: `cost_per_run`: `sync` is not a number
    sync * rate + nodes
    ^^^^
study.toml:15: `cost_per_run`: `nodes` is not a factor
    sync * rate + nodes
                  ^^^^^
hint: known here: `sync`, `batch_size`, `rate`"#,
    );
    check(
        &format!("{base}[design]\nforbid = [\"batch_size == 512 and sync == 'async'\"]\n"),
        r#"
study.toml:14: `batch_size` never has the level `512`
    batch_size == 512 and sync == 'async'
    ^^^^^^^^^^^^^^^^^"#,
    );
}

#[test]
fn arguments_replace_and_add() {
    check_arguments(
        &[
            "batch_size=32,64",
            "design.replicates=3",
            "policy.timeout=5m",
            "fixed.rate=0.1",
        ],
        "",
    );
    check_arguments(
        &[
            "batch_size=64..128",
            "rate=0.01..0.1",
            "design.kind=latin-hypercube",
            "design.runs=5",
        ],
        "",
    );
    check_arguments(&["responses.cost=time * 2"], "");
}

#[test]
fn a_wrong_argument_is_pointed_at() {
    check_arguments(
        &["batch_size", "rate=", "desgin.seed=1", "job.env=1"],
        r#"
argument `batch_size`: there is no `=`
hint: write batch_size=64,128 for a factor or design.replicates=5 for a key
argument `desgin.seed=1`: there is no [desgin]
hint: did you mean `design`?
argument `job.env=1`: `env` is a table and cannot be set from the command line
argument `rate=`: there is nothing after `=`"#,
    );
    check_arguments(
        &["batch_size=64"],
        r#"
argument `batch_size=64`: factor `batch_size` has one level
hint: a factor needs at least two; write fixed.batch_size=… for a constant"#,
    );
    check_arguments(
        &["rate=0,1"],
        r#"
argument `rate=0,1`: factor `rate` has a log scale, so its level `0` must be above zero"#,
    );
    check_arguments(
        &["design.replicats=3", "momentum=0,1"],
        r#"
argument `design.replicats=3`: unknown key `replicats` in [design]
hint: did you mean `replicates`?
argument `momentum=0,1`: factor `momentum` has no use in the command
hint: write {momentum} where it belongs, or say reads_env = true under [job] if the program reads PACELINE_MOMENTUM"#,
    );
}
