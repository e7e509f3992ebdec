//! Enumerations whose every variant has a name and a meaning, written down once.

/// Declares an enumeration of things that are measured, each with its name (unit
/// last) and one line for a person: the one list that records, tables, responses
/// and the reference follow.
///
/// The enumeration has `ALL`, in the order of the list, `name`, `describe` and
/// `from_name`.
///
/// ```
/// paceline_model::named! {
///     /// A side of a coin.
///     pub enum Side {
///         Heads = "heads", "the side with a face";
///         Tails = "tails", "the other";
///     }
/// }
/// assert_eq!(Side::from_name("tails").map(Side::describe), Some("the other"));
/// assert_eq!(Side::ALL.len(), 2);
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $visible:vis enum $Named:ident {
            $( $variant:ident = $name:literal, $doc:literal; )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $visible enum $Named { $( #[doc = $doc] $variant, )+ }

        impl $Named {
            /// Every one, in the order of the list.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            /// The name in records, tables and expressions, unit last.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }

            /// One line for a person.
            #[must_use]
            pub const fn describe(self) -> &'static str {
                match self { $( Self::$variant => $doc, )+ }
            }

            /// Finds one by its name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}
