//===- Kernels.cpp - kernels of the recording driver -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/Recorder.h"
#include "test/cuda/recorder/TensorMap.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace recorder;

namespace weir::rt::cuda {
struct FunctionTag {
  std::string name;
  const ptx::Function *code;
  int device = 0;
  unsigned mostShared = 48 << 10; ///< bytes that a launch may ask for
};
struct ModuleTag {
  int device = 0;
  ptx::Module code;
  std::map<std::string, FunctionTag> functions;
};
} // namespace weir::rt::cuda

/// Reads what an image holds: entries of machine code and PTX. Layout: a header
/// of 16 bytes with the magic number, then entries, each with a header that says
/// its kind, its own size, the payload's, and the architecture.
static Result readImage(const uint8_t *image, int capability, std::string &text) {
  uint32_t magic;
  uint64_t size;
  std::memcpy(&magic, image, 4);
  if (magic != 0xba55ed50) {
    text = reinterpret_cast<const char *>(image);
    return text.rfind("//", 0) == 0 || text.rfind(".version", 0) == 0 ? 0 : 200;
  }
  std::memcpy(&size, image + 8, 8);
  const uint8_t *at = image + 16, *end = at + size;
  bool fits = false;
  int chosen = -1; // PTX that the GPU takes goes first
  while (at < end) {
    uint16_t kind;
    uint32_t headerBytes, architecture;
    uint64_t bytes;
    std::memcpy(&kind, at, 2);
    std::memcpy(&headerBytes, at + 4, 4);
    std::memcpy(&bytes, at + 8, 8);
    std::memcpy(&architecture, at + 28, 4);
    // Machine code runs on later chips of its generation, PTX on all later ones.
    if (kind == 2)
      fits |= int(architecture) / 10 == capability / 10 && int(architecture) <= capability;
    if (kind == 1) {
      bool isFit = int(architecture) <= capability;
      fits |= isFit;
      if (text.empty() || (isFit && int(architecture) > chosen)) {
        text.assign(reinterpret_cast<const char *>(at + headerBytes), bytes);
        text = text.c_str();
        chosen = isFit ? int(architecture) : chosen;
      }
    }
    at += headerBytes + bytes;
  }
  return !fits ? noBinaryForGpu : text.empty() ? 200 : 0;
}

bool recorder::kernelWork(Function function, unsigned blocks, unsigned threads, unsigned shared,
                          void **values, bool mayBegin, bool together,
                          std::function<void(Operation &)> &work) {
  Recorder &r = recorder::recorder();
  if (blocks == 0 || threads == 0 || threads > 1024)
    return false;
  if (together && blocks > mostTogether()) {
    r.problem("a launch has more blocks than run at the same time");
    return false;
  }
  if (shared > function->mostShared) {
    r.problem("a launch asks for more shared memory than its function may have");
    return false;
  }
  std::vector<uint8_t> parameters(size_t(function->code->parameterBytes));
  for (size_t i = 0; i < function->code->parameters.size(); ++i) {
    const ptx::Parameter &p = function->code->parameters[i];
    std::memcpy(parameters.data() + p.offset, values[i], size_t(p.bytes));
  }
  ptx::Launch launch = {blocks, threads, shared, mayBegin, together};
  work = [=, &r](Operation &) { ptx::run(*function->code, parameters, launch, r); };
  return true;
}

