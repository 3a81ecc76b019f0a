//===- table_writer.cpp - writing sorted string tables --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/crc32c.h"
#include "checkpoint/table.h"
#include "session/status.h"
#include "support/wire_format.h"

namespace weir::rt {

/// A block is written once it has so much. TensorFlow's, as all of this file's choices.
static constexpr int64_t blockBytes = 1 << 18;

static void appendFixed32(HeapText &out, uint32_t value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

static int64_t commonPrefix(const weir_string &a, const weir_string &b) {
  int64_t most = a.size < b.size ? a.size : b.size, i = 0;
  while (i < most && a.data[i] == b.data[i])
    ++i;
  return i;
}

void TableWriter::Block::add(const weir_string &key, const weir_string &value) {
  int64_t shared = 0;
  if (restarts.size() > 0 && count < interval) {
    shared = commonPrefix(last.view(), key);
  } else {
    restarts.push(uint32_t(text.size()));
    count = 0;
  }
  ++count;
  writeVarint(text, uint64_t(shared));
  writeVarint(text, uint64_t(key.size - shared));
  writeVarint(text, uint64_t(value.size));
  text.append(key.data + shared, key.size - shared);
  text << value;
  last.clear();
  last << key;
}

weir_string TableWriter::Block::finish() {
  // A block without entries begins one at 0, too.
  if (restarts.size() == 0)
    restarts.push(0);
  for (int64_t i = 0; i < restarts.size(); ++i)
    appendFixed32(text, restarts[i]);
  appendFixed32(text, uint32_t(restarts.size()));
  return text.view();
}

void TableWriter::Block::clear() {
  text.clear();
  last.clear();
  restarts.clear();
  count = 0;
}

int32_t TableWriter::write(Block &block, HeapText &handle, weir_status *status) {
  weir_string contents = block.finish();
  if (block.failed())
    return refuseMemory(status, "a block of a table");
  handle.clear();
  writeVarint(handle, uint64_t(file.size()));
  writeVarint(handle, uint64_t(contents.size));
  char trailer[5] = {0};
  uint32_t crc = maskCrc(crc32c(trailer, 1, crc32c(contents.data, contents.size)));
  memcpy(trailer + 1, &crc, sizeof(crc));
  int32_t code = file.write(contents.data, contents.size, status);
  if (!code)
    code = file.write(trailer, sizeof(trailer), status);
  block.clear();
  return code;
}

int32_t TableWriter::flush(weir_status *status) {
  return data.isEmpty() ? int32_t(WEIR_OK) : write(data, pending, status);
}

/// Shortens `key` to something that is not less, and less than `limit`.
static void separate(HeapText &key, const weir_string &limit) {
  int64_t at = commonPrefix(key.view(), limit);
  if (at >= key.size() || at >= limit.size)
    return; // one begins with the other
  auto byte = static_cast<unsigned char>(key[at]);
  if (byte < 0xff && byte + 1 < static_cast<unsigned char>(limit.data[at])) {
    key[at] = char(byte + 1);
    key.resize(at + 1);
  }
}

/// Shortens `key` to something that is not less.
static void succeed(HeapText &key) {
  for (int64_t i = 0; i < key.size(); ++i)
    if (static_cast<unsigned char>(key[i]) != 0xff) {
      ++key[i];
      key.resize(i + 1);
      return;
    }
}

int32_t TableWriter::add(const weir_string &key, const weir_string &value, weir_status *status) {
  if (pending.size() > 0) {
    separate(last, key);
    index.add(last.view(), pending.view());
    pending.clear();
  }
  last.clear();
  last << key;
  data.add(key, value);
  return data.size() < blockBytes ? int32_t(WEIR_OK) : flush(status);
}

int32_t TableWriter::finish(weir_status *status) {
  if (int32_t code = flush(status))
    return code;
  Block nothing{16};
  HeapText footer, handle;
  if (int32_t code = write(nothing, footer, status))
    return code;
  if (pending.size() > 0) {
    succeed(last);
    index.add(last.view(), pending.view());
  }
  if (int32_t code = write(index, handle, status))
    return code;
  footer << handle.view();
  while (footer.size() < 40 && !footer.failed())
    footer << '\0';
  uint64_t magic = 0xdb4775248b80fb57ull;
  footer.append(reinterpret_cast<const char *>(&magic), sizeof(magic));
  return file.write(footer.data(), footer.size(), status);
}

} // namespace weir::rt
