//===- NearestName.h - what was probably meant ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_NEARESTNAME_H
#define WEIR_COMPILER_FRONTEND_NEARESTNAME_H

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Keeps the nearest of the names that it is shown: as far off as a slip of the
/// hand goes, longer names further.
class NearestName {
public:
  explicit NearestName(std::string_view wanted)
      : wanted(wanted), best(std::max<size_t>(1, wanted.size() / 3) + 1) {}

  void show(std::string_view candidate) {
    size_t distance = distanceTo(candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }

  /// "" when none is near.
  const std::string &name() const { return found; }
  /// `; did you mean "x"?`, or "".
  std::string question() const { return found.empty() ? "" : "; did you mean \"" + found + "\"?"; }

private:
  /// Letters to insert, remove or replace (Levenshtein), or `best` where it is no less.
  size_t distanceTo(std::string_view candidate) const {
    size_t longer = std::max(candidate.size(), wanted.size()),
           shorter = std::min(candidate.size(), wanted.size());
    if (longer - shorter >= best)
      return best;
    std::vector<size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), size_t(0));
    for (size_t i = 0; i < wanted.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i + 1;
      for (size_t k = 0; k < candidate.size(); ++k) {
        size_t replaced = diagonal + (wanted[i] != candidate[k]);
        diagonal = row[k + 1];
        row[k + 1] = std::min({replaced, row[k] + 1, row[k + 1] + 1});
      }
    }
    return row.back();
  }

  std::string wanted;
  size_t best;
  std::string found;
};

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_NEARESTNAME_H
