//===- BlobStore.cpp - bytes of constants in files ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/BlobStore.h"
#include "dialects/weir/Pch.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/xxhash.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace weir;

BlobStore &BlobStore::global() {
  // Never destroyed: results are valid until the process ends.
  static BlobStore *store = new BlobStore;
  return *store;
}

static llvm::Error failed(StringRef path, const Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "constant data in '" + path + "': " + what);
}

llvm::Expected<ArrayRef<char>> BlobStore::file(StringRef path) {
  std::string name = path.str();
  std::lock_guard<std::mutex> lock(mutex);
  auto known = mappings.find(name);
  struct stat status;
  int descriptor = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    int error = errno;
    if (descriptor >= 0)
      close(descriptor);
    return failed(path, std::strerror(error));
  }
  Mapping mapping;
  mapping.device = status.st_dev;
  mapping.inode = status.st_ino;
  mapping.size = status.st_size;
  mapping.modified = status.st_mtim.tv_sec * 1000000000ll + status.st_mtim.tv_nsec;
  if (known != mappings.end() && known->second.device == mapping.device &&
      known->second.inode == mapping.inode && known->second.size == mapping.size &&
      known->second.modified == mapping.modified) {
    close(descriptor);
    return ArrayRef<char>(known->second.data, known->second.size);
  }
  if (mapping.size) {
    void *data = mmap(nullptr, mapping.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    int error = errno;
    close(descriptor);
    if (data == MAP_FAILED)
      return failed(path, std::strerror(error));
    mapping.data = static_cast<const char *>(data);
  } else {
    close(descriptor);
  }
  // An earlier mapping of the name stays: somebody may read it.
  mappings[name] = mapping;
  return ArrayRef<char>(mapping.data, mapping.size);
}

int64_t weir::blobElementSize(Type element) {
  if (auto complexType = dyn_cast<ComplexType>(element))
    return 2 * blobElementSize(complexType.getElementType());
  if (!element.isIntOrFloat())
    return 0;
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

llvm::Expected<ArrayRef<char>> BlobStore::bytes(BlobAttr blob) {
  StringRef path = blob.getSource();
  llvm::Expected<ArrayRef<char>> whole = file(path);
  if (!whole)
    return whole.takeError();
  int64_t offset = blob.getOffset(), length = blob.getLength(), size = whole->size();
  if (offset < 0 || length < 0 || offset > size || length > size - offset)
    return failed(path, "bytes [" + Twine(offset) + ", " + Twine(offset) + " + " + Twine(length) +
                            ") lie outside of its " + Twine(size) + " bytes");
  if (auto type = dyn_cast<RankedTensorType>(blob.getType())) {
    int64_t element = blobElementSize(type.getElementType()), want = 0;
    if (element && type.hasStaticShape() &&
        (__builtin_mul_overflow(type.getNumElements(), element, &want) || want != length))
      return failed(path, Twine(length) + " bytes for a tensor of " + Twine(want));
  }
  return whole->slice(offset, length);
}

std::string weir::blobHash(ArrayRef<char> bytes) {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  std::string text;
  for (uint64_t half : {hash.high64, hash.low64})
    text += llvm::utohexstr(half, /*LowerCase=*/true, /*Width=*/16);
  return text;
}
