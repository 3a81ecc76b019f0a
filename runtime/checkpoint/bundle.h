//===- bundle.h - checkpoints of format V2 ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bundle P is `P.index`, a table (table.h) of names, and `P.data-00000-of-00002`, …, its
// shards. The entry of "" is a header; others are of a tensor, or of a slice of one, under
// a key of its own (writeSliceKey). Elements lie row by row; strings are all lengths, a
// checksum of these, and the bytes. Everything has a masked CRC-32C. Source:
// tensorflow/core/protobuf/tensor_bundle.proto, and files that TensorFlow writes.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CHECKPOINT_BUNDLE_H
#define WEIR_RUNTIME_CHECKPOINT_BUNDLE_H

#include "checkpoint/slice.h"
#include "checkpoint/stored_type.h"
#include "checkpoint/table.h"

namespace weir::rt {

/// BundleHeaderProto.
struct BundleHeader {
  int32_t shards = 1;
  bool isBigEndian = false;
  int32_t producer = 1, minConsumer = 0;
};

/// BundleEntryProto: a tensor's type and shape, and where it is; or, with `slices`, in
/// which pieces it is.
struct BundleEntry {
  int32_t type = 0; ///< TensorFlow's number
  StoredShape shape;
  int64_t shard = 0, offset = 0, size = 0;
  uint32_t crc = 0; ///< masked
  HeapList<TensorSlice> slices;
};

void writeHeader(HeapText &out, const BundleHeader &header);
void writeEntry(HeapText &out, const BundleEntry &entry);
bool readHeader(const weir_string &message, BundleHeader *header);
/// False: damaged, no memory, or of more than WEIR_MAX_RANK dimensions.
bool readEntry(const weir_string &message, BundleEntry *entry);

/// "P.index", "P.data-00003-of-00010", with a final zero.
void writeIndexName(HeapText &out, const weir_string &prefix);
void writeShardName(HeapText &out, const weir_string &prefix, int64_t shard, int64_t shards);
/// Appends `value` with at least five digits, as printf's %05d does.
void writeFiveDigits(HeapText &out, int64_t value);

/// Elements of a tensor on their way to or from a file: numbers at `data`, or strings.
/// Where contents of strings that are read go: make() gives memory, null: none.
struct StringMemory {
  char *(*make)(void *self, int64_t bytes);
  void *self;
};

/// Finds the strings in what they are stored as (`bytes` bytes at `data`): `strings` point
/// into it. Sets the checksum of all. Null, or what is wrong.
const char *splitStrings(const char *data, int64_t bytes, int64_t count, bool isSwapped,
                         weir_string *strings, uint32_t *crc);

/// Reads a bundle. Codes are TensorFlow's: NOT_FOUND for a key or file that is not there,
/// DATA_LOSS for what is damaged, OUT_OF_RANGE for data that is cut off. Messages name the
/// file and the offset. Not thread-safe.
class BundleReader {
public:
  BundleReader() = default;
  ~BundleReader();
  BundleReader(const BundleReader &) = delete;
  BundleReader &operator=(const BundleReader &) = delete;

  /// Whether there is an index of that prefix.
  static bool exists(const weir_string &prefix);
  int32_t open(const weir_string &prefix, weir_status *status);
  /// All keys but the header's, in order.
  int64_t size() const { return entries.size() - first; }
  weir_string key(int64_t i) const { return entries.key(i + first); }
  const BundleHeader &info() const { return header; }
  bool contains(const weir_string &key) const { return entries.find(key) >= first; }
  int32_t find(const weir_string &key, BundleEntry *entry, weir_status *status) const;

  /// Whether shards can have `count` elements of a tensor: to be asked before memory for them
  /// is.
  int32_t checkSize(const weir_string &key, const BundleEntry &entry, int64_t count,
                    weir_status *status);

