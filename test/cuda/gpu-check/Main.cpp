//===- Main.cpp - GPU code against the CPU's, and times --- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of `tools/gpu-check`'s bundle that runs: needs the C and C++ libraries
// and a driver. A case is a shared object with both forms of its steps. Each
// entry is run on the host and on the GPU with the same random feeds, and results
// are compared: integers and strings exactly, floats within a tolerance of their
// type; a run that ends in a status must end in the same one. In a bundle objects are
// packed; the weights of networks lie beside them, packed, too.
//
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include "Pack.h"
#include "Report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <unistd.h>

using namespace weir::gpucheck;

namespace {

const char usage[] =
    "usage: %s [FLAGS] RESULT.txt CASE.so... (each run on the host and on the GPU)\n"
    "       %s [FLAGS] --bundle=DIR [RESULT.txt] (all in a bundle; DIR/result.txt)\n"
    "       %s --pack|--unpack FROM TO\n"
    "  --only=cases,smallest,stress,bench  parts of the bundle (all but `smallest`), in this\n"
    "                    order; `smallest`: the five benchmarks whose files are\n"
    "  --first=N         so many cases (all)\n"
    "  --seconds=N       begins nothing after so many, and says what it left out\n"
    "  --call=NAME       a line `call NAME` begins the results\n"
    "  --append          results go behind what the file has\n"
    "  --label=TEXT      behind the names of benchmarks\n"
    "  --bench=NAME,...  those benchmarks alone\n"
    "  --quick           few runs: for slow drivers\n"
    "  --repeat=N        runs that are timed (cases 20, benchmarks 100)\n"
    "  --concurrent=N    runs from four threads (cases 100, stress 1000)\n"
    "  --limits=N        places where memory ends (cases 4, stress 100)\n"
    "  --tune=N          ways of libraries that are timed for benchmarks (8; 0: none), as\n"
    "                    peers do; $WEIR_CUDA_TUNE where it is set\n"
    "  --rates=A100|H100|H200  predicts kernels' times for that (the GPU's own clocks)\n"
    "  --scratch=DIR     where weights are unpacked ($TMPDIR, /tmp)\n";

/// Networks: tensors of open size that fill memory, indices that all tables have.
const Case network = {nullptr, 0, "", {.open = 256, .integers = 2}, Closeness::Norm};

struct Options {
  std::string bundle, scratch, result, only = "cases,stress,bench", benchmarks, call, label, rates;
  std::vector<std::string> cases;
  bool quick = false, append = false;
  int first = 0;      ///< 0: no bound
  double seconds = 0; ///< the same
  Clock::time_point began = Clock::now();
  int repeat = 0, concurrent = 0, limits = -1; ///< as asked for
  int tune = 8;

  bool wants(const char *part) const {
    return ("," + only + ",").find(std::string(",") + part + ",") != std::string::npos;
  }
  bool isLate() const { return seconds > 0 && microseconds(Clock::now() - began) > seconds * 1e6; }
  Counts counts(Counts usual) const {
    Counts quickly = {1, 8, 0};
    Counts all = quick ? quickly : usual;
    if (repeat > 0)
      all.repeat = repeat;
    if (concurrent > 0)
      all.concurrent = concurrent;
    if (limits >= 0)
      all.limits = limits;
    return all;
  }
};

/// False: there is a flag that does not exist.
bool parse(int argc, char **argv, Options &options) {
  auto take = [](const char *argument, const char *flag, auto &&set) {
    size_t length = std::strlen(flag);
    if (std::strncmp(argument, flag, length) != 0 || argument[length] != '=')
      return false;
    set(argument + length + 1);
    return true;
  };
  auto text = [](std::string &to) { return [&to](const char *value) { to = value; }; };
  auto number = [](int &to) { return [&to](const char *value) { to = std::atoi(value); }; };
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const char *argument = argv[i];
    if (argument[0] != '-')
      files.push_back(argument);
    else if (std::strcmp(argument, "--quick") == 0)
      options.quick = true;
    else if (std::strcmp(argument, "--append") == 0)
      options.append = true;
    else if (!take(argument, "--bundle", text(options.bundle)) &&
             !take(argument, "--only", text(options.only)) &&
             !take(argument, "--bench", text(options.benchmarks)) &&
             !take(argument, "--scratch", text(options.scratch)) &&
             !take(argument, "--call", text(options.call)) &&
             !take(argument, "--label", text(options.label)) &&
             !take(argument, "--rates", text(options.rates)) &&
             !take(argument, "--first", number(options.first)) &&
             !take(argument, "--seconds",
                   [&](const char *value) { options.seconds = std::atof(value); }) &&
             !take(argument, "--repeat", number(options.repeat)) &&
             !take(argument, "--concurrent", number(options.concurrent)) &&
             !take(argument, "--limits", number(options.limits)) &&
             !take(argument, "--tune", number(options.tune)))
      return false;
  }
  if (!options.benchmarks.empty())
    options.only = "bench";
  if (options.scratch.empty()) {
    const char *folder = std::getenv("TMPDIR");
    options.scratch = folder && *folder ? folder : "/tmp";
  }
  options.result = !files.empty() ? files[0] : options.bundle + "/result.txt";
  if (!files.empty())
    options.cases.assign(files.begin() + 1, files.end());
  return options.bundle.empty() ? !options.cases.empty() : options.cases.empty();
}