extern "C" {

Result cuModuleLoadData(Module *module, const void *image) {
  ENTER("cuModuleLoadData");
  NEEDS_CONTEXT()
  std::string text;
  if (Result error = readImage(static_cast<const uint8_t *>(image), capability(), text))
    return error;
  if (const char *file = std::getenv("WEIR_RECORDER_PTX")) {
    std::ifstream other(file);
    text.assign(std::istreambuf_iterator<char>(other), {});
  }
  auto made = std::make_unique<ModuleTag>();
  try {
    made->code = ptx::parse(text);
  } catch (const std::exception &error) {
    r.problem(error.what());
    return 218;
  }
  ++r.modules;
  ++r.modulesLoaded;
  made->device = currentDevice();
  // Constants of the module are the GPU's memory, too.
  for (const auto &global : made->code.globals) {
    auto begin = uint64_t(global->data());
    uint64_t bytes = global->size() * 8;
    r.addMemory(begin, bytes, currentDevice());
  }
  *module = made.release();
  return 0;
}
Result cuModuleUnload(Module module) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  for (const auto &global : module->code.globals)
    r.memory.erase(uint64_t(global->data()));
  --r.modules;
  delete module;
  return 0;
}
Result cuModuleGetFunction(Function *function, Module module, const char *name) {
  ENTER("cuModuleGetFunction");
  auto it = module->code.functions.find(name);
  if (it == module->code.functions.end())
    return 500;
  auto [tag, isNew] = module->functions.try_emplace(name);
  if (isNew)
    tag->second = {name, &it->second, module->device};
  *function = &tag->second;
  return 0;
}
Result cuFuncSetAttribute(Function function, int attribute, int value) {
  ENTER("cuFuncSetAttribute");
  constexpr int most = 227 << 10; // of sm_90
  if (attribute != functionMostShared || value < 0 || value > most)
    return 1;
  function->mostShared = unsigned(value);
  return 0;
}
/// Refuses what the driver's reference says that it does.
Result cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, Pointer base,
                              const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *steps, int interleave, int turn, int fetch,
                              int fill) {
  uint32_t bytes = type == engineBytes ? 1 : type == engineF16 || type == engineBF16 ? 2 : 0;
  if (bytes == 0 || rank < 3 || rank > ptx::TensorMap::most || base % 16 || uintptr_t(map) % 64 ||
      interleave != 0 || turn != engineTurn128 || fetch < 0 || fetch > 3 || fill != 0 ||
      box[0] * bytes % 16 || box[0] * bytes > 128)
    return 1;
  ptx::TensorMap made = {};
  made.magic = ptx::TensorMap::mark;
  made.elementBytes = bytes;
  made.rank = rank;
  made.base = base;
  for (uint32_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0 || sizes[i] > uint64_t(1) << 32 || box[i] == 0 || box[i] > 256 ||
        steps[i] == 0 || steps[i] > 8)
      return 1;
    made.sizes[i] = uint32_t(sizes[i]);
    made.box[i] = uint16_t(box[i]);
    made.steps[i] = uint8_t(steps[i]);
  }
  for (uint32_t i = 0; i + 1 < rank; ++i) {
    if (strides[i] == 0 || strides[i] % 16 || strides[i] >= uint64_t(1) << 40)
      return 1;
    made.strides[i] = strides[i];
  }
  std::memset(map, 0, 128);
  std::memcpy(map, &made, sizeof(made));
  return 0;
}
Result cuTensorMapEncodeIm2col(void *map, int type, uint32_t rank, Pointer base,
                               const uint64_t *sizes, const uint64_t *strides, const int *low,
                               const int *high, uint32_t channels, uint32_t pixels,
                               const uint32_t *steps, int interleave, int turn, int fetch,
                               int fill) {
  // Of two dimensions in between, corners have eight bits.
  if (rank != 4 || pixels == 0 || pixels > 1024)
    return 1;
  uint32_t box[4] = {channels, 1, 1, 1};
  if (Result error = cuTensorMapEncodeTiled(map, type, rank, base, sizes, strides, box, steps,
                                            interleave, turn, fetch, fill))
    return error;
  ptx::TensorMap made;
  std::memcpy(&made, map, sizeof(made));
  made.isWindow = 1;
  made.pixels = uint16_t(pixels);
  for (uint32_t i = 0; i + 2 < rank; ++i) {
    if (low[i] < -128 || low[i] > 127 || high[i] < -128 || high[i] > 127 ||
        int64_t(sizes[i + 1]) + high[i] - low[i] <= 0)
      return 1;
    made.low[i] = int8_t(low[i]);
    made.high[i] = int8_t(high[i]);
  }
  std::memcpy(map, &made, sizeof(made));
  return 0;
}

static Result launchKernel(Function function, unsigned blocks, unsigned threads, unsigned shared,
                           Stream stream, void **values, bool mayBegin, bool together) {
  ENTER("cuLaunchKernel");
  NEEDS_CONTEXT()
  std::function<void(Operation &)> work;
  if (!kernelWork(function, blocks, threads, shared, values, mayBegin, together, work))
    return 1;
  if (r.leavesOut(function->name))
    return 0;
  ++r.launches;
  r.mayBegin += mayBegin;
  r.together += together;
  ++r.launched[function->name];
  if (function->device != stream->device)
    r.problem("launches the code of another GPU");
  r.put(stream, function->name.c_str(), std::move(work), function, mayBegin, together);
  return 0;
}

Result cuLaunchKernel(Function function, unsigned blocks, unsigned, unsigned, unsigned threads,
                      unsigned, unsigned, unsigned shared, Stream stream, void **values, void **) {
  return launchKernel(function, blocks, threads, shared, stream, values, false, false);
}
Result cuLaunchKernelEx(const LaunchConfig *config, Function function, void **values, void **) {
  bool mayBegin = false, together = false;
  for (unsigned i = 0; i < config->count; ++i) {
    int32_t id = config->attributes[i].id;
    if (id != launchMayBegin && id != launchTogether)
      return 1;
    (id == launchTogether ? together : mayBegin) |= config->attributes[i].number != 0;
  }
  // Nothing says that both go together.
  if (mayBegin && together)
    return 1;
  return launchKernel(function, config->blocks[0], config->threads[0], config->shared,
                      config->stream, values, mayBegin, together);
}

} // extern "C"
