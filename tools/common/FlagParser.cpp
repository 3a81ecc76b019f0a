//===- FlagParser.cpp - command lines as clang's users expect -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/FlagParser.h"

#include "tools/common/Files.h"
#include "tools/common/Terminal.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

using namespace weir::tools;

namespace {

constexpr size_t helpColumn = 34, helpWidth = 100;

/// Columns that UTF-8 text takes on a terminal: its characters.
size_t widthOf(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// `text` wrapped at helpWidth, its lines after the first set at helpColumn.
std::string wrapHelp(std::string_view text) {
  std::string out;
  size_t column = helpColumn;
  for (std::string_view word : splitFields(text, ' ')) {
    if (column + 1 + widthOf(word) > helpWidth && column > helpColumn) {
      out += "\n" + std::string(helpColumn, ' ');
      column = helpColumn;
    } else if (column > helpColumn) {
      out += ' ';
      ++column;
    }
    out += word;
    column += widthOf(word);
  }
  return out;
}

std::string helpLine(const std::string &left, std::string_view help) {
  std::string line = "  " + left;
  size_t width = widthOf(line);
  if (width + 2 > helpColumn)
    line += "\n" + std::string(helpColumn, ' ');
  else
    line.append(helpColumn - width, ' ');
  return line + wrapHelp(help) + "\n";
}

} // namespace

FlagParser::FlagParser(std::string tool, std::string synopsis, std::string description)
    : tool(std::move(tool)), synopsis(std::move(synopsis)), description(std::move(description)) {}

void FlagParser::group(std::string title) { groups.push_back(std::move(title)); }

void FlagParser::add(std::string names, std::string metavar, std::string help, Kind kind,
                     Setter set) {
  if (groups.empty())
    groups.push_back("Flags");
  Flag flag;
  for (std::string_view name : splitFields(names, ',')) {
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    flag.names.emplace_back(name);
  }
  flag.metavar = std::move(metavar);
  flag.help = std::move(help);
  flag.kind = kind;
  flag.set = std::move(set);
  flag.group = groups.size() - 1;
  flags.push_back(std::move(flag));
}

void FlagParser::flag(std::string names, std::string help, bool &target) {
  add(std::move(names), "", std::move(help), Kind::Plain, [&target](std::string_view) {
    target = true;
    return std::string();
  });
}

void FlagParser::text(std::string names, std::string metavar, std::string help,
                      std::string &target) {
  value(std::move(names), std::move(metavar), std::move(help), [&target](std::string_view text) {
    target = text;
    return std::string();
  });
}

void FlagParser::number(std::string names, std::string metavar, std::string help, int64_t &target,
                        int64_t lowest, int64_t highest) {
  value(std::move(names), std::move(metavar), std::move(help),
        [&target, lowest, highest](std::string_view text) -> std::string {
          if (parseInteger(text, lowest, highest, target))
            return "";
          return "is no whole number from " + std::to_string(lowest) + " to " +
                 std::to_string(highest);
        });
}

void FlagParser::value(std::string names, std::string metavar, std::string help, Setter set) {
  add(std::move(names), std::move(metavar), std::move(help), Kind::Value, std::move(set));
}

void FlagParser::optionalValue(std::string names, std::string metavar, std::string help,
                               Setter set) {
  add(std::move(names), std::move(metavar), std::move(help), Kind::OptionalValue, std::move(set));
}

void FlagParser::joined(std::string name, std::string metavar, std::string help, Setter set) {
  add(std::move(name), std::move(metavar), std::move(help), Kind::Joined, std::move(set));
}

void FlagParser::positionals(std::string metavar, std::string help, size_t fewest, size_t highest,
                             std::vector<std::string> &target) {
  positionalName = std::move(metavar);
  positionalHelp = std::move(help);
  least = fewest;
  most = highest;
  positionalTarget = &target;
}

void FlagParser::exitCode(int code, std::string meaning) {
  exitCodes.emplace_back(code, std::move(meaning));
}

const FlagParser::Flag *FlagParser::find(std::string_view name) const {
  for (const Flag &flag : flags)
    for (const std::string &candidate : flag.names)
      if (candidate == name)
        return &flag;
  return nullptr;
}

bool FlagParser::refuse(const std::string &text, int &status,
                        const std::vector<std::string> &notes) const {
  printError(tool, text, notes);
  status = usageStatus;
  return false;
}

bool FlagParser::parse(int argc, const char *const *argv, int &status) {
  bool flagsEnded = false;
  size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (flagsEnded || argument.size() < 2 || argument[0] != '-') {
      ++count;
      if (!positionalTarget || (most != 0 && count > most))
        return refuse("unexpected argument '" + std::string(argument) + "'", status,
                      {"usage: " + tool + " " + synopsis});
      positionalTarget->emplace_back(argument);
      continue;
    }
    if (argument == "--") {
      flagsEnded = true;
      continue;
    }
    if (argument == "--help" || argument == "-h") {
      std::fputs(helpText().c_str(), stdout);
      status = 0;
      return false;
    }
    // What the installation is made of.
    if (argument == "--print-man") {
      std::fputs(manPage().c_str(), stdout);
      status = 0;
      return false;
    }
    if (argument.starts_with("--print-completion=")) {
      std::string text = completion(argument.substr(argument.find('=') + 1));
      if (text.empty())
        return refuse(std::string(argument) + " is unknown; expected bash, zsh or fish", status);
      std::fputs(text.c_str(), stdout);
      status = 0;
      return false;
    }
    if (argument == "--version") {
      std::fputs(versionText(tool).c_str(), stdout);
      status = 0;
      return false;
    }
    size_t equals = argument.find('=');
    std::string_view name = argument.substr(0, equals), value;
    bool hasValue = equals != std::string_view::npos;
    if (hasValue)
      value = argument.substr(equals + 1);
    const Flag *flag = find(name);
    // -ofile, -j8, -O2
    if (!flag && argument[1] != '-') {
      for (const Flag &candidate : flags)
        for (const std::string &known : candidate.names)
          if (known.size() == 2 && argument.starts_with(known) &&
              (candidate.kind == Kind::Value || candidate.kind == Kind::Joined)) {
            flag = &candidate;
            name = argument.substr(0, 2);
            value = argument.substr(2);
            hasValue = true;
          }
    }
    if (!flag) {
      std::vector<std::string> known = {"--help", "--version"};
      for (const Flag &candidate : flags)
        known.insert(known.end(), candidate.names.begin(), candidate.names.end());
      std::string nearest = nearestTo(name, known);
      if (nearest.empty())
        return refuse("unknown flag '" + std::string(name) + "'", status,
                      {tool + " --help lists all flags"});
      return refuse("unknown flag '" + std::string(name) + "'; did you mean '" + nearest + "'?",
                    status);
    }
    if (flag->kind == Kind::Plain && hasValue)
      return refuse("flag '" + std::string(name) + "' takes no value", status);
    if (flag->kind == Kind::Value && !hasValue) {
      if (i + 1 == argc)
        return refuse("flag '" + std::string(name) + "' needs a value (" + flag->metavar + ")",
                      status);
      value = argv[++i];
    }
    arguments.push_back({std::string(name), flag->group});
    std::string problem = flag->set(value);
    if (!problem.empty())
      return refuse(std::string(name) + (flag->kind == Kind::Joined ? "" : "=") +
                        std::string(value) + " " + problem,
                    status);
  }
  if (count < least)
    return refuse(count == 0 ? "no " + positionalName + " given" : "too few arguments", status,
                  {"usage: " + tool + " " + synopsis});
  return true;
}

