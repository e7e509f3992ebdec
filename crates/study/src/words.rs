//! Closed sets of words a user may type.

use paceline_design::{Alpha, BlockBy, CompositeCube, CompositeShape, Order, Scale};

/// The words of a closed set: one list for the parser, its messages, the schema
/// and the text that a study is written back as.
pub trait Word: Copy + 'static {
    /// Every value, in the order of the documentation.
    const ALL: &'static [Self];
    /// Every word, in the same order.
    const WORDS: &'static [&'static str];

    /// The word as the user types it.
    fn word(self) -> &'static str;

    /// Finds a value by its word.
    #[must_use]
    fn from_word(word: &str) -> Option<Self> {
        let at = Self::WORDS.iter().position(|known| *known == word)?;
        Some(Self::ALL[at])
    }
}

/// Gives an enum without fields its words. A variant without a word does not
/// compile.
macro_rules! words_of {
    ($enum:ident { $( $variant:ident = $word:literal; )+ }) => {
        impl crate::words::Word for $enum {
            const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];
            const WORDS: &'static [&'static str] = &[ $( $word, )+ ];

            fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }
        }
    };
}

/// Declares an enum whose variants are words.
macro_rules! words {
    ($(#[$enum_doc:meta])* $vis:vis enum $enum:ident { $( $variant:ident = $word:literal, $doc:literal; )+ }) => {
        $(#[$enum_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $enum { $( #[doc = $doc] $variant, )+ }

        crate::words::words_of! { $enum { $( $variant = $word; )+ } }

        impl $enum {
            /// The word as the user types it.
            #[must_use]
            $vis fn word(self) -> &'static str {
                crate::words::Word::word(self)
            }
        }
    };
}

pub(crate) use {words, words_of};

words_of! { Scale { Linear = "linear"; Log = "log"; } }
words_of! { Order { Random = "random"; Standard = "standard"; } }
words_of! { BlockBy { Time = "time"; Node = "node"; } }
words_of! { CompositeCube { Full = "full"; Fraction = "fraction"; } }
words_of! {
    CompositeShape {
        Circumscribed = "circumscribed";
        Inscribed = "inscribed";
        FaceCentred = "face-centered";
    }
}

/// The distances of axial points that have a name.
pub(crate) const ALPHAS: &[(&str, Alpha)] = &[
    ("rotatable", Alpha::Rotatable),
    ("orthogonal", Alpha::Orthogonal),
];

/// The words among [`ALPHAS`].
pub(crate) const ALPHA_WORDS: &[&str] = &[ALPHAS[0].0, ALPHAS[1].0];
