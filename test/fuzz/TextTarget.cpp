//===- TextTarget.cpp - any text as a GraphDef ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/TensorFlowFrontend.h"
#include "test/fuzz/ImportTarget.h"

#include <cctype>
#include <cstring>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  weir::fuzz::importBytes(weir::tensorFlowFrontend(), ".pbtxt", data, size);
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// Words, quoted strings, numbers and punctuation: [begin, end) of each.
static std::vector<std::pair<size_t, size_t>> words(std::string_view text) {
  std::vector<std::pair<size_t, size_t>> found;
  auto isWord = [](char c) { return std::isalnum(uint8_t(c)) || c == '_' || c == '-'; };
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
        at += text[at] == '\\';
      at = std::min(at + 1, text.size());
    } else if (isWord(text[at])) {
      while (at < text.size() && isWord(text[at]))
        ++at;
    } else {
      ++at;
    }
    if (!std::isspace(uint8_t(text[begin])))
      found.emplace_back(begin, at);
  }
  return found;
}

/// Half of the changes are libFuzzer's own; the others exchange, repeat and drop
/// whole words.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  static const char *const numbers[] = {
      "0", "-1", "1", "2", "2147483648", "9223372036854775807", "4294967296", "1e30"};
  std::minstd_rand random(seed);
  std::string text(reinterpret_cast<char *>(data), size);
  auto found = words(text);
  if (found.empty() || random() % 2)
    return LLVMFuzzerMutate(data, size, maxSize);
  auto any = [&] { return found[random() % found.size()]; };
  auto [begin, end] = any();
  auto [from, to] = any();
  std::string changed;
  switch (random() % 5) {
  case 0:
  case 1:
    changed = text.substr(from, to - from);
    break;
  case 2:
    changed = numbers[random() % std::size(numbers)];
    break;
  case 3: {
    // A piece of several words.
    auto last = found[std::min<size_t>(found.size() - 1, random() % found.size() + 12)];
    if (from < last.second)
      changed = text.substr(from, std::min<size_t>(last.second - from, 400)) + " " +
                text.substr(begin, end - begin);
    break;
  }
  default:
    break;
  }
  std::string mutant = text.substr(0, begin) + changed + text.substr(end);
  if (mutant.empty() || mutant.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, mutant.data(), mutant.size());
  return mutant.size();
}
