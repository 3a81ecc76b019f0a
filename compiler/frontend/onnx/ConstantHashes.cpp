//===- ConstantHashes.cpp - hashes of a model's constants -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/ConstantHashes.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <atomic>
#include <thread>

using namespace weir::onnx;

/// Bytes that are read in less time than a thread takes to begin.
static constexpr size_t fewBytes = 1 << 20;

static std::string hashOf(std::string_view bytes) {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format_hex_no_prefix(hash.high64, 16)
                                 << llvm::format_hex_no_prefix(hash.low64, 16);
  return text;
}

void ConstantHashes::compute(std::vector<std::string_view> constants, unsigned jobs) {
  size_t total = 0;
  for (std::string_view bytes : constants)
    total += bytes.size();
  if (jobs < 2 || total < fewBytes)
    return; // asked for one by one
  llvm::sort(constants, [](std::string_view a, std::string_view b) {
    return std::pair(b.size(), a.data()) < std::pair(a.size(), b.data());
  });
  constants.erase(llvm::unique(constants,
                               [](std::string_view a, std::string_view b) {
                                 return a.data() == b.data() && a.size() == b.size();
                               }),
                  constants.end());
  std::vector<std::string> hashes(constants.size());
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < constants.size();)
      hashes[i] = hashOf(constants[i]);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min<size_t>(jobs, constants.size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  for (auto [bytes, hash] : llvm::zip_equal(constants, hashes))
    known.try_emplace({bytes.data(), bytes.size()}, std::move(hash));
}

std::string ConstantHashes::of(std::string_view bytes) const {
  auto found = known.find({bytes.data(), bytes.size()});
  return found != known.end() ? found->second : hashOf(bytes);
}
