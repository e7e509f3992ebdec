use crate::Isa;

/// The kernels, compiled for one instruction set that this machine has.
///
/// A value proves that the instructions are there, so every method is safe to
/// call. It is one byte: models and optimisers keep a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernels {
    isa: Isa,
}

impl Kernels {
    /// The instructions of this process ([`Isa::detect`]).
    pub fn detect() -> Self {
        Self { isa: Isa::detect() }
    }

    /// These instructions, or `None` if the machine lacks them.
    pub fn with(isa: Isa) -> Option<Self> {
        Isa::available().contains(&isa).then_some(Self { isa })
    }

    /// One value for each instruction set of this machine, narrowest first:
    /// what tests run through.
    pub fn available() -> Vec<Self> {
        Isa::available()
            .into_iter()
            .map(|isa| Self { isa })
            .collect()
    }

    /// The instructions in use.
    pub fn isa(self) -> Isa {
        self.isa
    }
}

/// Calls a function that is generic over [`crate::simd::Simd`] in the version
/// compiled for a [`Kernels`] value's instructions.
///
/// `dispatch!(kernels => scale(factor: f32, values: &mut [f32]))` calls
/// `scale(token, factor, values)`. The function must be `#[inline(always)]`:
/// only inlined into a caller with the target features is it compiled with
/// them. That also holds for loops without explicit vectors.
macro_rules! dispatch {
    ($kernels:expr => $function:ident($($name:ident: $type:ty),* $(,)?) $(-> $output:ty)?) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi2")]
            fn avx512(simd: $crate::simd::Avx512 $(, $name: $type)*) $(-> $output)? {
                $function(simd $(, $name)*)
            }
            #[target_feature(enable = "avx2,fma,f16c")]
            fn avx2(simd: $crate::simd::Avx2 $(, $name: $type)*) $(-> $output)? {
                $function(simd $(, $name)*)
            }
            // SAFETY: a `Kernels` value exists only for instructions that were
            // found on this machine, which is what the tokens and the target
            // features ask for.
            #[expect(unsafe_code, reason = "the instructions were found on this machine")]
            match $kernels.isa() {
                $crate::Isa::Avx512 => unsafe {
                    avx512($crate::simd::Avx512::new() $(, $name)*)
                },
                $crate::Isa::Avx2 => unsafe { avx2($crate::simd::Avx2::new() $(, $name)*) },
                $crate::Isa::Portable => $function($crate::simd::Portable $(, $name)*),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = $kernels;
            $function($crate::simd::Portable $(, $name)*)
        }
    }};
}

pub(crate) use dispatch;
