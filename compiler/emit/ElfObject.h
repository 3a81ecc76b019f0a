//===- ElfObject.h - puts constants into an object file ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM writes the object with one byte where the constants belong; here the
// real ones follow at the object's end, and the section's header is pointed at
// them. That is all a relocatable ELF file needs: symbols and relocations count
// from the section's begin. So constants go from the mapped model file to the
// object without ever being held in memory.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_ELFOBJECT_H
#define WEIR_COMPILER_EMIT_ELFOBJECT_H

#include "compiler/emit/BlobBytes.h"
#include "compiler/emit/OutputFile.h"

#include "llvm/ADT/SmallVector.h"

namespace weir {

/// Patches `object` (ELF64, little-endian, written from a module that
/// emitDescriptors was given) for constants that follow it, and returns the
/// offset in the file at which they start. 0 when the program has none.
llvm::Expected<int64_t> reserveBlobs(const Program &program, llvm::MutableArrayRef<char> object);

/// Appends the constants to an object in memory.
llvm::Error appendBlobs(const Program &program, BlobResolver resolve,
                        llvm::SmallVectorImpl<char> &object);

/// Writes the object and the constants to `file`.
llvm::Error writeObject(const Program &program, BlobResolver resolve,
                        llvm::MutableArrayRef<char> object, OutputFile &file);

/// Writes the constants beside the object, as weir_weights_trailer describes.
llvm::Error writeWeights(const Program &program, BlobResolver resolve, OutputFile &file);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_ELFOBJECT_H
