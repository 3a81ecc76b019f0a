//===- Bundle.h - the variables of a SavedModel -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checkpoints of format V2, as the runtime reads them (runtime/checkpoint/bundle.h), but
// for the data, which stay in the mapped shards.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_BUNDLE_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_BUNDLE_H

#include "compiler/frontend/MappedFile.h"
#include "compiler/frontend/tensorflow/GraphDef.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::tf {

/// A tensor out of a bundle. Numbers: either a view into a shard, or `storage`
/// where slices had to be put together. Strings: `strings`, views into a shard.
struct BundleTensor {
  DataType type = DataType::Invalid;
  std::vector<int64_t> dims;
  std::string_view bytes;
  std::string storage;
  std::vector<std::string_view> strings;
  std::string file;   ///< the shard, for a view
  int64_t offset = 0; ///< in it
};

class Bundle {
public:
  /// Opens a bundle by its prefix (`…/variables/variables`). Null, with one
  /// line in `error`, where the index is missing or damaged.
  static std::unique_ptr<Bundle> open(const std::string &prefix, std::string &error);
  ~Bundle();

  bool contains(std::string_view name) const;
  /// The sizes of a tensor, or of the part of it that read() takes, as the index has
  /// them; nothing is read. Nothing where the bundle does not hold it, or no such part.
  std::optional<std::vector<int64_t>> shapeOf(std::string_view name, std::string_view part) const;
  std::vector<std::string> names() const;

  /// Reads a tensor and checks its checksum. False, with one line in `error`,
  /// where it is missing, damaged, or claims bytes that its shard lacks.
  bool read(std::string_view name, BundleTensor &tensor, std::string &error);
  /// The same for the part of it that RestoreV2's `shape_and_slices` names ("7 4 5,2:-");
  /// an empty one is all of it. Parts need not be those that were stored.
  bool read(std::string_view name, std::string_view part, BundleTensor &tensor, std::string &error);

private:
  Bundle();
  struct Files;
  std::unique_ptr<Files> files;
};

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_BUNDLE_H
