//===- Npy.h - numpy's array files ------------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// .npy (one array) and .npz (a ZIP archive of them). Element types that numpy
// lacks are stored as unsigned integers of the same bits, with the type's name
// after a bar in the archive's key: `x|bfloat16`, `y|float8_e4m3fn`, `z|int4`.
// Strings are `S` (zero padded bytes) or `U` (read as UTF-8).
// Format: numpy's NEP 1.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_NPY_H
#define WEIR_TOOLS_COMMON_NPY_H

#include "tools/common/HostTensor.h"

#include <string>
#include <utility>
#include <vector>

namespace weir::tools {

/// Names and tensors, in the file's order.
using NamedTensors = std::vector<std::pair<std::string, HostTensor>>;

/// The tensor of that name, or null.
HostTensor *findTensor(NamedTensors &tensors, std::string_view name);

/// The arrays of a sequence, `name[0]`, `name[1]` …, and of nested ones,
/// `name[0][0]` …; of another tensor, itself.
NamedTensors arraysOf(const std::string &name, const HostTensor &tensor);
/// The sequence whose arrays are among `tensors`; false: none is.
bool sequenceOf(NamedTensors &tensors, const std::string &name, HostTensor &sequence);

/// Reads the bytes of a .npy file. False, with the reason in `error`.
bool readNpy(std::string_view bytes, HostTensor &tensor, std::string &error);

/// The bytes of a .npy file; a type that numpy lacks as its bits.
std::string writeNpy(const HostTensor &tensor);

/// Reads a file. False, with the reason (without the file's name) in `error`.
bool readNpyFile(const std::string &path, HostTensor &tensor, std::string &error);

/// Writes one array. False, with the reason in `error`.
bool writeNpyFile(const std::string &path, const HostTensor &tensor, std::string &error);

/// Reads an archive; keys come without `.npy` and without the type after the
/// bar, which becomes the tensor's type.
bool readNpzFile(const std::string &path, NamedTensors &tensors, std::string &error);

/// Writes an archive. Equal tensors give equal bytes.
bool writeNpzFile(const std::string &path, const NamedTensors &tensors, std::string &error);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_NPY_H
