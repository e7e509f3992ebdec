use std::sync::OnceLock;

/// The instructions a kernel may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// What every machine has; the reference for the others.
    Portable,
    /// AVX2 with fused multiply-add, half-precision conversion and the bit
    /// instructions that came with it: eight floats at a time.
    Avx2,
    /// AVX-512 F, VL, DQ and BW besides: sixteen floats at a time.
    Avx512,
}

/// What [`Isa::choose`] settled for this process.
static CHOSEN: OnceLock<Isa> = OnceLock::new();

/// Why instructions cannot be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChooseIsaError {
    /// The machine lacks them.
    #[error("this machine has no {} instructions", .0.name())]
    Missing(Isa),
    /// Others are in use.
    #[error("{} instructions are in use already", .0.name())]
    TooLate(Isa),
}

impl Isa {
    /// All there are, narrowest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The instructions of this process: those chosen, else the widest that
    /// this machine has.
    pub fn detect() -> Self {
        *CHOSEN.get_or_init(|| {
            *Self::available()
                .last()
                .expect("the portable path is always there")
        })
    }

    /// Makes these the instructions of this process, whatever the machine has
    /// besides. For the program's start: what has been detected stays.
    ///
    /// Like detection, it is a property of the process and not an argument of
    /// every call: models, optimisers and learners all ask [`Isa::detect`].
    ///
    /// # Errors
    ///
    /// If the machine lacks them, or if others are in use.
    pub fn choose(self) -> Result<(), ChooseIsaError> {
        if !Self::available().contains(&self) {
            return Err(ChooseIsaError::Missing(self));
        }
        match *CHOSEN.get_or_init(|| self) {
            chosen if chosen == self => Ok(()),
            other => Err(ChooseIsaError::TooLate(other)),
        }
    }

    /// All that this machine has, narrowest first: what tests run through.
    pub fn available() -> Vec<Self> {
        let mut found = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
            {
                found.push(Self::Avx2);
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                {
                    found.push(Self::Avx512);
                }
            }
        }
        found
    }

    /// The word a user reads and writes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The instructions of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|isa| isa.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for isa in Isa::ALL {
            assert_eq!(Isa::from_name(isa.name()), Some(isa));
        }
        assert_eq!(Isa::from_name("sse"), None);
    }

    #[test]
    fn what_is_in_use_stays_in_use() {
        let widest = Isa::detect();
        assert_eq!(widest.choose(), Ok(()));
        let available = Isa::available();
        for isa in Isa::ALL.into_iter().filter(|isa| *isa != widest) {
            let wanted = if available.contains(&isa) {
                ChooseIsaError::TooLate(widest)
            } else {
                ChooseIsaError::Missing(isa)
            };
            assert_eq!(isa.choose(), Err(wanted));
        }
    }
}
