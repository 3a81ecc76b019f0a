//===- table.h - sorted string tables ---------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table format of checkpoints: LevelDB's (doc/table_format.md there), with blocks
// that may be Snappy-compressed. Layout, from the end: a 48-byte footer with two handles
// (offset, size) and a magic number; the index block, whose values are handles of data
// blocks; an empty block for what describes others; data blocks. A block is entries
// (size of the prefix shared with the key before, of the rest of the key, of the value;
// rest; value), offsets of the entries that share nothing, and their number; behind it
// come a byte (0: as it is, 1: Snappy) and a masked CRC-32C.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CHECKPOINT_TABLE_H
#define WEIR_RUNTIME_CHECKPOINT_TABLE_H

#include "support/files.h"

namespace weir::rt {

int compareBytes(const weir_string &a, const weir_string &b);

/// Entries in the order they were added in, keys and values in one text.
class EntryList {
public:
  bool add(const weir_string &key, const weir_string &value);
  void clear();
  bool failed() const { return text.failed() || rows.failed(); }
  int64_t size() const { return rows.size(); }
  weir_string key(int64_t i) const { return {text.data() + rows[i].key, rows[i].keySize}; }
  weir_string value(int64_t i) const {
    return {text.data() + rows[i].key + rows[i].keySize, rows[i].valueSize};
  }
  /// Number of the first entry whose key is not less than `key`, where keys are sorted.
  int64_t lowerBound(const weir_string &key) const;
  /// Number of the entry of `key`, -1: none; where keys are sorted.
  int64_t find(const weir_string &key) const;

private:
  struct Row {
    int64_t key, keySize, valueSize;
  };
  HeapText text;
  HeapList<Row> rows;
};

/// Reads a table. What is damaged is DATA_LOSS, with a message that names the file and
/// the offset. Not thread-safe.
class TableReader {
public:
  /// Reads footer and index. The file must stay open.
  int32_t open(InputFile &file, weir_status *status);
  /// Adds all entries to `entries`. Keys that are out of order are DATA_LOSS.
  int32_t readAll(EntryList &entries, weir_status *status);
  /// The value of a key: NOT_FOUND, without a message, where there is none.
  int32_t find(const weir_string &key, HeapText &value, weir_status *status);

private:
  struct Handle {
    int64_t offset, size;
  };
  int32_t fail(int64_t offset, const char *what, weir_status *status) const;
  int32_t readBlock(Handle handle, weir_status *status);
  int32_t readEntries(Handle handle, EntryList &entries, weir_status *status);
  int32_t handleAt(int64_t i, Handle *handle, weir_status *status) const;

  InputFile *file = nullptr;
  int64_t indexOffset = 0;
  EntryList index; ///< keys not less than any of their block's, and handles
  HeapList<char> raw, block;
};

/// Writes a table, byte by byte as TensorFlow does without compression.
class TableWriter {
public:
  explicit TableWriter(OutputFile &file) : file(file) {}
  /// Keys must come in rising order.
  int32_t add(const weir_string &key, const weir_string &value, weir_status *status);
  int32_t finish(weir_status *status);

private:
  class Block {
  public:
    explicit Block(int32_t interval) : interval(interval) {}
    void add(const weir_string &key, const weir_string &value);
    /// Bytes that it has when it is finished.
    int64_t size() const { return text.size() + (restarts.size() + !restarts.size() + 1) * 4; }
    bool isEmpty() const { return text.size() == 0; }
    weir_string finish();
    void clear();
    bool failed() const { return text.failed() || restarts.failed() || last.failed(); }

  private:
    const int32_t interval;
    int32_t count = 0;
    HeapText text, last;
    HeapList<uint32_t> restarts;
  };
  int32_t write(Block &block, HeapText &handle, weir_status *status);
  int32_t flush(weir_status *status);

  OutputFile &file;
  Block data{16}, index{1};
  HeapText last, pending; ///< the last key; the handle of a block that the index lacks
};

} // namespace weir::rt

#endif // WEIR_RUNTIME_CHECKPOINT_TABLE_H
