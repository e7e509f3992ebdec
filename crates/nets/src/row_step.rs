/// One step of descent on a single row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowStep {
    /// Which row of the data.
    pub row: u32,
    /// The learning rate of the step.
    pub rate: f32,
}
