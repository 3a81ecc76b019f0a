//===- Discovery.cpp - finding cases by what lies there -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/Discovery.h"

#include "tools/common/Files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace fs = std::filesystem;
using namespace weir;
using namespace weir::conformance;

namespace {

/// What is known above a case: where ids begin, and which cases are doubtful.
struct Root {
  fs::path folder;
  std::set<std::string, std::less<>> doubtful;
};

Root findRoot(const fs::path &start) {
  Root root;
  for (fs::path at = start;; at = at.parent_path()) {
    std::string text, error;
    if (tools::readFile((at / "doubtful.tsv").string(), text, error)) {
      root.folder = at;
      for (std::string_view line : tools::splitLines(text))
        root.doubtful.emplace(tools::splitFields(line, '\t')[0]);
      return root;
    }
    if (at == at.parent_path())
      break;
  }
  root.folder = fs::is_directory(start) ? start : start.parent_path();
  return root;
}

class Finder {
public:
  Finder(Root root, std::vector<Case> &cases) : root(std::move(root)), cases(cases) {}

  void visit(const fs::path &folder) {
    if (visitAsCase(folder))
      return;
    std::vector<fs::path> entries;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder))
      entries.push_back(entry.path());
    std::sort(entries.begin(), entries.end());
    bool importTests = fs::exists(folder / "expect.tsv");
    for (const fs::path &entry : entries) {
      if (fs::is_directory(entry)) {
        if (entry.extension() != ".io")
          visit(entry);
      } else if (importTests && entry.extension() == ".pbtxt") {
        add(Layout::GraphImport, entry, withoutSuffix(entry));
      } else {
        visitFile(entry);
      }
    }
  }

  /// A model file with its data beside it.
  bool visitFile(const fs::path &file) {
    fs::path stem = withoutSuffix(file);
    std::string suffix = file.extension().string();
    if (suffix != ".onnx" && suffix != ".pb" && suffix != ".pbtxt")
      return false;
    if (fs::is_directory(stem.string() + ".io"))
      add(Layout::Model, file, stem);
    else if (suffix == ".onnx" && fs::exists(stem.string() + "_output_0.pb"))
      add(Layout::OnnxLight, file, stem);
    else if (suffix == ".pb" && fs::exists(stem.string() + ".npz"))
      add(Layout::Operation, file, stem);
    else if (suffix == ".pbtxt" && fs::exists(file.parent_path() / "expect.tsv"))
      add(Layout::GraphImport, file, stem);
    else
      return false;
    return true;
  }

  bool visitAsCase(const fs::path &folder) {
    if (fs::exists(folder / "case.json")) {
      add(Layout::System, folder, folder);
    } else if (fs::exists(folder / "model.onnx") && fs::exists(folder / "test_data_set_0")) {
      add(Layout::OnnxTest, folder, folder);
    } else if (fs::exists(folder / "frozen_model.pb")) {
      add(Layout::Frozen, folder, folder);
    } else if (fs::is_directory(folder.string() + ".io")) {
      fs::path model = newestVersion(folder);
      if (model.empty())
        return false;
      add(Layout::Model, model, folder);
    } else {
      return false;
    }
    return true;
  }

private:
  static fs::path withoutSuffix(fs::path file) { return file.replace_extension(); }

  static bool isSavedModel(const fs::path &folder) {
    return fs::exists(folder / "saved_model.pb") || fs::exists(folder / "saved_model.pbtxt");
  }

  /// The SavedModel in `folder`, or in the highest of its numbered folders.
  static fs::path newestVersion(const fs::path &folder) {
    if (isSavedModel(folder))
      return folder;
    fs::path newest;
    unsigned long long highest = 0;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
      std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos || name.size() > 18 ||
          !isSavedModel(entry.path()))
        continue;
      unsigned long long version = std::stoull(name);
      if (newest.empty() || version > highest) {
        newest = entry.path();
        highest = version;
      }
    }
    return newest;
  }

  void add(Layout layout, const fs::path &path, const fs::path &named) {
    Case test;
    test.id = named.lexically_relative(root.folder).string();
    if (test.id.empty() || test.id == ".")
      test.id = named.filename().string();
    test.suite = suiteOf(test.id);
    test.layout = layout;
    test.path = path.string();
    test.doubtful = root.doubtful.count(test.id) != 0;
    cases.push_back(std::move(test));
  }

  Root root;
  std::vector<Case> &cases;
};

} // namespace

std::string_view weir::conformance::outcomeName(Outcome outcome) {
  switch (outcome) {
  case Outcome::Passed:
    return "passed";
  case Outcome::Failed:
    return "failed";
  case Outcome::Unsupported:
    return "unsupported";
  case Outcome::Crashed:
    return "crashed";
  }
  return "?";
}

std::string weir::conformance::suiteOf(std::string_view id) {
  std::vector<std::string_view> parts = tools::splitFields(id, '/');
  size_t depth = 1;
  if (parts[0] == "onnx" || parts[0] == "tf")
    depth = parts.size() > 2 && parts[1] == "system" ? 3 : 2;
  std::string suite;
  for (size_t i = 0; i < std::min(depth, parts.size()); ++i)
    suite += (i ? "/" : "") + std::string(parts[i]);
  return suite;
}

bool weir::conformance::findCases(const std::string &path, std::vector<Case> &cases,
                                  std::string &error) {
  std::error_code code;
  fs::path start = fs::canonical(path, code);
  if (code) {
    error = path + ": " + code.message();
    return false;
  }
  Finder finder(findRoot(start), cases);
  if (fs::is_directory(start))
    finder.visit(start);
  else if (!finder.visitFile(start)) {
    error = path + ": no case of a layout that is known; docs/tools.md lists "
                   "them";
    return false;
  }
  std::sort(cases.begin(), cases.end(), [](const Case &a, const Case &b) { return a.id < b.id; });
  cases.erase(std::unique(cases.begin(), cases.end(),
                          [](const Case &a, const Case &b) { return a.path == b.path; }),
              cases.end());
  return true;
}
