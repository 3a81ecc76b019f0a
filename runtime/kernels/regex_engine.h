//===- regex_engine.h - what matches regular expressions --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels over regular expressions are compiled twice: for the runtime, which brings its own
// engine, and with WEIR_RE2 for libweir_runtime_text.a, where they work with RE2's.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_KERNELS_REGEX_ENGINE_H
#define WEIR_RUNTIME_KERNELS_REGEX_ENGINE_H

#ifdef WEIR_RE2
#include "text/re2_engine.h"
#else
#include "kernels/regex.h"
#endif

#endif // WEIR_RUNTIME_KERNELS_REGEX_ENGINE_H
