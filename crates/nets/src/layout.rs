use std::ops::Range;

use paceline_kernels::AlignedBuffer;

/// Where each part of a model lies in its flat parameter buffer.
///
/// Segments follow each other without gaps and start on register boundaries.
/// A segment's rows may be padded; padding stays zero in parameters and
/// gradients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    segments: Vec<Segment>,
    len: usize,
}

/// A named matrix or vector inside the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its name in checkpoints, such as `hidden1.weight`.
    pub name: String,
    /// Its first value.
    pub offset: usize,
    /// Rows of the matrix; 1 for a vector.
    pub rows: usize,
    /// Values of a row that have a meaning.
    pub columns: usize,
    /// Values from one row to the next, at least `columns`.
    pub stride: usize,
    /// Whether a step touches all of it.
    pub kind: SegmentKind,
}

/// How much of a segment the gradient of a batch touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// Everything.
    Dense,
    /// Only the rows that the batch names (an embedding, weights of sparse
    /// features). A model has at most one such segment, and it is the last.
    Rows,
}

impl Segment {
    /// The values of the segment in the flat buffer, padding included.
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.len()
    }

    /// How many values it spans, padding included: whole registers.
    pub fn len(&self) -> usize {
        AlignedBuffer::padded(self.rows * self.stride)
    }

    /// Whether it spans nothing.
    pub fn is_empty(&self) -> bool {
        self.rows * self.stride == 0
    }
}

impl Layout {
    /// Starts an empty layout.
    pub fn builder() -> LayoutBuilder {
        LayoutBuilder {
            layout: Self {
                segments: Vec::new(),
                len: 0,
            },
        }
    }

    /// The parts in the order of the buffer.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// How many values the flat buffer holds, padding included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the model has no parameters.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many parameters the model has, padding not counted.
    pub fn parameters(&self) -> usize {
        self.segments
            .iter()
            .map(|part| part.rows * part.columns)
            .sum()
    }

    /// The part of the buffer whose gradient every batch fills.
    pub fn dense(&self) -> Range<usize> {
        0..self.table().map_or(self.len, |table| table.offset)
    }

    /// The segment of which a batch touches some rows only.
    pub fn table(&self) -> Option<&Segment> {
        self.segments
            .last()
            .filter(|part| part.kind == SegmentKind::Rows)
    }

    /// The segment called `name`.
    pub fn segment(&self, name: &str) -> Option<&Segment> {
        self.segments.iter().find(|part| part.name == name)
    }
}

/// Appends segments to a [`Layout`].
#[derive(Debug)]
pub struct LayoutBuilder {
    layout: Layout,
}

impl LayoutBuilder {
    /// Appends a dense matrix; returns its offset.
    pub fn matrix(&mut self, name: &str, rows: usize, columns: usize, stride: usize) -> usize {
        self.push(name, rows, columns, stride, SegmentKind::Dense)
    }

    /// Appends a dense vector; returns its offset.
    pub fn vector(&mut self, name: &str, columns: usize, stride: usize) -> usize {
        self.push(name, 1, columns, stride, SegmentKind::Dense)
    }

    /// Appends the table of which a batch touches some rows only; nothing may
    /// follow it. Returns its offset.
    pub fn table(&mut self, name: &str, rows: usize, columns: usize, stride: usize) -> usize {
        self.push(name, rows, columns, stride, SegmentKind::Rows)
    }

    /// The finished layout.
    pub fn build(self) -> Layout {
        self.layout
    }

    fn push(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
        stride: usize,
        kind: SegmentKind,
    ) -> usize {
        assert!(stride >= columns, "a row's stride covers its columns");
        assert!(
            self.layout.table().is_none(),
            "the table of touched rows is a layout's last segment"
        );
        let offset = self.layout.len;
        let segment = Segment {
            name: name.to_owned(),
            offset,
            rows,
            columns,
            stride,
            kind,
        };
        self.layout.len += segment.len();
        self.layout.segments.push(segment);
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_lie_on_register_boundaries_without_gaps() {
        let mut builder = Layout::builder();
        builder.matrix("weight", 784, 10, 16);
        builder.vector("bias", 10, 10);
        let table = builder.table("words", 7, 3, 3);
        let layout = builder.build();
        assert_eq!(table, 784 * 16 + 16);
        assert_eq!(layout.len(), 784 * 16 + 16 + 32);
        assert_eq!(layout.parameters(), 7840 + 10 + 21);
        assert_eq!(layout.dense(), 0..table);
        for pair in layout.segments().windows(2) {
            assert_eq!(pair[0].range().end, pair[1].offset);
        }
    }
}
