//===- CustomOp.cpp - weirc custom-op -------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `new` writes what an operation of one's own begins with, all of which compiles and
// passes its test as it is; `check` reads a description file as weirc does.
//
//===----------------------------------------------------------------------===//

#include "tools/weirc/Commands.h"

#include "compiler/frontend/CustomOperation.h"
#include "tools/common/Files.h"
#include "tools/common/FlagParser.h"
#include "tools/common/Terminal.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weirc custom-op";

constexpr std::string_view description = R"({"operations": [
  {"name": "@Name@",
   "function": "@name@",
   "attributes": [{"name": "alpha", "type": "float", "default": 1.0}],
   "outputs": [{"dtype": "input:0", "shape": "input:0"}]}
]}
)";

constexpr std::string_view function = R"(/* The operation @Name@: alpha times its input. */
#include "@name@_model.h"

#include <string.h>

int32_t @name@(struct weir_context *ctx, const weir_tensor *in, int32_t in_count,
               weir_tensor *out, int32_t out_count, const int64_t *numbers);

/* `in` are the node's inputs, and behind them the attributes that are no integers, in the order
   of @name@.json; integers are in `numbers`. Of `out` everything is there but the memory and the
   sizes that the description leaves open. May be called from several threads at once. */
int32_t @name@(struct weir_context *ctx, const weir_tensor *in, int32_t in_count,
               weir_tensor *out, int32_t out_count, const int64_t *numbers) {
  (void)out_count;
  (void)numbers;
  if (in_count != 2 || in[0].dtype != WEIR_F32)
    return weir_custom_error(ctx, WEIR_INVALID_ARGUMENT, "expected one input of f32");
  const float *x = (const float *)in[0].data;
  const float alpha = *(const float *)in[1].data;
  memcpy(out[0].dims, in[0].dims, sizeof(out[0].dims));
  out[0].bytes = in[0].bytes;
  out[0].data = weir_custom_alloc(ctx, in[0].bytes);
  if (!out[0].data)
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0; i < in[0].bytes / (int64_t)sizeof(float); ++i)
    ((float *)out[0].data)[i] = alpha * x[i];
  return WEIR_OK;
}
)";

constexpr std::string_view model = R"(node {
  name: "x"
  op: "Placeholder"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 3 } } } }
}
node {
  name: "y"
  op: "@Name@"
  input: "x"
  attr { key: "alpha" value { f: 2.5 } }
}
)";

constexpr std::string_view test = R"(/* Runs a model that is one @Name@, and compares. */
#include "@name@_model.h"

#include <stdio.h>

int main(void) {
  float x[] = {1, 2, 3}, y[3] = {0};
  const float expected[] = {2.5f, 5, 7.5f};
  weir_status status = WEIR_STATUS_INIT;
  weir_session *session = NULL;
  if (@name@_model_create(NULL, &session, &status))
    return puts(status.message), 1;
  weir_tensor feed = @name@_model_x_tensor(x), fetch = @name@_model_y_tensor(y);
  if (@name@_model_run(session, &feed, &fetch, NULL, &status))
    return puts(status.message), 1;
  for (int i = 0; i < 3; ++i)
    if (y[i] != expected[i])
      return printf("element %d: expected %g, got %g\n", i, expected[i], y[i]), 1;
  @name@_model_destroy(session);
  return puts("ok"), 0;
}
)";

constexpr std::string_view build = R"(cmake_minimum_required(VERSION 3.25)
project(@name@ LANGUAGES C)
enable_testing()
find_package(weir REQUIRED)
weir_add_model(@name@_model @name@_model.pbtxt
  OPTIONS --custom-ops=${CMAKE_CURRENT_SOURCE_DIR}/@name@.json --fetch=y:0=y:3)
add_executable(@name@_test @name@_test.c @name@.c)
target_link_libraries(@name@_test PRIVATE @name@_model)
add_test(NAME @name@ COMMAND @name@_test)
)";

