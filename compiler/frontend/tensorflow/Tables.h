//===- Tables.h - lookup tables and their files -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_TABLES_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_TABLES_H

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/Types.h"

#include <string>

namespace weir::tf {

/// What a table holds in a new session, or null: one that a run initializes.
struct TableEntries {
  mlir::TypedAttr keys, values;
};

/// How lines of a text file become entries; as InitializeTableFromTextFile.
struct TableFile {
  std::string path, delimiter;
  int64_t keyColumn, valueColumn; ///< -1: the line's number, -2: the whole line
  int64_t size;                   ///< lines at most, -1: all
  int64_t offset;                 ///< added to line numbers
};

/// Reads a vocabulary. False with `error` set: it cannot be read, or does not
/// have what is asked for.
bool readTableFile(const TableFile &file, mlir::Type keyType, mlir::Type valueType,
                   TableEntries &entries, std::string &error);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_TABLES_H
