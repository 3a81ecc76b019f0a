//===- rust.rs - a model in Rust --------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C functions of a model's header, declared in Rust, and a safe type around them.
//
//   weirc test/digits/digits.onnx -o digits.o
//   rustc -O rust.rs -C link-arg=digits.o -C link-arg=libweir_runtime.a -C link-arg=-lm
//   ./rust test/digits/samples.f32 test/digits/samples.u8
//
//===----------------------------------------------------------------------===//

use std::ffi::{c_char, c_void, CStr};

#[repr(C)]
struct Status { // weir_status
    size: u32,
    code: i32,
    message: [c_char; 1016],
}

#[repr(C)]
struct Tensor { // weir_tensor
    data: *mut c_void,
    bytes: i64,
    dtype: i32,
    rank: i32,
    dims: [i64; 16],
}

enum Session {}
extern "C" {
    fn digits_create(options: *const c_void, session: *mut *mut Session, status: *mut Status) -> i32;
    fn digits_destroy(session: *mut Session);
    fn digits_run(
        session: *mut Session,
        feeds: *const Tensor,
        fetches: *mut Tensor,
        options: *const c_void,
        status: *mut Status,
    ) -> i32;
}

/// A session, which any thread may use.
struct Digits(*mut Session);
unsafe impl Send for Digits {}
unsafe impl Sync for Digits {}

fn checked(call: impl FnOnce(*mut Status) -> i32) -> Result<(), String> {
    let size = std::mem::size_of::<Status>() as u32;
    let mut status = Status { size, code: 0, message: [0; 1016] };
    match call(&mut status) {
        0 => Ok(()),
        _ => Err(unsafe { CStr::from_ptr(status.message.as_ptr()) }.to_string_lossy().into_owned()),
    }
}

/// Rows of `values`, to be read or to be written.
fn tensor(values: *const f32, count: usize, dims: &[usize]) -> Tensor {
    let mut sizes = [0; 16];
    dims.iter().enumerate().for_each(|(i, &size)| sizes[i] = size as i64);
    let (bytes, rank) = (4 * count as i64, dims.len() as i32);
    Tensor { data: values as *mut c_void, bytes, dtype: 1, rank, dims: sizes }
}

impl Digits {
    fn new() -> Result<Self, String> {
        let mut session = std::ptr::null_mut();
        checked(|status| unsafe { digits_create(std::ptr::null(), &mut session, status) })?;
        Ok(Digits(session))
    }
    /// Ten probabilities for each image of 64 numbers.
    fn run(&self, images: &[f32]) -> Result<Vec<f32>, String> {
        let rows = images.len() / 64;
        let mut out = vec![0f32; 10 * rows];
        let feed = tensor(images.as_ptr(), 64 * rows, &[rows, 1, 8, 8]);
        let mut fetch = tensor(out.as_mut_ptr(), out.len(), &[rows, 10]);
        checked(|s| unsafe { digits_run(self.0, &feed, &mut fetch, std::ptr::null(), s) })?;
        Ok(out)
    }
}

impl Drop for Digits {
    fn drop(&mut self) { unsafe { digits_destroy(self.0) } }
}
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let (bytes, labels) = (std::fs::read(&files[0])?, std::fs::read(&files[1])?);
    let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let images: Vec<f32> = bytes.chunks_exact(4).map(float).collect();
    let answers = Digits::new()?.run(&images)?;
    let best = |p: &[f32]| (0..10).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
    let right = answers.chunks(10).zip(&labels).filter(|(p, &label)| best(p) == label as usize).count();
    println!("{right} of {} digits are classified right", labels.len());
    Ok(())
}