std::string FlagParser::given(const std::vector<std::string> &names) const {
  for (const Given &one : arguments)
    if (std::find(names.begin(), names.end(), one.name) != names.end())
      return one.name;
  return "";
}

std::string FlagParser::givenOf(const std::vector<std::string> &wanted,
                                const std::vector<std::string> &but) const {
  for (const Given &one : arguments)
    if (std::find(wanted.begin(), wanted.end(), groups[one.group]) != wanted.end() &&
        std::find(but.begin(), but.end(), one.name) == but.end())
      return one.name;
  return "";
}

std::string FlagParser::usageOf(const Flag &flag) {
  std::string left;
  for (const std::string &name : flag.names) {
    left += (left.empty() ? "" : ", ") + name;
    bool isLong = name.starts_with("--");
    if (flag.kind == Kind::Value)
      left += (isLong ? "=" : " ") + flag.metavar;
    else if (flag.kind == Kind::OptionalValue)
      left += "[=" + flag.metavar + "]";
    else if (flag.kind == Kind::Joined)
      left += flag.metavar;
  }
  return left;
}

std::string FlagParser::helpText() const {
  std::string out = description + "\n\nUsage: " + tool + " " + synopsis + "\n";
  if (!positionalHelp.empty())
    out += "\n" + helpLine(positionalName, positionalHelp);
  for (size_t g = 0; g < groups.size(); ++g) {
    out += "\n" + groups[g] + ":\n";
    for (const Flag &flag : flags) {
      if (flag.group != g)
        continue;
      out += helpLine(usageOf(flag), flag.help);
    }
  }
  out += "\nInformation:\n";
  out += helpLine("-h, --help", "print this");
  out += helpLine("--version", "print the versions of weir and LLVM");
  if (!exitCodes.empty()) {
    out += "\nExit codes:\n";
    for (const auto &[code, meaning] : exitCodes)
      out += helpLine(std::to_string(code), meaning);
  }
  return out;
}

