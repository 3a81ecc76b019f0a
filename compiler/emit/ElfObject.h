//===- ElfObject.h - puts constants into an object file ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM writes the object with one byte where the constants belong; here the
// real ones come between the ELF header and all else, and the section's header
// is pointed at them. That is all a relocatable ELF file needs: symbols and
// relocations count from the section's begin. So constants go from the mapped
// model file to the object without ever being held in memory, and while code is
// generated.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_ELFOBJECT_H
#define WEIR_COMPILER_EMIT_ELFOBJECT_H

#include "compiler/emit/BlobBytes.h"
#include "compiler/emit/OutputFile.h"

#include "llvm/ADT/SmallVector.h"

namespace weir {

/// Where in the file of the program's object its constants begin, which depends on nothing but
/// their bytes: they may be written before there is any code. 0 when the program has none.
int64_t blobsBegin(const Program &program);

/// Writes the constants from `begin` on.
llvm::Error writeBlobsAt(int64_t begin, const Program &program, BlobResolver resolve,
                         OutputFile &file);

/// Writes the constants to where the object's file has them.
llvm::Error writeObjectBlobs(const Program &program, BlobResolver resolve, OutputFile &file);

/// Writes all else of the object (ELF64, little-endian, written from a module that emitDescriptors
/// was given), whose headers are changed for that.
llvm::Error writeObject(const Program &program, llvm::MutableArrayRef<char> object,
                        OutputFile &file);

/// The same in memory: puts the constants into an object.
llvm::Error insertBlobs(const Program &program, BlobResolver resolve,
                        llvm::SmallVectorImpl<char> &object);

/// Writes the constants beside the object, as weir_weights_trailer describes.
llvm::Error writeWeights(const Program &program, BlobResolver resolve, OutputFile &file);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_ELFOBJECT_H