  /// Reads a tensor, or a part of it: elements to `to` (weir_string for strings, whose
  /// contents come from `memory`), which has room for the slice. The slice was checked
  /// against the entry's shape; null: all. `asTensorFlow`: types that TensorFlow does not
  /// take apart are INVALID_ARGUMENT, where it would have to.
  int32_t read(const weir_string &key, const BundleEntry &entry, const TensorSlice *slice, void *to,
               const StringMemory &memory, bool asTensorFlow, weir_status *status);

private:
  int32_t shardOf(const weir_string &key, const BundleEntry &entry, InputFile **file,
                  weir_status *status);
  int32_t readValue(const weir_string &key, const BundleEntry &entry, void *to,
                    const StringMemory &memory, weir_status *status);
  int32_t readPart(const weir_string &key, const BundleEntry &entry, const TensorSlice &wanted,
                   void *to, weir_status *status);
  int32_t damaged(const char *file, int64_t offset, const weir_string &key, const char *what,
                  weir_status *status) const;
  int32_t lacksSlices(const weir_string &key, weir_status *status) const;

  HeapText prefix, indexName; ///< with final zeros
  BundleHeader header;
  EntryList entries;
  int64_t first = 0; ///< 1 behind the header
  static constexpr int64_t openFiles = 16;
  struct Shard {
    InputFile file;
    int64_t number = -1;
  };
  Shard shards[openFiles];
};

/// Removes a bundle's index, where there is one: what is left of it is no bundle.
int32_t removeIndex(const weir_string &prefix, weir_status *status);

/// Key-value pairs of an index on their way into a table: those of slices of one tensor
/// become one.
class IndexBuilder {
public:
  void add(const weir_string &key, const BundleEntry &entry);
  /// A slice of the tensor `key`, which is of that type and shape.
  void addSlice(const weir_string &key, int32_t type, const StoredShape &shape,
                const TensorSlice &slice);
  /// Writes `P.index`, the header first, but for its name; numbers of shards are larger by
  /// `firstShard`. INVALID_ARGUMENT where two tensors have one name.
  int32_t write(OutputFile &file, const weir_string &prefix, const BundleHeader &header,
                int64_t firstShard, weir_status *status);
  bool failed() const { return list.failed() || order.failed(); }

private:
  EntryList list;
  HeapList<int64_t> order;
};

/// Makes a bundle of its shards, the files of these names, which get new ones: they are on the
/// disk already. Of one that has the prefix and is overwritten, at each moment either all is
/// there or all of the new one.
int32_t publishBundle(const weir_string &prefix, const BundleHeader &header, IndexBuilder &index,
                      const HeapList<const char *> &files, weir_status *status);

/// Writes a bundle of one shard. Nothing is there under its name before finish(), and
/// then everything is on the disk.
class BundleWriter {
public:
  /// Makes the prefix's folder, but not those around it.
  int32_t open(const weir_string &prefix, weir_status *status);
  /// `data`: elements, weir_string for strings.
  int32_t add(const weir_string &key, int32_t type, const StoredShape &shape, const void *data,
              weir_status *status);
  /// A slice of a tensor of `shape`; `data` has the slice's elements alone.
  int32_t addSlice(const weir_string &key, int32_t type, const StoredShape &shape,
                   const TensorSlice &slice, const void *data, weir_status *status);
  int32_t finish(weir_status *status);

private:
  int32_t writeStrings(const weir_string *strings, int64_t count, BundleEntry &entry,
                       weir_status *status);

  HeapText prefix;
  OutputFile data;
  IndexBuilder index;
};

/// Makes one bundle of several, which are gone then: their shards get other names. Nothing
/// changes where one of them cannot be read; a prefix that is not there may be left out
/// with `allowMissing`.
int32_t mergeBundles(const weir_string *prefixes, int64_t count, const weir_string &merged,
                     bool allowMissing, weir_status *status);

} // namespace weir::rt

#endif // WEIR_RUNTIME_CHECKPOINT_BUNDLE_H
