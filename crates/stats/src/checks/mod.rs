//! Hypothesis tests on residuals and on groups of the response.
