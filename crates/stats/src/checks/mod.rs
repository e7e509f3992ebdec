//! Hypothesis tests on residuals and on groups of the response.
//!
//! Every test takes numbers and returns its statistic, its degrees of freedom
//! and its p-value, or a [`SampleError`] that says why the data cannot be
//! tested. What a result means for an analysis is decided elsewhere.
//!
//! | Question | Test |
//! |---|---|
//! | are the residuals normal? | [`shapiro_wilk`], [`anderson_darling`] |
//! | is their spread the same everywhere? | [`bartlett`], [`levene`], [`brown_forsythe`], [`breusch_pagan`] |
//! | are they independent in run order? | [`durbin_watson`] |
//! | do groups differ? | [`one_way_anova`], [`welch_anova`], [`kruskal_wallis`] |
//! | is one of two samples larger, and by how much? | [`welch`], [`rank_sum`] |
//! | does a model need these terms, without normality? | [`freedman_lane`] |
//! | which groups differ? | [`tukey_hsd`], [`games_howell`] |
//! | which of many p-values count? | [`holm`] |
//! | which effects of an unreplicated design count? | [`lenth`], [`half_normal_quantiles`] |

mod autocorrelation;
mod column_space;
mod lenth;
mod means;
mod multiplicity;
mod normality;
mod outcome;
mod pairwise;
mod permutation;
mod ranks;
mod sample;
mod spread;
mod two_samples;

pub use autocorrelation::{DurbinWatson, DurbinWatsonMethod, durbin_watson};
pub use lenth::{Lenth, LenthEffect, half_normal_quantiles, lenth};
pub use means::{one_way_anova, welch_anova};
pub use multiplicity::{NotAProbability, holm};
pub use normality::{NormalityTest, anderson_darling, shapiro_wilk};
pub use outcome::{ChiSquaredTest, FTest};
pub use pairwise::{
    GroupMean, PairwiseComparison, games_howell, tukey_contrasts, tukey_hsd, tukey_kramer,
};
pub use permutation::{PermutationTest, freedman_lane};
pub use ranks::kruskal_wallis;
pub use sample::{Groups, SampleError};
pub use spread::{BreuschPagan, bartlett, breusch_pagan, brown_forsythe, levene};
pub use two_samples::{RankSumTest, Ratio, WelchTest, least_rank_sum_p, rank_sum, welch};
