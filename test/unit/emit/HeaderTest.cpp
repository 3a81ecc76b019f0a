//===- HeaderTest.cpp - the header stands alone ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The header of a program with awkward names is compiled as C and as C++, by
// the compilers that are installed, with every warning an error.
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Header.h"
#include "compiler/emit/OutputFile.h"
#include "test/unit/emit/TestProgram.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

#include <gtest/gtest.h>

using namespace weir;

namespace {

class Header : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("weir-header", folder));
    text = modelHeader(test::makeProgram(), /*isShared=*/false, "net.onnx", "0.1.0");
    ASSERT_EQ(llvm::toString(writeFile((folder + "/net.h").str(), text)), "");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  /// Compiles `source` where the compiler is installed.
  void compile(const char *compiler, std::vector<std::string> flags, llvm::StringRef suffix,
               llvm::StringRef source) {
    auto path = llvm::sys::findProgramByName(compiler);
    if (!path) {
      std::printf("%s is not installed: skipped\n", compiler);
      return;
    }
    std::string file = (folder + "/use" + suffix).str();
    ASSERT_EQ(llvm::toString(writeFile(file, source)), "");
    std::vector<std::string> arguments = {*path,     "-Wall",     "-Wextra",
                                          "-Werror", "-pedantic", "-fsyntax-only"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    arguments.push_back(file);
    std::vector<llvm::StringRef> references(arguments.begin(), arguments.end());
    EXPECT_EQ(llvm::sys::ExecuteAndWait(*path, references), 0) << compiler << ' ' << flags[0];
  }

  llvm::SmallString<128> folder;
  std::string text;
};

TEST_F(Header, IsC) {
  const char *source = "#include \"net.h\"\n"
                       "#include \"net.h\"\n"
                       "int use(weir_session *s, float *x, int64_t n);\n"
                       "int use(weir_session *s, float *x, int64_t n) {\n"
                       "  const int64_t dims[] = {n, 4};\n"
                       "  static const int64_t fixed[] = NET_X_DIMS;\n"
                       "  uint8_t flags[4] = {0};\n"
                       "  uint16_t any[1] = {0};\n"
                       "  weir_tensor feeds[NET_RUN_FEEDS] = {net_x_tensor(x),\n"
                       "      net_n_1_tensor(&n), net_class__tensor(flags, dims),\n"
                       "      net_any_tensor(any, 1, fixed)};\n"
                       "  weir_tensor fetches[NET_RUN_FETCHES] = {\n"
                       "      net_x_output_tensor(0), net_run_output_tensor(0, 0)};\n"
                       "  return net_run(s, feeds, fetches, 0, 0) + (int)NET_X_BYTES\n"
                       "      + net_serving_default(s, feeds, fetches, 0, 0);\n"
                       "}\n";
  compile("gcc", {"-std=c99"}, ".c", source);
  compile("clang-22", {"-std=c17"}, ".c", source);
}

TEST_F(Header, IsCxx) {
  const char *source = "#include \"net.h\"\n"
                       "int use() {\n"
                       "  net::Model model;\n"
                       "  weir::Span<float> x = model.x();\n"
                       "  weir::Span<int64_t> n = model.n_1();\n"
                       "  weir::Status sized = model.resize_class_({2, 4});\n"
                       "  weir::Span<bool> c = model.class_();\n"
                       "  weir::Span<const std::complex<float>> out = model.x_output();\n"
                       "  weir::Span<const weir_string> names = model.run_output();\n"
                       "  weir::Status status = model.run();\n"
                       "  weir::Status same = model.serving_default();\n"
                       "  weir::Status other = model.train_step();\n"
                       "  weir::Span<double> y = model.train_step_x();\n"
                       "  weir::Tensor t = model.input(\"any\"), u = model.input(\"x\", 1);\n"
                       "  for (float &value : x)\n"
                       "    value = 1;\n"
                       "  net::Model moved(static_cast<net::Model &&>(model));\n"
                       "  return int(n.size() + c.size() + out.size() + names.size() + "
                       "y.size()\n"
                       "      + t.size() + u.size()) + status.code() + other.ok()\n"
                       "      + sized.ok() + same.ok();\n"
                       "}\n";
  compile("g++", {"-std=c++11"}, ".cpp", source);
  compile("g++", {"-std=c++20", "-fno-exceptions", "-fno-rtti"}, ".cpp", source);
  compile("clang++-22", {"-std=c++11", "-fno-exceptions"}, ".cpp", source);
  compile("clang++-22", {"-std=c++23"}, ".cpp", source);
}

