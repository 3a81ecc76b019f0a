//===- library.h - libraries that are loaded at run time ----- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_LIBRARY_H
#define WEIR_RUNTIME_CUDA_LIBRARY_H

#include "cuda/choice_file.h"
#include "cuda/driver_api.h"
#include "support/sync.h"

namespace weir::rt::cuda {

struct CudaDevice;

/// What a library's call works on, in the GPU's memory; 0: nothing. A convolution's
/// input is on the left, its filter on the right; so are an attention's queries and keys,
/// and its mask is the addend.
struct LibraryOperands {
  Pointer left, right, addend, bias, result, workspace;
  Pointer values = 0;
};

/// What environment variable `variable` names ("off": nothing), or else the
/// first of `names` (up to a null) that the loader finds, also in
/// $CUDA_HOME/lib64 and /usr/local/cuda/lib64. Null: none. It stays loaded.
void *openLibrary(const char *variable, const char *const *names);

/// Whether the driver knows CUDA `version` (13000: 13.0): a library of a later one opens,
/// and then does nothing. True where there is no driver.
bool driverKnows(int version);

/// A library's functions, looked up once a process. Static storage, without a
/// constructor; thread-safe.
template <typename Api> struct LoadedLibrary {
  Mutex mutex;
  bool tried = false, usable = false;
  Api api;

  /// `load` fills the functions in, and says whether all are there. Null: not.
  const Api *get(bool (*load)(Api &)) {
    Lock lock(mutex);
    if (!tried)
      usable = load(api);
    tried = true;
    return usable ? &api : nullptr;
  }
};

/// Before the name of a problem in the file of choices: the choice was timed.
inline constexpr char timedPrefix[] = "timed ";

/// Opens the file of what version `version` of `library` chose for this GPU and
/// driver; null as ChoiceFile::open. The device's context is current.
ChoiceFile *openChoices(const CudaDevice &device, const char *library, int64_t version);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_LIBRARY_H
