use super::Simd;
use crate::convert::{from_half, to_half};

/// Four floats at a time without any particular instructions: compilers make
/// it SSE2 or NEON.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Portable {
    #[inline(always)]
    fn zip(a: [f32; 4], b: [f32; 4], with: impl Fn(f32, f32) -> f32) -> [f32; 4] {
        [
            with(a[0], b[0]),
            with(a[1], b[1]),
            with(a[2], b[2]),
            with(a[3], b[3]),
        ]
    }
}

impl Simd for Portable {
    const LANES: usize = 4;
    const REGISTERS: usize = 16;
    type V = [f32; 4];

    #[inline(always)]
    fn splat(self, value: f32) -> [f32; 4] {
        [value; 4]
    }

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> [f32; 4] {
        // SAFETY: the caller's promise.
        unsafe { from.cast::<[f32; 4]>().read() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, value: [f32; 4]) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[f32; 4]>().write(value) }
    }

    #[inline(always)]
    unsafe fn load_first(self, from: *const f32, count: usize) -> [f32; 4] {
        let mut lanes = [0.0; 4];
        for (lane, value) in lanes.iter_mut().enumerate().take(count) {
            // SAFETY: the caller's promise.
            *value = unsafe { *from.add(lane) };
        }
        lanes
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize, value: [f32; 4]) {
        for (lane, value) in value.iter().enumerate().take(count) {
            // SAFETY: the caller's promise.
            unsafe { *to.add(lane) = *value };
        }
    }

    #[inline(always)]
    fn add(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        Self::zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        Self::zip(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        Self::zip(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn div(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        Self::zip(a, b, |a, b| a / b)
    }

    // Not `f32::mul_add`: without the instruction that is a call of a slow
    // library function.
    #[inline(always)]
    fn mul_add(self, a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        self.add(self.mul(a, b), c)
    }

    #[inline(always)]
    fn max(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        Self::zip(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        Self::zip(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn select_greater(
        self,
        a: [f32; 4],
        b: [f32; 4],
        then: [f32; 4],
        otherwise: [f32; 4],
    ) -> [f32; 4] {
        let mut chosen = otherwise;
        for lane in 0..4 {
            if a[lane] > b[lane] {
                chosen[lane] = then[lane];
            }
        }
        chosen
    }

    #[inline(always)]
    fn scale_by_power(self, a: [f32; 4], n: [f32; 4]) -> [f32; 4] {
        Self::zip(a, n, |a, n| {
            a * f32::from_bits(((n as i32 + 127) as u32) << 23)
        })
    }

    #[inline(always)]
    fn sum(self, a: [f32; 4]) -> f32 {
        (a[0] + a[2]) + (a[1] + a[3])
    }

    #[inline(always)]
    fn largest(self, a: [f32; 4]) -> f32 {
        a[0].max(a[1]).max(a[2].max(a[3]))
    }

    #[inline(always)]
    unsafe fn transpose(self, from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
        for row in 0..4 {
            for column in 0..4 {
                // SAFETY: the caller's promise.
                unsafe { *to.add(column * to_row + row) = *from.add(row * from_row + column) };
            }
        }
    }

    #[inline(always)]
    fn eight_to_half(self, from: [f32; 8]) -> [u16; 8] {
        from.map(to_half)
    }

    #[inline(always)]
    fn eight_from_half(self, from: [u16; 8]) -> [f32; 8] {
        from.map(from_half)
    }
}
