//! Why stored parts do not form a classifier.

use thiserror::Error;

/// Why the parts of a stored classifier do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum PartsError {
    /// A part is longer or shorter than the others require.
    #[error("{part} has {found} entries where {expected} are expected")]
    Length {
        /// The field of the parts.
        part: &'static str,
        /// How many entries the other parts require.
        expected: usize,
        /// How many entries it has.
        found: usize,
    },
    /// A number is NaN, infinite or outside its range.
    #[error("entry {entry} of {part} is {value}, which no trained classifier has")]
    Value {
        /// The field of the parts.
        part: &'static str,
        /// The entry, counted from zero.
        entry: usize,
        /// The value found.
        value: f64,
    },
    /// The support vectors do not form rows.
    #[error("the stored rows are not rows of features")]
    Rows(#[from] crate::RowsError),
    /// The kernel has a parameter outside its range.
    #[error("the stored kernel is not one")]
    Kernel(#[from] crate::ParameterError),
    /// A node of a tree leads out of the tree or back.
    #[error("node {node} of tree {tree} leads to node {target}, which does not follow it there")]
    Node {
        /// The tree, counted from zero.
        tree: usize,
        /// The node, counted from the root of its tree.
        node: usize,
        /// Where it leads.
        target: usize,
    },
}

/// Requires a length.
pub(crate) fn expect_length(
    part: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), PartsError> {
    if found != expected {
        return Err(PartsError::Length {
            part,
            expected,
            found,
        });
    }
    Ok(())
}

/// Requires finite numbers.
pub(crate) fn expect_finite(part: &'static str, values: &[f32]) -> Result<(), PartsError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(entry) => Err(PartsError::Value {
            part,
            entry,
            value: f64::from(values[entry]),
        }),
        None => Ok(()),
    }
}
