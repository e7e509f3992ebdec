//! What a planned design says about itself, gathered once for every format.

mod json;
mod sheet;

pub use json::json;
pub use sheet::csv;

use paceline_design::{
    AliasSet, Assessment, Bias, Design, Effect, Kind, ModelTerms, Properties, TermError,
};
use paceline_records::study::Plan;
use paceline_study::Study;
use std::path::PathBuf;

/// A study, planned.
pub struct Planned {
    /// Where the study was read from.
    pub path: PathBuf,
    /// The study.
    pub study: Study,
    /// Its design.
    pub design: Design,
    /// Its runs.
    pub plan: Plan,
}

/// What the user wants to know beyond the plan.
pub struct Question {
    /// The terms to estimate, if the user names them.
    pub model: Option<ModelTerms>,
    /// The effect to be found.
    pub effect: Option<Wanted>,
    /// The most factors of an effect in the alias table.
    pub alias_order: u32,
    /// How long a run takes.
    pub time: Option<TimePerRun>,
}

/// An effect with the numbers it was made from.
pub struct Wanted {
    /// The effect that its power is computed for.
    pub effect: Effect,
    /// The change of the response worth finding.
    pub size: f64,
    /// The standard deviation between runs of one trial.
    pub noise_sd: f64,
    /// How often a test may cry wolf.
    pub alpha: f64,
}

/// How long one run takes, and who says so.
pub struct TimePerRun {
    /// How long.
    pub seconds: f64,
    /// Who says so, in words.
    pub source: String,
}

/// What a planned design says about itself.
pub struct Facts {
    /// Its size, balance, resolution.
    pub properties: Properties,
    /// The most factors of an effect in the alias table.
    pub alias_order: u32,
    /// The alias table of a regular two-level design.
    pub aliases: Option<Vec<AliasSet>>,
    /// The terms to estimate.
    pub model: ModelTerms,
    /// How well each of them can be estimated.
    pub assessment: Assessment,
    /// What interactions of two factors that the model leaves out would do to
    /// its terms, where no alias table says so.
    pub biases: Option<Vec<Bias>>,
    /// The effect to be found.
    pub wanted: Option<Wanted>,
    /// How long a run takes.
    pub time: Option<TimePerRun>,
    /// Of all runs, those to warm up included.
    pub duration_s: Option<f64>,
    /// Of all runs, if the study says what one costs.
    pub cost: Option<f64>,
}

impl Facts {
    /// Everything at once.
    ///
    /// # Errors
    /// If the model names what the design does not have.
    pub fn gather(planned: &Planned, question: Question) -> Result<Self, TermError> {
        let Planned { study, design, .. } = planned;
        let properties = design.properties();
        let model = question
            .model
            .unwrap_or_else(|| usual_model(planned, &properties));
        let effect = question.effect.as_ref().map(|wanted| wanted.effect);
        let assessment = design.assess(&model, effect)?;
        let runs = design.runs().len() as f64 + f64::from(study.design().warmup);
        Ok(Self {
            alias_order: question.alias_order,
            aliases: design.aliases(question.alias_order),
            biases: biases(design, &model),
            cost: study
                .cost_of_run()
                .map(|cost| design.expected_total(|levels| cost.of(levels))),
            duration_s: question.time.as_ref().map(|time| time.seconds * runs),
            time: question.time,
            wanted: question.effect,
            properties,
            model,
            assessment,
        })
    }
}

/// The most multiplications that nobody has asked for: a second or so.
const BEARABLE: f64 = 2e9;

/// The model that a design of this kind is made for.
fn usual_model(planned: &Planned, properties: &Properties) -> ModelTerms {
    let request = planned.study.design_request();
    let kind = request.expect("the study was planned from it").kind;
    let design = &planned.design;
    match kind {
        Kind::Optimal(optimal) => optimal.terms,
        Kind::CentralComposite(_) | Kind::BoxBehnken => ModelTerms::Quadratic,
        Kind::Full | Kind::TwoLevel | Kind::Fractional(_)
            if properties
                .resolution
                .is_none_or(|resolution| resolution >= 5)
                && effort(design) <= BEARABLE =>
        {
            ModelTerms::TwoFactor
        }
        Kind::Full
        | Kind::TwoLevel
        | Kind::Fractional(_)
        | Kind::OneAtATime { .. }
        | Kind::PlackettBurman { .. }
        | Kind::LatinHypercube { .. } => ModelTerms::Main,
    }
}

fn biases(design: &Design, terms: &ModelTerms) -> Option<Vec<Bias>> {
    let has_alias_table = design.fraction().is_some();
    if has_alias_table || effort(design) > BEARABLE {
        return None;
    }
    // A model that is too large for this was too large to be assessed.
    design.biases(terms, &ModelTerms::TwoFactor).ok()
}

/// How many multiplications the information matrix of main effects and
/// interactions takes; infinite beyond what the design crate takes on.
fn effort(design: &Design) -> f64 {
    let (mut main, mut pairs) = (0.0, 0.0);
    for factor in design.factors().iter() {
        let coefficients = if factor.is_categorical() {
            factor.levels().len() as f64 - 1.0
        } else {
            1.0
        };
        pairs += main * coefficients;
        main += coefficients;
    }
    let columns: f64 = 1.0 + main + pairs;
    if columns > 2_000.0 {
        f64::INFINITY
    } else {
        columns * columns * (design.trial_count() as f64 + columns)
    }
}
