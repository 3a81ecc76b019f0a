//===- Report.cpp - the file of results ------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "cuda/cublaslt_api.h"
#include "cuda/cudnn_api.h"
#include "cuda/cupti_api.h"
#include "cuda/nccl_api.h"

#include <algorithm>
#include <cstdio>
#include <dlfcn.h>
#include <thread>

namespace weir::gpucheck {

bool Report::open(const std::string &path, bool append) {
  file.open(path, append ? std::ios::app : std::ios::trunc);
  return bool(file);
}

void Report::line(const std::string &text) {
  file << text << std::endl;
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

void Report::result(const std::string &label, const std::string &problem, const std::string &note) {
  if (problem.empty()) {
    ++passed;
    line("passed " + label + (note.empty() ? "" : " " + note));
  } else if (problem == "skipped") {
    ++skipped;
    line("skipped " + label);
  } else {
    ++failed;
    std::string text = problem; // a line each
    std::replace(text.begin(), text.end(), '\n', ' ');
    line("failed " + label + ": " + text);
  }
}

int Report::finish() {
  constexpr double leastShare = 0.98; // of cases
  if (failed > 0 && passed < leastShare * (passed + failed))
    fallShort("fewer than 98 % passed");
  for (const std::string &what : shortfalls)
    line("fell short: " + what);
  line(std::to_string(passed) + " passed, " + std::to_string(failed) + " failed, " +
       std::to_string(skipped) + " skipped");
  return failed ? 1 : 0;
}

/// The rest of the first line that begins with `begin`; "": none.
static std::string lineOf(const std::string &path, const std::string &begin) {
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);)
    if (text.compare(0, begin.size(), begin) == 0)
      return text.substr(begin.size());
  return "";
}

/// Version and place of the library that has `function`; null: there is none.
template <typename Version>
static void tellLibrary(Report &report, const char *name, void *function, const char *symbol) {
  Dl_info info = {};
  if (!function || !dladdr(function, &info)) {
    report.line(std::string(name) + ": not loaded");
    return;
  }
  std::string version = "of an unknown version";
  void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (void *asked = library ? dlsym(library, symbol) : nullptr)
    version = Version::of(asked);
  report.line(std::string(name) + ": " + version + ", " + info.dli_fname);
  if (library)
    dlclose(library);
}

namespace {
struct Returned { ///< size_t f()
  static std::string of(void *function) {
    return std::to_string(reinterpret_cast<size_t (*)()>(function)());
  }
};
template <typename Number> struct Written { ///< status f(Number *)
  static std::string of(void *function) {
    Number number = 0;
    reinterpret_cast<int (*)(Number *)>(function)(&number);
    return std::to_string(number);
  }
};
} // namespace

template <typename Function> static void *addressOf(Function function) {
  return reinterpret_cast<void *>(function);
}

static void tellGpu(Report &report, const Gpu &gpu) {
  if (!gpu.usable) {
    report.line("GPU: none that can be used");
    return;
  }
  const rt::cuda::Driver &api = *gpu.api;
  char name[256] = "";
  int major = 0, minor = 0, processors = 0, driver = 0;
  size_t memory = 0;
  api.deviceName(name, sizeof(name), gpu.device);
  api.deviceAttribute(&major, rt::cuda::capabilityMajor, gpu.device);
  api.deviceAttribute(&minor, rt::cuda::capabilityMinor, gpu.device);
  api.deviceAttribute(&processors, rt::cuda::multiprocessors, gpu.device);
  api.totalMemory(&memory, gpu.device);
  api.driverVersion(&driver);
  report.line(std::string("GPU: ") + name + ", sm_" + std::to_string(major) +
              std::to_string(minor) + ", " + std::to_string(processors) + " multiprocessors, " +
              std::to_string(memory >> 20) + " MiB");
  report.line("driver: CUDA " + std::to_string(driver / 1000) + "." +
              std::to_string(driver % 1000 / 10) + " " +
              lineOf("/proc/driver/nvidia/version", "NVRM version: "));
}

void tellVersions(Report &report, const Gpu &gpu, const std::string &folder) {
  report.line(std::string("runtime ") + weir_runtime_version());
  if (!folder.empty())
    report.line("commit: " + lineOf(folder + "/commit", ""));
  std::string processor = lineOf("/proc/cpuinfo", "model name");
  size_t begin = processor.find_first_not_of("\t :");
  report.line("CPU: " + (begin == std::string::npos ? "unknown" : processor.substr(begin)) + ", " +
              std::to_string(std::thread::hardware_concurrency()) + " threads");
  tellGpu(report, gpu);
  const rt::cuda::Blas *blas = rt::cuda::loadBlas();
  const rt::cuda::Dnn *dnn = rt::cuda::loadDnn();
  const rt::cuda::Nccl *nccl = rt::cuda::loadNccl();
  const rt::cuda::Cupti *cupti = rt::cuda::loadCupti();
  tellLibrary<Returned>(report, "cuBLASLt", blas ? addressOf(blas->create) : nullptr,
                        "cublasLtGetVersion");
  tellLibrary<Returned>(report, "cuDNN", dnn ? addressOf(dnn->create) : nullptr, "cudnnGetVersion");
  tellLibrary<Written<int>>(report, "NCCL", nccl ? addressOf(nccl->initAll) : nullptr,
                            "ncclGetVersion");
  tellLibrary<Written<uint32_t>>(report, "CUPTI", cupti ? addressOf(cupti->version) : nullptr,
                                 "cuptiGetVersion");
}

} // namespace weir::gpucheck
