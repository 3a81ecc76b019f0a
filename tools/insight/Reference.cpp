//===- Reference.cpp - what values are compared with ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/insight/Reference.h"

#include "tools/common/Files.h"
#include "tools/common/Npy.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace weir;
using namespace weir::tools;
namespace fs = std::filesystem;

namespace {

constexpr char script[] =
#include "nodes.inc"
    ;

/// A folder that is gone with this object.
class Scratch {
public:
  Scratch() : path((fs::temp_directory_path() / "weir-nodes-XXXXXX").string()) {
    if (!mkdtemp(path.data()))
      path.clear();
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  std::string path;
};

/// Runs a program to its end; what it wrote is in `output` and `errors`.
bool runProgram(const std::vector<std::string> &arguments, const std::string &output,
                const std::string &errors) {
  pid_t pid = fork();
  if (pid == 0) {
    if (!std::freopen(output.c_str(), "w", stdout) || !std::freopen(errors.c_str(), "w", stderr))
      _exit(127);
    std::vector<char *> pointers;
    for (const std::string &argument : arguments)
      pointers.push_back(const_cast<char *>(argument.c_str()));
    pointers.push_back(nullptr);
    execvp(pointers[0], pointers.data());
    _exit(127);
  }
  int status = 0;
  return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

bool askEngine(const char *engine, const char *variable, NodeRuns &runs,
               const std::vector<std::string> &values, NamedTensors &results,
               DiagnosticSink &sink) {
  const std::string &input = runs.options().input;
  auto refuse = [&](const std::string &text) {
    sink.report({"W0154", input, "", "", text, {}});
    return false;
  };
  const char *python = std::getenv(variable);
  if (!python || !*python)
    return refuse("found the reference " + std::string(engine) +
                  " without a Python to run it; "
                  "possible: " +
                  variable + "=PYTHON in the environment");
  Scratch folder;
  std::string at = folder.path + "/", error, names;
  llvm::raw_string_ostream(names) << llvm::json::Value(llvm::json::Array(values));
  if (folder.path.empty() || !writeFile(at + "nodes.py", script, error) ||
      !writeFile(at + "values.json", names, error) ||
      !writeNpzFile(at + "in.npz", runs.feeds(), error))
    return refuse("no folder for the side process can be made: " + error);
  std::vector<std::string> command = {python,        at + "nodes.py",    engine,        input,
                                      at + "in.npz", at + "values.json", at + "out.npz"};
  for (const auto &[flag, values] : runs.options().frontendFlags)
    command.insert(command.end(), values.begin(), values.end());
  if (runProgram(command, at + "stdout", at + "stderr") &&
      readNpzFile(at + "out.npz", results, error))
    return true;
  std::string said;
  readFile(at + "stderr", said, error);
  // The last line with something on it says what was wrong.
  std::string_view last;
  for (std::string_view line : splitLines(said))
    if (line.find_first_not_of(" \t\r") != std::string_view::npos)
      last = line;
  return refuse("the reference " + std::string(engine) +
                " failed: " + (last.empty() ? "it said nothing" : std::string(last)));
}

} // namespace

bool Reference::values(NodeRuns &runs, const std::vector<std::string> &values,
                       NamedTensors &results, DiagnosticSink &sink) const {
  switch (kind) {
  case Kind::Unoptimised:
    return runs.run({0, false, false}, values, results, sink);
  case Kind::F64:
    return runs.run({0, true, false}, values, results, sink);
  case Kind::Ort:
    return askEngine("ort", "WEIR_ORT_PYTHON", runs, values, results, sink);
  case Kind::TensorFlow:
    return askEngine("tf", "WEIR_TF_PYTHON", runs, values, results, sink);
  case Kind::File:
    break;
  }
  std::string error;
  if (readNpzFile(file, results, error))
    return true;
  sink.report({"W0702", file, "", "", error, {}});
  return false;
}

HostTensor weir::tools::converted(const HostTensor &tensor, int32_t dtype) {
  if (tensor.dtype == dtype || !elementSize(dtype) || isComplex(dtype))
    return tensor;
  HostTensor made = makeTensor(dtype, tensor.dims);
  for (int64_t i = 0; i < made.count(); ++i)
    setElement(made, i, elementAsDouble(tensor, i));
  return made;
}
