//===- BlobStore.h - bytes of constants in files ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `#weir.blob` names bytes inside of a file. The store maps each file once, for
// the life of the process, so that all of the compiler reads the same pages.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_WEIR_BLOBSTORE_H
#define WEIR_DIALECTS_WEIR_BLOBSTORE_H

#include "dialects/weir/Weir.h"
#include "llvm/Support/Error.h"
#include <map>
#include <mutex>
#include <vector>

namespace weir {

/// Thread-safe. What it returns stays valid until the process ends, as long as
/// nobody shortens the file.
class BlobStore {
public:
  static BlobStore &global();

  /// All of a file. An error says why it cannot be mapped; a file that was
  /// replaced since is mapped anew.
  llvm::Expected<llvm::ArrayRef<char>> file(llvm::StringRef path);
  /// The bytes of a blob. An error when its file is gone or too short, or when
  /// the blob's length does not fit its type.
  llvm::Expected<llvm::ArrayRef<char>> bytes(BlobAttr blob);

private:
  struct Mapping {
    const char *data = nullptr;
    size_t size = 0;
    uint64_t device = 0, inode = 0;
    int64_t modified = 0;
  };
  std::mutex mutex;
  std::map<std::string, Mapping> mappings;
};

/// The 128-bit XXH3 of bytes in 32 hexadecimal digits, as BlobAttr has it.
std::string blobHash(llvm::ArrayRef<char> bytes);

/// Bytes of an element as blobs hold it: i1 takes one, complex two parts; 0 for
/// types that have no such form (strings).
int64_t blobElementSize(mlir::Type element);

} // namespace weir

#endif // WEIR_DIALECTS_WEIR_BLOBSTORE_H
