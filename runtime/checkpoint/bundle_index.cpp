//===- bundle_index.cpp - indices of bundles, and how bundles appear ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/bundle.h"
#include "session/status.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

namespace weir::rt {

static int32_t refuseKey(weir_status *status, const weir_string &key, const char *what) {
  StatusText out(status, WEIR_INVALID_ARGUMENT);
  out << "tensor ";
  out.quoted(key.data, key.size) << ": " << what;
  return WEIR_INVALID_ARGUMENT;
}

void IndexBuilder::add(const weir_string &key, const BundleEntry &entry) {
  HeapText value;
  writeEntry(value, entry);
  order.push(list.size());
  list.add(key, value.view());
}

void IndexBuilder::addSlice(const weir_string &key, int32_t type, const StoredShape &shape,
                            const TensorSlice &slice) {
  BundleEntry entry;
  entry.type = type;
  entry.shape = shape;
  entry.slices.push(slice);
  add(key, entry);
}

int32_t IndexBuilder::write(OutputFile &file, const weir_string &prefix, const BundleHeader &header,
                            int64_t firstShard, weir_status *status) {
  if (failed())
    return refuseMemory(status, "the index of a checkpoint");
  // By key; of equal ones in the order they came in.
  order.sort(
      [](const void *a, const void *b, void *self) {
        auto &list = *static_cast<const EntryList *>(self);
        int64_t i = *static_cast<const int64_t *>(a), k = *static_cast<const int64_t *>(b);
        int keys = compareBytes(list.key(i), list.key(k));
        return keys ? keys : i < k ? -1 : 1;
      },
      &list);
  HeapText name, value;
  writeIndexName(name, prefix);
  if (name.failed())
    return refuseMemory(status, "the index of a checkpoint");
  if (int32_t code = file.create(name.data(), status))
    return code;
  TableWriter table(file);
  writeHeader(value, header);
  if (int32_t code = table.add({"", 0}, value.view(), status))
    return code;
  for (int64_t i = 0; i < order.size();) {
    weir_string key = list.key(order[i]);
    weir_string encoded = list.value(order[i]);
    int64_t next = i + 1;
    BundleEntry all, other;
    for (; next < order.size() && compareBytes(list.key(order[next]), key) == 0; ++next) {
      bool isFirst = next == i + 1;
      if ((isFirst && !readEntry(encoded, &all)) || !readEntry(list.value(order[next]), &other))
        return refuseMemory(status, "the index of a checkpoint");
      if (all.slices.size() == 0 || other.slices.size() == 0)
        return refuseKey(status, key, "two tensors of a checkpoint have this name");
      if (all.type != other.type || !(all.shape == other.shape))
        return refuseKey(status, key, "its slices say different types or shapes of the whole");
      if (!all.slices.append(other.slices.data(), other.slices.size()))
        return refuseMemory(status, "the index of a checkpoint");
    }
    if (next == i + 1 && firstShard > 0 && !readEntry(encoded, &all))
      return refuseMemory(status, "the index of a checkpoint");
    if (next > i + 1 || firstShard > 0) {
      value.clear();
      all.shard += firstShard;
      writeEntry(value, all);
      encoded = value.view();
    }
    if (int32_t code = table.add(key, encoded, status))
      return code;
    i = next;
  }
  int32_t code = table.finish(status);
  return code ? code : file.sync(status);
}

int32_t removeIndex(const weir_string &prefix, weir_status *status) {
  HeapText name;
  writeIndexName(name, prefix);
  if (name.failed())
    return refuseMemory(status, "the index of a checkpoint");
  bool isGone = unlink(name.data()) == 0 || errno == ENOENT;
  return isGone ? int32_t(WEIR_OK) : failFile(status, name.data(), errno);
}

//===----------------------------------------------------------------------===//
// How a bundle appears
//===----------------------------------------------------------------------===//

// An index and its shards cannot be renamed at the same time. Where a bundle of n shards is
// overwritten by one of n, these first become shards n to 2n - 1 of 2n, names that the old
// index does not speak of; an index that does takes its place in one step; then the shards
// get their usual names, and last their usual index. What is killed in between leaves one
// with unusual names.

namespace {

/// Gives files second names, as shards from `first` on. False: the file system has no such
/// names, and there are none.
bool linkShards(const weir_string &prefix, int64_t first, int64_t shards,
                const HeapList<const char *> &files) {
  HeapText name;
  for (int64_t i = 0; i < files.size(); ++i) {
    writeShardName(name, prefix, first + i, shards);
    // What has the name is left from somebody who was killed.
    if (!name.failed() &&
        (link(files[i], name.data()) == 0 ||
         (errno == EEXIST && unlink(name.data()) == 0 && link(files[i], name.data()) == 0)))
      continue;
    for (; i >= 0 && !name.failed(); --i) {
      writeShardName(name, prefix, first + i, shards);
      unlink(name.data());
    }
    return false;
  }
  return true;
}

int32_t renameShards(const weir_string &prefix, const HeapList<const char *> &files,
                     weir_status *status) {
  HeapText name;
  for (int64_t i = 0; i < files.size(); ++i) {
    writeShardName(name, prefix, i, files.size());
    if (name.failed())
      return refuseMemory(status, "the index of a checkpoint");
    if (rename(files[i], name.data()) != 0)
      return failFile(status, files[i], errno);
  }
  return WEIR_OK;
}

/// How many shards the bundle has that is there; 0: none that can be read.
int64_t shardsOf(const weir_string &prefix) {
  BundleReader old;
  bool isThere = BundleReader::exists(prefix) && old.open(prefix, nullptr) == WEIR_OK;
  return isThere ? old.info().shards : 0;
}

} // namespace

int32_t publishBundle(const weir_string &prefix, const BundleHeader &given, IndexBuilder &index,
                      const HeapList<const char *> &files, weir_status *status) {
  // What can fail for want of room does so before anything is replaced.
  int64_t count = files.size(), old = shardsOf(prefix);
  BundleHeader header = given, second = given;
  header.shards = int32_t(count);
  second.shards = int32_t(2 * count);
  OutputFile usual, meanwhile;
  if (int32_t code = index.write(usual, prefix, header, 0, status))
    return code;
  if (old == count) {
    if (int32_t code = index.write(meanwhile, prefix, second, count, status))
      return code;
    bool isLinked = linkShards(prefix, count, 2 * count, files);
    // Without second names there is a moment with neither.
    if (int32_t code = isLinked ? meanwhile.commit(status) : removeIndex(prefix, status))
      return code;
  }
  int32_t code = renameShards(prefix, files, status);
  if (!code)
    code = usual.commit(status);
  HeapText name;
  for (int64_t i = 0; i < count && !code && (old == count || old == 2 * count); ++i) {
    writeShardName(name, prefix, count + i, 2 * count);
    if (!name.failed())
      unlink(name.data());
  }
  return code ? code : syncFolder(folderOf(prefix), status);
}

} // namespace weir::rt
