//! Choices from a number, and damage that stays near what is right.

use paceline_files::trace::Dice;

/// Where a target's choices come from.
#[derive(Debug, Clone)]
pub struct Source(Dice);

impl Source {
    /// The same choices for the same number.
    #[must_use]
    pub fn new(case: u64) -> Self {
        Self(Dice::new(case))
    }

    /// A number below `sides`.
    pub fn below(&mut self, sides: usize) -> usize {
        self.0.below(sides as u64) as usize
    }

    /// True once in `sides` times.
    pub fn once_in(&mut self, sides: usize) -> bool {
        self.below(sides) == 0
    }

    /// One of them.
    pub fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// A number as people and programs write them, the strange ones included.
    pub fn number(&mut self) -> String {
        const STRANGE: [&str; 20] = [
            "0",
            "-0",
            "1",
            "-1",
            "1e308",
            "-1e308",
            "1e-308",
            "5e-324",
            "nan",
            "inf",
            "-inf",
            "9223372036854775807",
            "-9223372036854775808",
            "18446744073709551615",
            "1e400",
            "0.1",
            "1_000",
            "0x10",
            "1e",
            ".",
        ];
        match self.below(6) {
            0 => self.pick(&STRANGE).to_owned(),
            1 => format!("{}", self.below(10)),
            2 => format!("-{}.{}", self.below(100), self.below(1000)),
            3 => format!("{}e{}", self.below(10), self.below(40)),
            _ => format!("{}.{}", self.below(1000), self.below(100)),
        }
    }

    /// A word of letters; now and then one that is none.
    pub fn word(&mut self) -> String {
        const STRANGE: [&str; 10] = [
            "",
            " ",
            "a b",
            "\"",
            "ü",
            "𝛼",
            "\u{0}",
            "-",
            "name=value",
            "日本語",
        ];
        if self.once_in(12) {
            return self.pick(&STRANGE).to_owned();
        }
        let length = 1 + self.below(6);
        (0..length)
            .map(|_| char::from(b'a' + self.below(26) as u8))
            .collect()
    }

    /// Changes bytes here and there: flips, overwrites, cuts, doubles, inserts.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                bytes.push(self.below(256) as u8);
                continue;
            }
            let at = self.below(bytes.len());
            match self.below(7) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.below(256) as u8,
                2 => bytes.truncate(at),
                3 => {
                    let end = (at + 1 + self.below(16)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                4 => bytes.insert(at, self.below(256) as u8),
                5 => {
                    let end = (at + 1 + self.below(8)).min(bytes.len());
                    bytes.drain(at..end);
                }
                _ => {
                    let end = (at + 1 + self.below(8)).min(bytes.len());
                    let extreme = *self.pick(&[&0, &0xff, &0x7f, &0x80]);
                    bytes[at..end].fill(extreme);
                }
            }
        }
    }
}
