//! Closed sets of words a user may type.

/// Declares an enum whose variants are words, with the list of all words that
/// the parser and the schema share.
macro_rules! words {
    ($(#[$enum_doc:meta])* $vis:vis enum $enum:ident { $( $variant:ident = $word:literal, $doc:literal; )+ }) => {
        $(#[$enum_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $enum { $( #[doc = $doc] $variant, )+ }

        impl $enum {
            /// Every value, in the order of the documentation.
            $vis const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];
            /// Every word, in the same order.
            $vis const WORDS: &'static [&'static str] = &[ $( $word, )+ ];

            /// The word as the user types it.
            #[must_use]
            $vis const fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }

            /// Finds a value by its word.
            #[must_use]
            $vis fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.word() == word)
            }
        }

        impl crate::words::Word for $enum {
            const WORDS: &'static [&'static str] = Self::WORDS;
            fn from_word(word: &str) -> Option<Self> { Self::from_word(word) }
        }
    };
}

/// What [`words!`] gives to generic code.
pub(crate) trait Word: Sized {
    const WORDS: &'static [&'static str];
    fn from_word(word: &str) -> Option<Self>;
}

pub(crate) use words;