std::string weir::tools::nearestTo(std::string_view word,
                                   const std::vector<std::string> &candidates) {
  // A third of the letters may be wrong (two where neighbours swapped): more,
  // and it is another word.
  unsigned limit = static_cast<unsigned>((word.size() + 2) / 3);
  std::string nearest;
  // Of a letter or two nothing is left: only the case may be wrong.
  if (word.size() <= 2) {
    for (const std::string &candidate : candidates)
      if (llvm::StringRef(word.data(), word.size()).equals_insensitive(candidate))
        return candidate;
    return "";
  }
  for (const std::string &candidate : candidates) {
    unsigned distance =
        llvm::StringRef(word.data(), word.size()).edit_distance(candidate, true, limit + 1);
    if (distance <= limit && (nearest.empty() || distance < limit)) {
      nearest = candidate;
      limit = distance;
    }
  }
  return nearest;
}

int64_t weir::tools::parseSize(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0))
    return -1;
  std::string_view unit(end, text.data() + text.size() - end);
  if (unit.ends_with("iB"))
    unit.remove_suffix(2);
  else if (unit.ends_with("B"))
    unit.remove_suffix(1);
  int shift = 0;
  if (unit == "K" || unit == "k")
    shift = 10;
  else if (unit == "M" || unit == "m")
    shift = 20;
  else if (unit == "G" || unit == "g")
    shift = 30;
  else if (unit == "T" || unit == "t")
    shift = 40;
  else if (!unit.empty())
    return -1;
  double bytes = std::ldexp(number, shift);
  return bytes < 0x1p62 ? static_cast<int64_t>(bytes) : -1;
}

bool weir::tools::parseInteger(std::string_view text, int64_t lowest, int64_t highest,
                               int64_t &number) {
  int64_t parsed;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || parsed < lowest ||
      parsed > highest)
    return false;
  number = parsed;
  return true;
}

std::string weir::tools::versionText(std::string_view tool) {
  return std::string(tool) + " (weir) version " WEIR_VERSION "\nLLVM version " LLVM_VERSION_STRING
                             "\n";
}
