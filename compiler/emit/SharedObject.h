//===- SharedObject.h - puts constants into a shared object -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linker copies constants through a mapping of its output, page by page, which
// takes longer than all else of a large model. So it is given an object in which
// their section has a size but no bytes (SHT_NOBITS). LLVM's linker ends a segment
// with such a section, which keeps its place in memory; behind what the file has
// of that segment come the bytes, and all that follows moves.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_SHAREDOBJECT_H
#define WEIR_COMPILER_EMIT_SHAREDOBJECT_H

#include "compiler/emit/BlobBytes.h"
#include "compiler/emit/OutputFile.h"

namespace weir {

/// Whether a shared object of the program gets its constants behind the linker: what is small is
/// not worth the alignment. The linker must be LLVM's.
bool isLinkedWithoutBlobs(const Program &program);

/// Writes the constants to where a shared object most likely has them, before there is any code.
llvm::Error writeSharedBlobs(const Program &program, BlobResolver resolve, OutputFile &file);

/// Changes the headers of an object without constants (ELF64, little-endian, written from a module
/// that emitDescriptors was given): their section has their size, and no bytes.
llvm::Error leaveBlobsOut(const Program &program, llvm::MutableArrayRef<char> object);

/// Writes what was linked of such an object at `linked`, and the constants, which writeSharedBlobs
/// has written, a second time if they have another place.
llvm::Error writeSharedObject(const Program &program, BlobResolver resolve, llvm::StringRef linked,
                              OutputFile &file);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_SHAREDOBJECT_H
