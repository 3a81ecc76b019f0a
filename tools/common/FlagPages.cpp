//===- FlagPages.cpp - manual pages and completion of a tool's flags ------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/FlagParser.h"

#include <cctype>

using namespace weir::tools;

/// Text as roff shows it: hyphens that are typed, no line that is taken for a request.
static std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += std::string("\\&") + c;
    else
      out += c;
  }
  return out;
}

std::string FlagParser::manPage() const {
  std::string title = tool;
  for (char &c : title)
    c = c == ' ' ? '-' : c;
  std::string upper = title;
  for (char &c : upper)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string_view first = std::string_view(description).substr(0, description.find('\n'));
  if (first.ends_with("."))
    first.remove_suffix(1);
  std::string out = ".TH " + upper + " 1 \"\" \"weir " WEIR_VERSION "\" \"weir\"\n";
  out += ".SH NAME\n" + roff(title) + " \\- " + roff(first) + "\n";
  out += ".SH SYNOPSIS\n.B " + roff(tool) + "\n" + roff(synopsis) + "\n";
  out += ".SH DESCRIPTION\n.nf\n" + roff(description) + "\n.fi\n";
  if (!positionalHelp.empty())
    out += ".TP\n.I " + roff(positionalName) + "\n" + roff(positionalHelp) + "\n";
  for (size_t g = 0; g < groups.size(); ++g) {
    out += ".SH " + roff(groups[g]) + "\n";
    for (const Flag &flag : flags)
      if (flag.group == g)
        out += ".TP\n.B " + roff(usageOf(flag)) + "\n" + roff(flag.help) + "\n";
  }
  out += ".SH Information\n.TP\n.B \\-h, \\-\\-help\nprint the flags\n"
         ".TP\n.B \\-\\-version\nprint the versions of weir and LLVM\n";
  if (!exitCodes.empty()) {
    out += ".SH EXIT STATUS\n";
    for (const auto &[code, meaning] : exitCodes)
      out += ".TP\n.B " + std::to_string(code) + "\n" + roff(meaning) + "\n";
  }
  return out + ".SH SEE ALSO\nweirc(1), weir\\-run(1), and the pages in "
               "/usr/share/doc/weir\n";
}

/// A word within single quotes of a shell.
static std::string quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string FlagParser::completion(std::string_view shell) const {
  std::string words;
  for (const std::string &command : commands)
    words += command + " ";
  if (shell == "bash") {
    std::string names;
    for (const Flag &flag : flags)
      for (const std::string &name : flag.names)
        names += name + (flag.kind == Kind::Value && name.starts_with("--") ? "= " : " ");
    std::string function = "_" + tool;
    for (char &c : function)
      c = c == '-' ? '_' : c;
    return "# bash completion of " + tool + "\n" + function +
           "() {\n"
           "  local word=${COMP_WORDS[COMP_CWORD]}\n"
           "  COMPREPLY=()\n"
           "  if [[ $word == -* ]]; then\n"
           "    COMPREPLY=($(compgen -W " +
           quoted(names + "--help --version") +
           " -- \"$word\"))\n"
           "    [[ ${COMPREPLY-} == *= ]] && compopt -o nospace\n"
           "    return\n"
           "  fi\n" +
           (words.empty() ? ""
                          : "  ((COMP_CWORD == 1)) && COMPREPLY=($(compgen -W " + quoted(words) +
                                " -- \"$word\"))\n") +
           "  [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]] && word=${word#=}\n"
           "  COMPREPLY+=($(compgen -f -- \"$word\"))\n"
           "  compopt -o filenames\n"
           "}\n"
           "complete -F " +
           function + " " + tool + "\n";
  }
  if (shell == "zsh") {
    std::string out = "#compdef " + tool + "\n_arguments -s";
    auto clean = [](std::string text) {
      for (char &c : text)
        c = c == '[' || c == ']' || c == ':' ? ' ' : c;
      return text;
    };
    for (const Flag &flag : flags)
      for (const std::string &name : flag.names) {
        bool isLong = name.starts_with("--");
        std::string value = flag.kind == Kind::Value           ? (isLong ? "=" : "+")
                            : flag.kind == Kind::OptionalValue ? "=-"
                            : flag.kind == Kind::Joined        ? "-"
                                                               : "";
        std::string rest = value.empty() ? "" : ":" + clean(flag.metavar) + ":_files";
        out += " \\\n  " + quoted("*" + name + value + "[" + clean(flag.help) + "]" + rest);
      }
    out += " \\\n  '--help[print the flags]' '--version[print versions]'";
    if (!words.empty())
      out += " \\\n  " + quoted("1: :{ _values command " + words + "; _files }");
    return out + " \\\n  '*:file:_files'\n";
  }
  if (shell == "fish") {
    std::string out;
    if (!words.empty())
      out += "complete -c " + tool + " -n __fish_use_subcommand -a " + quoted(words) + "\n";
    for (const Flag &flag : flags)
      for (const std::string &name : flag.names) {
        bool isLong = name.starts_with("--");
        if (!isLong && name.size() != 2)
          continue;
        out += "complete -c " + tool +
               (isLong ? " -l " + name.substr(2) : " -s " + name.substr(1)) +
               (flag.kind == Kind::Plain || flag.kind == Kind::OptionalValue ? "" : " -r") +
               " -d " + quoted(flag.help) + "\n";
      }
    return out + "complete -c " + tool + " -l help -d 'print the flags'\n";
  }
  return "";
}
