//===- BlobBytes.h - constants as buffers hold them -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A constant of the IR as the bytes that generated code reads: row-major,
// little-endian, one byte for a boolean and for each element narrower than a
// byte, splats written out. Bytes that lie so in a mapped file are handed on as
// they are, others come in pieces from a small buffer: no constant is ever held
// in memory whole.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_BLOBBYTES_H
#define WEIR_COMPILER_EMIT_BLOBBYTES_H

#include "compiler/emit/Program.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace weir {

class BlobAttr;

/// Where BlobAttrs find their bytes; the result lives as long as the mapping.
using BlobResolver = llvm::function_ref<llvm::Expected<llvm::ArrayRef<char>>(BlobAttr)>;

/// Receives bytes that belong at `offset`, counted from the blobs' base.
using BlobSink = llvm::function_ref<llvm::Error(int64_t offset, llvm::ArrayRef<char>)>;

/// Bytes that a constant takes in a buffer, or an error for an attribute that
/// is no constant tensor. Strings are their sizes, 64 bits each, and then their
/// contents: the form of variables' initial values (weir/abi.h).
llvm::Expected<int64_t> blobBytes(mlir::Attribute value);

/// Hands the bytes of one constant to `sink`, in order, from `offset` on.
llvm::Error writeBlob(mlir::Attribute value, int64_t offset, BlobResolver resolve, BlobSink sink);

/// All constants of a program, in the order of their offsets. Bytes between
/// them are not written; they are to be zero.
llvm::Error writeBlobs(const Program &program, BlobResolver resolve, BlobSink sink);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_BLOBBYTES_H
