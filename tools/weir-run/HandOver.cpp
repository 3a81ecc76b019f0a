//===- HandOver.cpp - weir-run becomes the one that compiles --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/HandOver.h"
#include "tools/common/Terminal.h"
#include "tools/weir-run/Settings.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace weir::tools;
namespace fs = std::filesystem;

int weir::tools::handOver(char **argv) {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    printError(toolName,
               "/proc/self/exe, which says where weir lies, cannot be read: " + error.message());
    return 1;
  }
  // By a whole path, so that the loader finds what lies beside it from any folder.
  std::string program = (self.parent_path() / WEIR_RUN_MODEL).lexically_normal().string();
  execv(program.c_str(), argv);
  printError(toolName, "\"" + program +
                           "\", which compiles models, cannot be run: " + std::strerror(errno) +
                           "; possible: a .so that weirc has made, or an installation of weir "
                           "that is whole");
  return 1;
}
