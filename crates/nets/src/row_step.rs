/// A row that a descent takes, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowStep {
    /// Which row of the data.
    pub row: u32,
    /// The learning rate; of the rows of one step, that of the first counts.
    pub rate: f32,
}
