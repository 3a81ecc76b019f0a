//===- MemoryPlan.cpp - weir-bench memory-plan ----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans the buffers of CSV files (columns id, lower, upper, size and, where
// there is one, alignment; upper is exclusive) and says how near the plan is to
// its bound and what it took.
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/MemoryPlan.h"

#include "passes/memory/OffsetPlanner.h"
#include "passes/memory/PlanChecker.h"
#include "tools/weir-bench/RandomPlans.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace weir::memory;

namespace {

struct Instance {
  std::string header;
  std::vector<std::string> ids;
  std::vector<Buffer> buffers;
};

struct Arguments {
  std::vector<std::string> files;
  std::string output;
  PlanOptions options;
  int64_t random = 0; ///< instances to make up instead of reading files
  int64_t seed = 1;
};

/// Some four seconds for several hundred buffers.
constexpr int64_t defaultSteps = 250'000'000;

int fail(const std::string &message) {
  std::fprintf(stderr, "weir-bench: error W0851: %s\n", message.c_str());
  return 1;
}

bool parseNumber(std::string_view text, int64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> split(std::string_view line) {
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  std::vector<std::string_view> cells;
  for (size_t comma; (comma = line.find(',')) != line.npos; line.remove_prefix(comma + 1))
    cells.push_back(line.substr(0, comma));
  cells.push_back(line);
  return cells;
}

/// Returns what is wrong with the file, or nothing.
std::optional<std::string> readInstance(const std::string &path, Instance &instance) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line))
    return path + ": cannot read it";
  std::vector<std::string> names;
  for (std::string_view cell : split(line))
    names.emplace_back(cell);
  for (const char *needed : {"id", "lower", "upper", "size"})
    if (std::find(names.begin(), names.end(), needed) == names.end())
      return path + ": found no column '" + needed +
             "'; possible: a first line id,lower,upper,size";
  for (int number = 2; std::getline(file, line); ++number) {
    std::string place = path + ":" + std::to_string(number);
    std::vector<std::string_view> cells = split(line);
    if (cells.size() == 1 && cells[0].empty())
      continue;
    if (cells.size() != names.size())
      return place + ": found " + std::to_string(cells.size()) + " cells; the first line has " +
             std::to_string(names.size());
    Buffer buffer;
    for (size_t i = 0; i < cells.size(); ++i) {
      int64_t *value = names[i] == "lower"       ? &buffer.lower
                       : names[i] == "upper"     ? &buffer.upper
                       : names[i] == "size"      ? &buffer.size
                       : names[i] == "alignment" ? &buffer.alignment
                                                 : nullptr;
      if (names[i] == "id")
        instance.ids.emplace_back(cells[i]);
      else if (value && !parseNumber(cells[i], *value))
        return place + ": found '" + std::string(cells[i]) + "' as " + names[i] +
               "; possible: a whole number";
    }
    if (buffer.size < 0 || buffer.size > INT64_MAX >> 22 || buffer.upper < buffer.lower ||
        buffer.alignment < 1 || buffer.alignment > int64_t(1) << 30)
      return place + ": not a buffer: a size below 0 or past 2^41, an upper "
                     "below its lower, or an alignment below 1 or past 2^30";
    instance.buffers.push_back(buffer);
  }
  return std::nullopt;
}

std::optional<std::string> writeOffsets(const std::string &path, const Instance &instance,
                                        const Plan &plan) {
  std::ofstream file(path);
  file << "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < plan.offsets.size(); ++i) {
    const Buffer &b = instance.buffers[i];
    file << instance.ids[i] << ',' << b.lower << ',' << b.upper << ',' << b.size << ','
         << plan.offsets[i] << '\n';
  }
  file.close();
  if (!file)
    return path + ": cannot write it";
  return std::nullopt;
}

std::optional<std::string> parseArguments(int argc, char **argv, Arguments &arguments) {
  arguments.options.steps = defaultSteps;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    auto number = [&](std::string_view flag, int64_t &value) -> std::optional<std::string> {
      if (!parseNumber(arg.substr(flag.size()), value) || value < 0)
        return "found '" + std::string(arg) + "'; possible: " + std::string(flag) +
               "N, a whole number";
      return std::nullopt;
    };
    std::optional<std::string> error;
    if (arg.starts_with("--capacity=")) {
      arguments.options.capacity.emplace();
      error = number("--capacity=", *arguments.options.capacity);
    } else if (arg.starts_with("--steps=")) {
      error = number("--steps=", arguments.options.steps);
    } else if (arg.starts_with("--random=")) {
      error = number("--random=", arguments.random);
    } else if (arg.starts_with("--seed=")) {
      error = number("--seed=", arguments.seed);
    } else if (arg == "-o") {
      if (++i == argc)
        return "-o needs a file";
      arguments.output = argv[i];
    } else if (arg.starts_with("-")) {
      return "found '" + std::string(arg) +
             "'; possible: --capacity=BYTES, --steps=N, -o OFFSETS.csv, "
             "--random=COUNT, --seed=N";
    } else {
      arguments.files.emplace_back(arg);
    }
    if (error)
      return error;
  }
  if (arguments.files.empty() && !arguments.random)
    return "memory-plan needs a file of buffers: id,lower,upper,size";
  if (!arguments.output.empty() && arguments.files.size() != 1)
    return "-o takes the offsets of one file";
  return std::nullopt;
}

/// Plans one file; returns the exit status.
int planFile(const std::string &path, const Arguments &arguments) {
  Instance instance;
  if (auto error = readInstance(path, instance))
    return fail(*error);
  auto start = std::chrono::steady_clock::now();
  Plan plan = planOffsets(instance.buffers, arguments.options);
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;

  std::vector<PlacedBuffer> placed;
  for (size_t i = 0; i < plan.offsets.size(); ++i) {
    const Buffer &b = instance.buffers[i];
    placed.push_back({b.lower, b.upper, b.size, b.alignment, plan.offsets[i]});
  }
  if (auto error = checkPlan(placed, plan.peak))
    return fail(path + ": the plan is wrong: buffer " + instance.ids[error->first] + ": " +
                error->message);
  if (!arguments.output.empty())
    if (auto error = writeOffsets(arguments.output, instance, plan))
      return fail(*error);
  std::printf("%s: %zu buffers, %lld steps%s\n", path.c_str(), plan.offsets.size(),
              (long long)plan.steps, plan.provedOptimal ? ", no smaller plan exists" : "");
  std::printf("peak=%lld bound=%lld ms=%.1f\n", (long long)plan.peak, (long long)plan.lowerBound,
              took.count());
  if (arguments.options.capacity && plan.peak > *arguments.options.capacity)
    return fail(path + ": the plan needs " + std::to_string(plan.peak) +
                " bytes, the capacity is " + std::to_string(*arguments.options.capacity) +
                (plan.provedTooLarge ? "; no plan fits" : ""));
  return 0;
}

} // namespace

int runMemoryPlan(int argc, char **argv) {
  Arguments arguments;
  if (auto error = parseArguments(argc, argv, arguments))
    return fail(*error);
  if (arguments.random)
    return runRandomPlans(arguments.random, arguments.seed, arguments.options.steps);
  int status = 0;
  for (const std::string &path : arguments.files)
    status = std::max(status, planFile(path, arguments));
  return status;
}
