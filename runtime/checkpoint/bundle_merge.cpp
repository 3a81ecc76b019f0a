//===- bundle_merge.cpp - one bundle of several ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/bundle.h"
#include "session/status.h"

#include <unistd.h>

namespace weir::rt {

namespace {

/// Names of shards, in the order in which entries first speak of them.
class ShardList {
public:
  /// The number of a shard's name, which ends with a zero.
  int64_t numberOf(const HeapText &name) {
    // Entries that follow each other tend to be of one shard.
    if (last < names.size() && isAt(last, name))
      return last;
    for (last = 0; last < names.size(); ++last)
      if (isAt(last, name))
        return last;
    names.push(text.size());
    text << name.view();
    return last;
  }
  int64_t size() const { return names.size(); }
  const char *operator[](int64_t i) const { return text.data() + names[i]; }
  bool failed() const { return text.failed() || names.failed(); }

private:
  bool isAt(int64_t i, const HeapText &name) const {
    return strcmp(text.data() + names[i], name.data()) == 0;
  }

  HeapText text;
  HeapList<int64_t> names;
  int64_t last = 0;
};

/// Adds a bundle's entries to the index.
int32_t addBundle(const weir_string &prefix, bool isFirst, BundleHeader &header, ShardList &shards,
                  IndexBuilder &index, weir_status *status) {
  BundleReader bundle;
  if (int32_t code = bundle.open(prefix, status))
    return code;
  const BundleHeader &own = bundle.info();
  if (isFirst) {
    header = own;
  } else if (own.isBigEndian != header.isBigEndian || own.producer != header.producer ||
             own.minConsumer != header.minConsumer) {
    StatusText out(status, WEIR_INVALID_ARGUMENT);
    out << "checkpoint ";
    out.quoted(prefix.data, prefix.size)
        << " has another byte order or version than those it is to be merged with";
    return WEIR_INVALID_ARGUMENT;
  }
  HeapText name;
  BundleEntry entry;
  for (int64_t i = 0; i < bundle.size(); ++i) {
    if (int32_t code = bundle.find(bundle.key(i), &entry, status))
      return code;
    writeShardName(name, prefix, entry.shard, own.shards);
    if (name.failed())
      return refuseMemory(status, "checkpoints that are merged");
    entry.shard = shards.numberOf(name);
    index.add(bundle.key(i), entry);
  }
  return index.failed() || shards.failed() ? refuseMemory(status, "checkpoints that are merged")
                                           : int32_t(WEIR_OK);
}

} // namespace

int32_t mergeBundles(const weir_string *prefixes, int64_t count, const weir_string &merged,
                     bool allowMissing, weir_status *status) {
  if (int32_t code = makeFolder(folderOf(merged), status))
    return code;
  BundleHeader header;
  ShardList shards;
  IndexBuilder index;
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    bool isThere = BundleReader::exists(prefixes[i]);
    if (!isThere && allowMissing)
      continue;
    if (!isThere) {
      StatusText out(status, WEIR_INVALID_ARGUMENT);
      out << "there is no checkpoint ";
      out.quoted(prefixes[i].data, prefixes[i].size) << " to merge";
      return WEIR_INVALID_ARGUMENT;
    }
    if (int32_t code = addBundle(prefixes[i], found++ == 0, header, shards, index, status))
      return code;
  }
  if (found == 0) {
    StatusText(status, WEIR_INVALID_ARGUMENT) << "there is no checkpoint to merge";
    return WEIR_INVALID_ARGUMENT;
  }
  HeapList<const char *> files;
  for (int64_t i = 0; i < shards.size(); ++i)
    files.push(shards[i]);
  HeapText name;
  int32_t code = files.failed() ? refuseMemory(status, "checkpoints that are merged")
                                : publishBundle(merged, header, index, files, status);
  // The parts' indices speak of shards that have other names now.
  for (int64_t i = 0; i < count && !code; ++i) {
    writeIndexName(name, prefixes[i]);
    if (!name.failed() && compareBytes(prefixes[i], merged) != 0)
      unlink(name.data());
  }
  return code;
}

} // namespace weir::rt
