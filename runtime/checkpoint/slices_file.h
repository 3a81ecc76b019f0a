//===- slices_file.h - checkpoints of format V1 -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint of format V1 is one or more tables (table.h). The value of "" is a
// SavedTensorSlices with names, types, shapes and slices of all tensors; that of a slice's
// key (writeSliceKey) is one with its elements, in a TensorProto. Source:
// tensorflow/core/util/saved_tensor_slice.proto.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CHECKPOINT_SLICES_FILE_H
#define WEIR_RUNTIME_CHECKPOINT_SLICES_FILE_H

#include "checkpoint/bundle.h"

namespace weir::rt {

/// Reads the files that match a pattern. Codes are TensorFlow's. Not thread-safe.
class SlicesReader {
public:
  SlicesReader() = default;
  SlicesReader(const SlicesReader &) = delete;
  SlicesReader &operator=(const SlicesReader &) = delete;

  int32_t open(const weir_string &pattern, weir_status *status);
  /// Type and shape of a tensor; NOT_FOUND where there is none.
  int32_t find(const weir_string &name, int32_t *type, StoredShape *shape,
               weir_status *status) const;
  /// Reads a slice, which was checked against the shape, of a tensor that is there.
  /// INVALID_ARGUMENT where the files do not have all of it, or are damaged.
  int32_t read(const weir_string &name, const TensorSlice &slice, void *to,
               const StringMemory &memory, weir_status *status);
  /// Slices of all tensors: the name of the tensor that number `i` is of.
  int64_t size() const { return pieces.size(); }
  weir_string name(int64_t i) const { return nameOf(pieces[i]); }

private:
  struct Piece {
    int64_t name, nameSize;
    int32_t type;
    int64_t file; ///< its number
    StoredShape shape;
    TensorSlice slice;
  };
  weir_string nameOf(const Piece &piece) const {
    return {names.data() + piece.name, piece.nameSize};
  }
  int32_t addFile(int64_t file, weir_status *status);
  int32_t addTensor(const weir_string &message, int64_t file, weir_status *status);
  int32_t readPiece(const Piece &piece, const TensorSlice &wanted, void *to,
                    const StringMemory &memory, weir_status *status);

  MatchingFiles files;
  HeapText names;
  HeapList<Piece> pieces;
};

/// Writes one file. Its values are kept until finish().
class SlicesWriter {
public:
  int32_t open(const weir_string &path, weir_status *status);
  /// Tensors come in the order of their names; slices of one, together.
  int32_t add(const weir_string &name, int32_t type, const StoredShape &shape,
              const TensorSlice &slice, const void *data, weir_status *status);
  int32_t finish(weir_status *status);

private:
  HeapText path;
  OutputFile file;
  HeapText meta; ///< SavedSliceMeta…, without slices of the last one
  HeapText lastName, lastHead, lastSlices;
  int32_t lastType = 0;
  StoredShape lastShape;
  EntryList values;
  HeapList<int64_t> order;
  void endTensor();
};

/// Elements of a TensorProto, `count` of them, to `to` (weir_string for strings). Null, or
/// what is wrong.
const char *readValues(const weir_string &message, int32_t type, int64_t count, void *to,
                       const StringMemory &memory);
/// The other way round. The type's `field` is there.
void writeValues(HeapText &out, int32_t type, int64_t count, const void *data);

} // namespace weir::rt

#endif // WEIR_RUNTIME_CHECKPOINT_SLICES_FILE_H