std::vector<std::string> objectsIn(const std::string &folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto &file : std::filesystem::directory_iterator(folder, error))
    if (std::string path = file.path(); path.find(".so") != std::string::npos)
      paths.push_back(path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// The program's name, where FILE.so or FILE.so.packed is.
std::string stemOf(const std::string &path) {
  std::string name = std::filesystem::path(path).filename();
  return name.substr(0, name.find(".so"));
}

/// A file of the bundle while it is used: itself, or its content where it is packed.
struct Unpacked {
  std::string path, problem;
  bool temporary = false;

  Unpacked(const std::string &file, const std::string &scratch) : path(file) {
    std::filesystem::path name = file;
    if (name.extension() != ".packed")
      return;
    temporary = true;
    path = scratch + "/weir-gpu-check-" + std::to_string(getpid()) + "-" + name.stem().string();
    problem = unpack(file, path);
  }
  ~Unpacked() {
    if (temporary)
      std::remove(path.c_str());
  }
  Unpacked(const Unpacked &) = delete;
  Unpacked &operator=(const Unpacked &) = delete;
};

/// The file of a program's name and this ending beside it.
std::string besides(const std::string &object, const char *ending) {
  std::filesystem::path file = object;
  file.replace_filename(stemOf(object) + ending);
  return file.string();
}

/// The weights of a program that has some beside it, packed; "": within.
std::string weightsOf(const std::string &object) {
  std::string file = besides(object, ".weights.packed");
  return std::filesystem::exists(file) ? file : "";
}

/// A shared object and its weights, while they are used.
struct Library {
  Unpacked file, weights;
  void *handle = nullptr;
  const weir_plugin *plugin = nullptr; ///< null: see `problem`
  std::string problem;

  Library(const std::string &path, const std::string &scratch)
      : file(path, scratch), weights(weightsOf(path), scratch),
        problem(file.problem + weights.problem) {
    if (!problem.empty())
      return;
    handle = dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle)
      plugin = static_cast<const weir_plugin *>(dlsym(handle, WEIR_PLUGIN_SYMBOL));
    if (!plugin)
      problem = dlerror();
  }
  ~Library() {
    if (handle)
      dlclose(handle);
  }
};

/// All entries of a program, with `like`'s feeds and closeness.
void runCase(const std::string &path, Gpu &gpu, const Counts &counts, const std::string &scratch,
             Case like, Report &report) {
  std::string name = stemOf(path) + ".so";
  Library library(path, scratch);
  if (!library.plugin)
    return report.result(name, library.problem);
  const weir_plugin &plugin = *library.plugin;
  const std::string &weights = library.weights.path;
  Opened onHost = open(plugin, "off", {weights}), onGpu = open(plugin, "require", {weights});
  bool opened = onHost.session && onGpu.session;
  if (!opened)
    report.result(name, onHost.session ? onGpu.message : onHost.message);
  for (int32_t entry = 0; opened && entry < weir_program_entry_count(plugin.program); ++entry) {
    Case tested = {&plugin, entry, weights, like.kind, like.closeness};
    std::string note,
        problem = checkEntry(tested, onHost.session, onGpu.session, gpu, counts, note);
    report.result(name + " " + weir_program_entry_name(plugin.program, entry), problem, note);
  }
  for (weir_session *session : {onGpu.session, onHost.session})
    if (session)
      plugin.session_destroy(session);
}

void runBenchmark(const std::string &path, Gpu &gpu, const Options &options, Report &report) {
  std::string name = stemOf(path),
              label = "bench " + name + (options.label.empty() ? "" : "," + options.label), figures;
  if (!gpu.usable)
    return report.result(label, "there is no GPU");
  Library library(path, options.scratch);
  if (!library.plugin)
    return report.result(label, library.problem);
  int repeat = options.counts({.repeat = 100}).repeat;
  Case tested = {library.plugin, 0, library.weights.path, network.kind};
  bool copies = name.compare(0, 5, "copy_") == 0;
  PredictedBy prediction = {besides(path, ".kernels"), options.rates};
  Comparison kernels;
  std::string problem = copies ? benchmarkCopy(tested, gpu, repeat, figures)
                               : benchmark(tested, gpu, repeat, prediction, figures, kernels);
  report.result(label, problem, figures);
  if (figures.find("host_demand=missed") != std::string::npos)
    report.fallShort(label + ": the calling thread's time a step");
  if (figures.find("link_demand=missed") != std::string::npos)
    report.fallShort(label + ": the share of a bare copy");
  for (const std::string &kernel : kernels.lines)
    report.line("kernel " + name + " " + kernel);
  if (!kernels.offRoofline.empty())
    report.line("off roofline " + name + ": " + kernels.offRoofline);
}

