//! The node's columns cost no allocation once everything has been seen.

#![expect(
    unsafe_code,
    reason = "counting allocations takes an allocator, whose interface is unsafe"
)]

use paceline_model::Micros;
use paceline_probe::{Probe, Target};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Per thread, so that the test harness's own threads do not count.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_sample_of_the_node_that_is_filled_again_allocates_nothing() {
    let mut probe = Probe::new(&Target::default(), Micros::ZERO).unwrap();
    let mut sample = probe.sample(Micros(1_000_000));
    for second in 2..5 {
        probe.sample_into(Micros(second * 1_000_000), &mut sample);
    }
    let before = ALLOCATIONS.get();
    for second in 5..15 {
        probe.sample_into(Micros(second * 1_000_000), &mut sample);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
