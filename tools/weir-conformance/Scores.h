//===- Scores.h - the table of scores, which may only rise ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two files hold what passes: NAME.md, a table by suite and a section a suite
// by operator, for people; and NAME-rest.tsv, every case that does not pass
// with its reason. A later run, of all cases or of some, is checked against the
// second: a case that it does not list must pass.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_SCORES_H
#define WEIR_TOOLS_CONFORMANCE_SCORES_H

#include "tools/weir-conformance/Case.h"

#include <map>
#include <string>
#include <vector>

namespace weir::conformance {

/// A case and what came of it.
struct Scored {
  const Case *test;
  Verdict verdict;
};

/// What the files of an earlier run say.
struct KnownScores {
  /// Suite → its row of the table, and its section.
  std::map<std::string, std::string> rows, sections;
  /// Case → outcome and reason, tab between.
  std::map<std::string, std::string> rest;

  bool knows(const std::string &suite) const { return rows.count(suite) != 0; }
  /// Whether a case is listed with that outcome.
  bool lists(const std::string &id, Outcome outcome) const;
};

/// NAME-rest.tsv of NAME.md.
std::string restFileOf(const std::string &table);

/// Reads both files. False, with the reason in `error`.
bool readScores(const std::string &table, KnownScores &known, std::string &error);

/// Writes both files: suites of this run anew, others as they were.
bool writeScores(const std::string &table, const std::vector<Scored> &results, std::string &error);

/// Lines that name what got worse: cases that passed and do not any more, and
/// cases that were refused and now fail or crash.
std::vector<std::string> findRegressions(const KnownScores &known,
                                         const std::vector<Scored> &results);

/// Whether a case is in the sample of one in `n`, the same in every run.
bool inSample(const std::string &id, unsigned n);

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_SCORES_H
