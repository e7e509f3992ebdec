//! Any question, any answer: for programs that pass them on.

use crate::analyze::{AnalyzeAnswer, AnalyzeError, AnalyzeQuestion, analyze};
use crate::error::{Explained, Fault};
use crate::pick::{PickAnswer, PickError, PickQuestion, pick};
use crate::predict::{PredictAnswer, PredictError, PredictQuestion, predict};
use crate::results::Results;
use crate::size::{SizeAnswer, SizeError, SizeQuestion, size};

/// A question about results.
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
}

impl AskError {
    fn inner(&self) -> &dyn Explained {
        match self {
            Self::Analyze(error) => error,
            Self::Predict(error) => error,
            Self::Pick(error) => error,
            Self::Size(error) => error,
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
        })
    }
}
