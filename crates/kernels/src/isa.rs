/// The instructions a kernel may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// What every machine has; the reference for the others.
    Portable,
    /// AVX2 with fused multiply-add and half-precision conversion: eight floats
    /// at a time.
    Avx2,
    /// AVX-512 F, VL, DQ and BW with fused multiply-add: sixteen floats at a time.
    Avx512,
}

impl Isa {
    /// The widest that this machine has.
    pub fn detect() -> Self {
        *Self::available()
            .last()
            .expect("the portable path is always there")
    }

    /// All that this machine has, narrowest first: what tests run through.
    pub fn available() -> Vec<Self> {
        let mut found = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
            {
                found.push(Self::Avx2);
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("bmi2")
                {
                    found.push(Self::Avx512);
                }
            }
        }
        found
    }

    /// The word a user reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}