bool chosen(const Options &options, const std::string &path) {
  return options.benchmarks.empty() ||
         ("," + options.benchmarks + ",").find("," + stemOf(path) + ",") != std::string::npos;
}

/// The `count` of the benchmarks whose files are the smallest.
std::vector<std::string> smallest(std::vector<std::string> paths, size_t count) {
  auto bytesOf = [](const std::string &path) {
    std::error_code error;
    std::string weights = weightsOf(path);
    return std::filesystem::file_size(path, error) +
           (weights.empty() ? 0 : std::filesystem::file_size(weights, error));
  };
  std::stable_sort(paths.begin(), paths.end(), [&](const std::string &a, const std::string &b) {
    return bytesOf(a) < bytesOf(b);
  });
  paths.resize(std::min(paths.size(), count));
  return paths;
}

/// Those that there is time for.
template <typename Run>
void runAll(const char *what, const std::vector<std::string> &paths, const Options &options,
            Report &report, Run &&run) {
  size_t done = 0;
  for (; done < paths.size() && !options.isLate(); ++done)
    run(paths[done]);
  if (done == paths.size())
    return;
  // Few have their names said, so that another call can ask for them.
  constexpr size_t few = 20;
  std::string names;
  for (size_t i = done; i < paths.size() && paths.size() - done <= few; ++i)
    names += (names.empty() ? " (" : ", ") + stemOf(paths[i]);
  report.line("left out " + std::to_string(paths.size() - done) + " " + what + ": time is over" +
              names + (names.empty() ? "" : ")"));
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 4 && (std::strcmp(argv[1], "--pack") == 0 || std::strcmp(argv[1], "--unpack") == 0)) {
    std::string problem = (argv[1][2] == 'p' ? pack : unpack)(argv[2], argv[3]);
    std::fprintf(stderr, "%s%s", problem.c_str(), problem.empty() ? "" : "\n");
    return problem.empty() ? 0 : 1;
  }
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, usage, argv[0], argv[0], argv[0]);
    return 2;
  }
  Report report;
  if (!report.open(options.result, options.append)) {
    std::fprintf(stderr, "%s: cannot write %s\n", argv[0], options.result.c_str());
    return 2;
  }
  if (!options.call.empty())
    report.line("call " + options.call);
  Gpu gpu;
  tellVersions(report, gpu, options.bundle);
  std::vector<std::string> cases = options.cases;
  if (!options.bundle.empty() && options.wants("cases"))
    cases = objectsIn(options.bundle + "/cases");
  if (options.first > 0 && cases.size() > size_t(options.first))
    cases.resize(size_t(options.first));
  runAll("cases", cases, options, report, [&](const std::string &path) {
    runCase(path, gpu, options.counts({}), options.scratch, {}, report);
  });
  if (options.bundle.empty())
    return report.finish();
  auto bench = [&](const std::string &path) { runBenchmark(path, gpu, options, report); };
  if (options.wants("smallest"))
    runAll("benchmarks", smallest(objectsIn(options.bundle + "/bench"), 5), options, report, bench);
  if (options.wants("stress"))
    runAll("stress tests", objectsIn(options.bundle + "/stress"), options, report,
           [&](const std::string &path) {
             runCase(path, gpu, options.counts({.concurrent = 1000, .limits = 100}),
                     options.scratch, network, report);
           });
  if (options.wants("bench")) {
    if (options.tune > 0)
      setenv("WEIR_CUDA_TUNE", std::to_string(options.tune).c_str(), /*overwrite=*/0);
    std::vector<std::string> paths = objectsIn(options.bundle + "/bench");
    std::erase_if(paths, [&](const std::string &path) { return !chosen(options, path); });
    // Of each kernel libraries' ways are timed: those with many come last where time is bounded.
    auto kernels = [](const std::string &path) {
      return readWorks(besides(path, ".kernels")).size();
    };
    std::stable_sort(paths.begin(), paths.end(), [&](const std::string &a, const std::string &b) {
      return kernels(a) < kernels(b);
    });
    runAll("benchmarks", paths, options, report, bench);
  }
  return report.finish();
}