TEST_F(Header, NamesThatMeetAreKeptApart) {
  detail::HeaderNames names = detail::headerNames(test::makeProgram());
  std::vector<std::string> accessors;
  for (const detail::HeaderTensor &tensor : names.tensors)
    accessors.push_back(tensor.accessor);
  EXPECT_EQ(accessors, (std::vector<std::string>{"x", "n_1", "class_", "any", "x_output",
                                                 "run_output", "train_step_x"}));
  EXPECT_EQ(names.runMethods, (std::vector<std::string>{"serving_default", "train_step"}));
}

TEST_F(Header, WithoutADefaultEntryThereIsNoRun) {
  Program program = test::makeProgram();
  program.entries[0].name = "infer";
  std::string header = modelHeader(program, /*isShared=*/false, "net.onnx", "0.1.0");
  EXPECT_EQ(header.find(" run(const weir_run_options"), std::string::npos);
  EXPECT_EQ(header.find("net_run("), std::string::npos);
  EXPECT_NE(header.find(" infer(const weir_run_options"), std::string::npos);
  EXPECT_NE(header.find(" infer_x() noexcept"), std::string::npos);
  EXPECT_NE(header.find("net_infer("), std::string::npos);
  program.entries.pop_back();
  header = modelHeader(program, /*isShared=*/false, "net.onnx", "0.1.0");
  EXPECT_NE(header.find(" run(const weir_run_options"), std::string::npos);
  EXPECT_NE(header.find(" infer(const weir_run_options"), std::string::npos);
}

TEST_F(Header, StatusesCannotBeOverlooked) {
  auto compiler = llvm::sys::findProgramByName("clang++-22");
  if (!compiler)
    GTEST_SKIP() << "no clang++-22";
  for (const char *call : {"model.run()", "model.resize_class_({2, 4})", "model.train_step()",
                           "model.bind_x_output(nullptr, 2)",
                           "net_run(model.session(), nullptr, nullptr, nullptr, nullptr)",
                           "weir_session_reset(model.session(), nullptr)"}) {
    std::string file = (folder + "/overlooked.cpp").str();
    ASSERT_EQ(
        llvm::toString(writeFile(file, "#include \"net.h\"\nvoid use(net::Model &model) {\n  " +
                                           std::string(call) + ";\n}\n")),
        "");
    for (const char *standard : {"-std=c++11", "-std=c++20"}) {
      llvm::StringRef arguments[] = {*compiler, standard, "-Werror=unused-result", "-fsyntax-only",
                                     file};
      std::optional<llvm::StringRef> redirects[] = {std::nullopt, "", ""};
      EXPECT_NE(llvm::sys::ExecuteAndWait(*compiler, arguments, std::nullopt, redirects), 0)
          << call << ' ' << standard;
    }
  }
}

TEST_F(Header, OfASharedObjectHasTheTableInsteadOfFunctions) {
  std::string shared = modelHeader(test::makeProgram(), /*isShared=*/true, "net.onnx", "0.1.0");
  ASSERT_EQ(llvm::toString(writeFile((folder + "/net.h").str(), shared)), "");
  // Nothing of it can be an undefined reference but the object's own functions.
  const char *source = "#include \"net.h\"\n"
                       "int use(weir_session *s);\n"
                       "int use(weir_session *s) {\n"
                       "  const weir_plugin *all = net_functions();\n"
                       "  return all->session_find_entry(s, \"main\") +\n"
                       "      all->program_entry_count(all->program);\n"
                       "}\n";
  compile("gcc", {"-std=c99"}, ".c", source);
  compile("clang++-22", {"-std=c++11"}, ".cpp", source);
  EXPECT_EQ(shared.find("#include \"weir"), std::string::npos);
}

TEST_F(Header, DependsOnTheProgramAlone) {
  EXPECT_EQ(text, modelHeader(test::makeProgram(), /*isShared=*/false, "net.onnx", "0.1.0"));
  EXPECT_NE(text.find("bool [N <= 64, 4]"), std::string::npos);
}

} // namespace
