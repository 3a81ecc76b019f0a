//===- MessageTarget.h - libFuzzer's hooks for messages ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by a target whose inputs are protocol buffers: half of the changes
// are libFuzzer's own, the others keep the message whole.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_FUZZ_MESSAGETARGET_H
#define WEIR_TEST_FUZZ_MESSAGETARGET_H

#include "test/fuzz/WireMutator.h"

#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

static size_t keepMutant(const std::string &mutant, uint8_t *data, size_t maxSize) {
  if (mutant.empty() || mutant.size() > maxSize)
    return 0;
  std::memcpy(data, mutant.data(), mutant.size());
  return mutant.size();
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 4) {
    std::string_view bytes(reinterpret_cast<char *>(data), size);
    std::string mutant = weir::fuzz::mutateMessage(bytes, bytes, random, LLVMFuzzerMutate);
    if (size_t kept = keepMutant(mutant, data, maxSize))
      return kept;
  }
  return LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize,
                                            const uint8_t *second, size_t secondSize, uint8_t *out,
                                            size_t maxSize, unsigned seed) {
  std::minstd_rand random(seed);
  std::string mutant = weir::fuzz::mutateMessage(
      std::string_view(reinterpret_cast<const char *>(first), firstSize),
      std::string_view(reinterpret_cast<const char *>(second), secondSize), random,
      LLVMFuzzerMutate);
  return keepMutant(mutant, out, maxSize);
}

#endif // WEIR_TEST_FUZZ_MESSAGETARGET_H
