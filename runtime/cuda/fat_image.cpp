//===- fat_image.cpp - code of several architectures ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/fat_image.h"

#include <stdlib.h>
#include <string.h>

namespace weir::rt::cuda {

namespace {
/// What an image begins with, and each of its entries: as fatbinary writes them.
struct ImageHead {
  uint32_t magic;
  uint16_t version, headBytes;
  uint64_t bytes; ///< of all entries
};
struct EntryHead {
  uint16_t kind, version;
  uint32_t headBytes;
  uint64_t bytes; ///< of what follows the head
  uint32_t compressedBytes, unused;
  uint16_t minor, major;
  uint32_t architecture; ///< 90: sm_90
};
} // namespace

static constexpr uint32_t imageMagic = 0xba55ed50;
static constexpr uint16_t kindPtx = 1;

/// Whether the PTX is for its own architecture alone (".target sm_90a").
static bool isSpecific(const uint8_t *text, uint64_t bytes) {
  constexpr char target[] = ".target sm_";
  constexpr uint64_t length = sizeof(target) - 1, head = 4096; // it is among the first lines
  for (uint64_t at = 0; at + length < bytes && at < head; ++at) {
    if (memcmp(text + at, target, length) != 0)
      continue;
    for (at += length; at < bytes && text[at] >= '0' && text[at] <= '9'; ++at)
      ;
    return at < bytes && text[at] == 'a';
  }
  return false;
}

/// A copy that ends in a zero, which free() frees; null: there is none that the
/// architecture takes, or no memory.
static char *copyPtx(const void *image, int architecture) {
  ImageHead head;
  memcpy(&head, image, sizeof(head));
  if (head.magic != imageMagic)
    return nullptr;
  const auto *at = static_cast<const uint8_t *>(image) + head.headBytes;
  const uint8_t *end = at + head.bytes, *found = nullptr;
  EntryHead entry, best = {};
  for (; at + sizeof(entry) <= end; at += entry.headBytes + entry.bytes) {
    memcpy(&entry, at, sizeof(entry));
    if (entry.headBytes < sizeof(entry))
      return nullptr;
    if (entry.kind != kindPtx || entry.compressedBytes != 0 ||
        int(entry.architecture) > architecture || entry.architecture < best.architecture ||
        (int(entry.architecture) != architecture && isSpecific(at + entry.headBytes, entry.bytes)))
      continue;
    best = entry;
    found = at + entry.headBytes;
  }
  // fatbinary leaves empty lines where comments were.
  for (; found && best.bytes > 0 && *found == '\n'; ++found)
    --best.bytes;
  auto *text = found ? static_cast<char *>(malloc(size_t(best.bytes) + 1)) : nullptr;
  if (!text)
    return nullptr;
  memcpy(text, found, size_t(best.bytes));
  text[best.bytes] = 0;
  return text;
}

Result loadImage(const Driver &driver, Device device, const void *image, Module *module) {
  Result error = driver.moduleLoad(module, image);
  if (error == 0 || error == outOfMemory)
    return error;
  int major = 0, minor = 0;
  driver.deviceAttribute(&major, capabilityMajor, device);
  driver.deviceAttribute(&minor, capabilityMinor, device);
  char *text = copyPtx(image, major * 10 + minor);
  bool loaded = text && driver.moduleLoad(module, text) == 0;
  free(text);
  return loaded ? 0 : error;
}

} // namespace weir::rt::cuda
