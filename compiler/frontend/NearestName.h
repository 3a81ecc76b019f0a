//===- NearestName.h - what was probably meant ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_NEARESTNAME_H
#define WEIR_COMPILER_FRONTEND_NEARESTNAME_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace weir {

/// Keeps the nearest of the names that it is shown: as far off as a slip of the
/// hand goes, longer names further.
class NearestName {
public:
  explicit NearestName(llvm::StringRef wanted)
      : wanted(wanted), best(std::max<size_t>(1, wanted.size() / 3) + 1) {}

  void show(llvm::StringRef candidate) {
    // Distances are at least that.
    size_t longer = std::max(candidate.size(), wanted.size()),
           shorter = std::min(candidate.size(), wanted.size());
    if (longer - shorter >= best)
      return;
    unsigned distance = wanted.edit_distance(candidate, true, best);
    if (distance < best) {
      best = distance;
      found = candidate.str();
    }
  }

  /// "" when none is near.
  const std::string &name() const { return found; }
  /// `; did you mean "x"?`, or "".
  std::string question() const { return found.empty() ? "" : "; did you mean \"" + found + "\"?"; }

private:
  llvm::StringRef wanted;
  unsigned best;
  std::string found;
};

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_NEARESTNAME_H
