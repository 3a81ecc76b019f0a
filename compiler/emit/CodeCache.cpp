//===- CodeCache.cpp - machine code of earlier compilations ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/CodeCache.h"

#include "compiler/emit/OutputFile.h"

#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>
#include <cstring>

using namespace weir;

/// LLVM prunes files whose names begin so.
static constexpr char prefix[] = "llvmcache-";
/// Every file ends with the hash of what is before.
static constexpr size_t trailerBytes = sizeof(uint64_t);

static uint64_t hashOf(llvm::ArrayRef<char> bytes) {
  return llvm::xxh3_64bits({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
}

CodeCache::CodeCache(std::string folder, int64_t limit) : folder(std::move(folder)), limit(limit) {}

std::string CodeCache::defaultFolder() {
  llvm::SmallString<256> path;
  // The specification wants relative paths ignored.
  const char *home = std::getenv("XDG_CACHE_HOME");
  if (home && llvm::sys::path::is_absolute(home)) {
    path = home;
  } else if ((home = std::getenv("HOME")) && *home) {
    path = home;
    llvm::sys::path::append(path, ".cache");
  } else {
    return "";
  }
  llvm::sys::path::append(path, "weir");
  return std::string(path);
}

std::string CodeCache::pathOf(llvm::StringRef key) const {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, prefix + key);
  return std::string(path);
}

bool CodeCache::find(llvm::StringRef key, llvm::SmallVectorImpl<char> &bytes) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
      llvm::MemoryBuffer::getFile(pathOf(key), /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (!file || (*file)->getBufferSize() < trailerBytes)
    return false;
  llvm::StringRef text = (*file)->getBuffer();
  llvm::StringRef content = text.drop_back(trailerBytes);
  if (llvm::support::endian::read64le(content.end()) != hashOf({content.data(), content.size()}))
    return false;
  bytes.assign(content.begin(), content.end());
  return true;
}

void CodeCache::store(llvm::StringRef key, llvm::ArrayRef<char> bytes) {
  llvm::SmallVector<char, 0> whole(bytes.begin(), bytes.end());
  whole.resize(bytes.size() + trailerBytes);
  llvm::support::endian::write64le(whole.data() + bytes.size(), hashOf(bytes));
  // The folder is private, as the specification asks.
  if (llvm::sys::fs::create_directories(folder, /*IgnoreExisting=*/true, llvm::sys::fs::owner_all))
    return;
  llvm::consumeError(writeFile(pathOf(key), {whole.data(), whole.size()}));
}

void CodeCache::prune() {
  llvm::CachePruningPolicy policy;
  policy.Interval = std::chrono::seconds(0); // whenever something was added
  policy.Expiration = std::chrono::hours(0); // age alone is no reason
  policy.MaxSizeBytes = limit;
  policy.MaxSizeFiles = 20000;
  llvm::pruneCache(folder, policy);
}