/// `MyBlur` as `my_blur`; "" for what is no name of an operation.
std::string functionName(const std::string &name) {
  std::string out;
  for (char c : name) {
    auto letter = static_cast<unsigned char>(c);
    if (!std::isalnum(letter) && c != '_')
      return "";
    if (std::isupper(letter) && !out.empty() && out.back() != '_' &&
        std::islower(static_cast<unsigned char>(out.back())))
      out += '_';
    out += static_cast<char>(std::tolower(letter));
  }
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "" : out;
}

std::string filled(std::string_view text, const std::string &name, const std::string &function) {
  std::string out(text);
  for (const auto &[key, value] : {std::pair("@Name@", name), std::pair("@name@", function)})
    for (size_t at = 0; (at = out.find(key, at)) != std::string::npos; at += value.size())
      out.replace(at, std::string_view(key).size(), value);
  return out;
}

int writeNew(const std::string &name, const std::string &folder) {
  std::string lower = functionName(name);
  if (lower.empty()) {
    printError(toolName, "found '" + name +
                             "' for an operation; expected a name of letters, "
                             "digits and _, such as MyBlur");
    return 1;
  }
  const std::pair<std::string, std::string_view> files[] = {
      {lower + ".json", description}, {lower + ".c", function},  {lower + "_model.pbtxt", model},
      {lower + "_test.c", test},      {"CMakeLists.txt", build},
  };
  std::string path = folder.empty() ? lower : folder;
  std::error_code code;
  std::filesystem::create_directories(path, code);
  for (const auto &[file, text] : files)
    if (std::filesystem::exists(path + "/" + file, code)) {
      printError(toolName, path + "/" + file + " is there already; expected a folder without it");
      return 1;
    }
  for (const auto &[file, text] : files) {
    std::string error;
    if (!writeFile(path + "/" + file, filled(text, name, lower), error)) {
      printError(toolName, path + "/" + file + " cannot be written: " + error);
      return 1;
    }
    std::printf("wrote %s/%s\n", path.c_str(), file.c_str());
  }
  std::printf("try it: cmake -S %s -B %s/build && cmake --build %s/build && ctest --test-dir "
              "%s/build\n",
              path.c_str(), path.c_str(), path.c_str(), path.c_str());
  return 0;
}

int check(const std::string &path) {
  std::vector<CustomOperation> operations;
  std::string error;
  if (!readCustomOperations(path, operations, error)) {
    printDiagnostic({"W0116", path, "", "", error, {}});
    return 1;
  }
  for (const CustomOperation &operation : operations)
    std::printf("%s: %s, %zu attributes, %zu outputs\n", operation.name.c_str(),
                operation.function.empty() ? "handed over by the program"
                                           : (operation.function + "()").c_str(),
                operation.attributes.size(), operation.outputs.size());
  return 0;
}

} // namespace

int weir::tools::runCustomOp(int argc, char **argv) {
  FlagParser parser(
      toolName, "new NAME|check FILE.json [flags]",
      "Begins an operation of your own, or checks a description of some.\n"
      "\n"
      "  weirc custom-op new MyBlur       writes description, C function, model, test\n"
      "  weirc custom-op check FILE.json  reads a description as --custom-ops does");
  std::vector<std::string> words;
  std::string folder;
  parser.positionals("new NAME|check FILE.json", "what to do, and with which", 2, 2, words);
  parser.group("Output");
  parser.text("--out", "DIR", "where the files of `new` go (default: a folder of the name)",
              folder);
  parser.exitCode(0, "it is written, or right");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  if (words[0] == "new")
    return writeNew(words[1], folder);
  if (words[0] == "check")
    return check(words[1]);
  std::string near = nearestTo(words[0], {"new", "check"});
  printError(toolName,
             "unknown command '" + words[0] + "'" +
                 (near.empty() ? "; expected new or check" : "; did you mean '" + near + "'?"));
  return 1;
}
