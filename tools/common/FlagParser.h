//===- FlagParser.h - command lines as clang's users expect -----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one reader of command lines, so that all tools agree: `--flag=value`,
// `--flag value`, `-o value`, `-ovalue`; `--` ends the flags; `--help` lists
// flags in groups, with the exit codes; a flag that nobody declared is refused
// with the nearest one that somebody did. Order is kept: setters run from left
// to right, so that a flag may belong to the one before it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_FLAGPARSER_H
#define WEIR_TOOLS_COMMON_FLAGPARSER_H

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::tools {

class FlagParser {
public:
  /// What is wrong with a value, as the end of a sentence that begins with the
  /// flag and the value; empty: nothing.
  using Setter = std::function<std::string(std::string_view value)>;

  /// `synopsis` is what follows the tool's name: "MODEL -o OUT [flags]".
  FlagParser(std::string tool, std::string synopsis, std::string description);

  /// Starts a group of --help; flags declared after it belong to it.
  void group(std::string title);

  /// `names`: "--report" or "-v, --verbose".
  void flag(std::string names, std::string help, bool &target);
  void text(std::string names, std::string metavar, std::string help, std::string &target);
  void number(std::string names, std::string metavar, std::string help, int64_t &target,
              int64_t lowest, int64_t highest);
  void value(std::string names, std::string metavar, std::string help, Setter set);
  /// `--flag` or `--flag=value`; the setter gets "" for the first.
  void optionalValue(std::string names, std::string metavar, std::string help, Setter set);
  /// `-O2`: the value is joined to the name.
  void joined(std::string name, std::string metavar, std::string help, Setter set);
  /// Arguments that are no flags. `most` 0: any number.
  void positionals(std::string metavar, std::string help, size_t least, size_t most,
                   std::vector<std::string> &target);
  /// A line of --help's list of exit codes.
  void exitCode(int code, std::string meaning);

  /// Reads the arguments after argv[0]. False: the tool is to end with
  /// `status` (help or version were asked for, or an error was printed).
  bool parse(int argc, const char *const *argv, int &status);

  /// The first of these flags that the arguments held, or "". After parse.
  std::string given(const std::vector<std::string> &names) const;
  /// The first given flag of one of these groups that is none of `but`, or "". After parse.
  std::string givenOf(const std::vector<std::string> &groups,
                      const std::vector<std::string> &but) const;

  /// As printed by --help, for tests and documentation.
  std::string helpText() const;
  /// The same as a page for man(1), which `--print-man` prints.
  std::string manPage() const;
  /// Completion for a shell, which `--print-completion=SHELL` prints; empty: `shell` is none
  /// of bash, zsh and fish. `commands` are words that may stand first.
  std::string completion(std::string_view shell) const;
  /// Words that may stand first, for completion.
  std::vector<std::string> commands;

  /// Exit status of a bad command line.
  int usageStatus = 1;

private:
  enum class Kind { Plain, Value, OptionalValue, Joined };
  struct Flag {
    std::vector<std::string> names;
    std::string metavar, help;
    Kind kind;
    Setter set;
    size_t group;
  };
  struct Given {
    std::string name;
    size_t group;
  };

  /// "--feed=X", as --help shows a flag.
  static std::string usageOf(const Flag &flag);
  const Flag *find(std::string_view name) const;
  bool refuse(const std::string &text, int &status,
              const std::vector<std::string> &notes = {}) const;
  void add(std::string names, std::string metavar, std::string help, Kind kind, Setter set);

  std::string tool, synopsis, description;
  std::vector<std::string> groups;
  std::vector<Flag> flags;
  std::vector<Given> arguments;
  std::vector<std::pair<int, std::string>> exitCodes;
  std::string positionalName, positionalHelp;
  size_t least = 0, most = 0;
  std::vector<std::string> *positionalTarget = nullptr;
};

/// The candidate nearest to `word` by edit distance, "" where none is near
/// enough to be what was meant.
std::string nearestTo(std::string_view word, const std::vector<std::string> &candidates);

/// "512", "64K", "2M", "1.5G" (powers of 1024, a final B or iB is ignored) in
/// bytes; -1: no size.
int64_t parseSize(std::string_view text);

/// A whole number in [lowest, highest] in `number`, or false.
bool parseInteger(std::string_view text, int64_t lowest, int64_t highest, int64_t &number);

/// Version of weir and of LLVM, as --version prints it.
std::string versionText(std::string_view tool);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_FLAGPARSER_H
