//===- library.h - libraries that are loaded at run time ----- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_LIBRARY_H
#define WEIR_RUNTIME_CUDA_LIBRARY_H

namespace weir::rt::cuda {

/// What environment variable `variable` names ("off": nothing), or else the
/// first of `names` (up to a null) that the loader finds, also in
/// $CUDA_HOME/lib64 and /usr/local/cuda/lib64. Null: none. It stays loaded.
void *openLibrary(const char *variable, const char *const *names);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_LIBRARY_H
