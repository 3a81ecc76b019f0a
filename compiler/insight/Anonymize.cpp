//===- Anonymize.cpp - models without names and weights -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/Anonymize.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cstring>

using namespace weir;
using namespace weir::insight;

std::string NewNames::of(const char *prefix, std::string_view name) {
  if (name.empty())
    return "";
  auto [it, isNew] = known.try_emplace({prefix, std::string(name)});
  if (isNew) {
    it->second = prefix + std::to_string(counts[prefix]++);
    made.emplace_back(it->second, name);
  }
  return it->second;
}

std::string NewNames::table() const {
  std::string text;
  for (const auto &[now, before] : made)
    text += now + "\t" + before + "\n";
  return text;
}

/// A prime, so that no row of a matrix is as the one before it.
static constexpr int64_t period = 61;

int64_t NewNames::numberOf(std::string_view values) {
  uint64_t hash = llvm::xxh3_64bits(llvm::StringRef(values.data(), values.size()));
  return numbers.try_emplace(hash, int64_t(numbers.size())).first->second;
}

std::string insight::otherValues(char kind, int64_t bytes, const std::vector<int64_t> &dims,
                                 int64_t size, int64_t number) {
  int64_t elements = 1;
  for (int64_t dim : dims)
    elements *= dim;
  // A filter or matrix sums over all of its elements but one of the outer dimensions.
  int64_t longest = 1;
  if (dims.size() >= 2 && elements > 0)
    longest = std::max<int64_t>(1, elements / std::max(dims.front(), dims.back()));
  std::string pattern;
  for (int64_t i = 0; i < period; ++i) {
    char element[16] = {};
    uint64_t key[] = {uint64_t(i), uint64_t(number)};
    uint64_t random =
        llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(key), sizeof key));
    double value = (0.5 + double(random >> 11) * 0x1p-53) / double(longest);
    if (kind == 'f' && bytes == 4) {
      float narrow = float(value);
      std::memcpy(element, &narrow, 4);
    } else if (kind == 'f' && bytes == 8) {
      std::memcpy(element, &value, 8);
    } else if (kind == 'f' || kind == 'b') {
      // f16, or bf16 (kind b): as LLVM rounds.
      llvm::APFloat narrow(value);
      bool lost;
      narrow.convert(kind == 'b' ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(),
                     llvm::APFloat::rmNearestTiesToEven, &lost);
      uint64_t bits = narrow.bitcastToAPInt().getZExtValue();
      std::memcpy(element, &bits, 2);
    } else if (kind == 'c') {
      float parts[2] = {float(value), 0};
      double wide[2] = {value, 0};
      std::memcpy(element, bytes == 8 ? static_cast<void *>(parts) : wide, bytes);
    } else {
      // Indices, codes of narrow types: what every table has.
      element[0] = char(random & 1);
    }
    pattern.append(element, bytes);
  }
  std::string values;
  values.reserve(size);
  while (int64_t(values.size()) < size)
    values.append(pattern, 0, std::min<size_t>(pattern.size(), size - values.size()));
  return values;
}
