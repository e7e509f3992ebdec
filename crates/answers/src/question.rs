//! Any question, any answer: for programs that pass them on.

use crate::analyze::{AnalyzeAnswer, AnalyzeError, AnalyzeQuestion, analyze};
use crate::error::{Explained, Fault};
use crate::pick::{PickAnswer, PickError, PickQuestion, pick};
use crate::predict::{PredictAnswer, PredictError, PredictQuestion, predict};
use crate::promises::{PromisesAnswer, PromisesError, PromisesQuestion, promises};
use crate::report::{ReportError, ReportQuestion, StudyReport, study as report};
use crate::results::Results;
use crate::size::{SizeAnswer, SizeError, SizeQuestion, size};

/// A question about results. A search ([`crate::tune`]) is none: it makes runs.
#[derive(Debug, Clone)]
pub enum Question {
    /// What matters for a response?
    Analyze(AnalyzeQuestion),
    /// What will a response be?
    Predict(PredictQuestion),
    /// Which configuration is best?
    Pick(Box<PickQuestion>),
    /// How many machines does a deadline take?
    Size(SizeQuestion),
    /// How were promises kept?
    Promises(PromisesQuestion),
    /// What does all of it come to, on one page?
    Report(ReportQuestion),
}

/// The answer to a question.
pub enum Answer {
    /// What matters for a response.
    Analyze(Box<AnalyzeAnswer>),
    /// What responses will be.
    Predict(Box<PredictAnswer>),
    /// Which configuration is best.
    Pick(PickAnswer),
    /// How many machines a deadline takes.
    Size(Box<SizeAnswer>),
    /// How promises were kept.
    Promises(PromisesAnswer),
    /// What all of it comes to.
    Report(Box<StudyReport>),
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nothing is explained.
    #[error(transparent)]
    Analyze(#[from] AnalyzeError),
    /// Nothing is predicted.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// Nothing is picked.
    #[error(transparent)]
    Pick(#[from] PickError),
    /// Nothing is sized.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// Nothing can be promised.
    #[error(transparent)]
    Promises(#[from] PromisesError),
    /// Nothing is reported.
    #[error(transparent)]
    Report(#[from] ReportError),
}

impl AskError {
    fn inner(&self) -> &dyn Explained {
        match self {
            Self::Analyze(error) => error,
            Self::Predict(error) => error,
            Self::Pick(error) => error,
            Self::Size(error) => error,
            Self::Promises(error) => error,
            Self::Report(error) => error,
        }
    }
}

impl Explained for AskError {
    fn fault(&self) -> Fault {
        self.inner().fault()
    }

    fn hint(&self) -> Option<String> {
        self.inner().hint()
    }
}

impl Results {
    /// Answers any question.
    ///
    /// # Errors
    /// If the results lack what is asked for, or are too few.
    pub fn ask(&self, question: &Question) -> Result<Answer, AskError> {
        Ok(match question {
            Question::Analyze(question) => Answer::Analyze(Box::new(analyze(self, question)?)),
            Question::Predict(question) => Answer::Predict(Box::new(predict(self, question)?)),
            Question::Pick(question) => Answer::Pick(pick(self, question)?),
            Question::Size(question) => Answer::Size(Box::new(size(self, question)?)),
            Question::Promises(question) => Answer::Promises(promises(self, *question)?),
            Question::Report(question) => {
                let study = self
                    .shared()
                    .ok_or_else(|| ReportError::NoStudy(self.source()))?;
                Answer::Report(Box::new(report(study, question)?))
            }
        })
    }
}
