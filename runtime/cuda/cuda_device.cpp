//===- cuda_device.cpp - GPUs of sessions ------------------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_device.h"
#include "cuda/fat_image.h"

#include <new>
#include <stdlib.h>

namespace weir::rt::cuda {

void appendError(Text &out, const Driver &driver, Result error) {
  const char *name = nullptr, *text = nullptr;
  driver.errorName(error, &name);
  driver.errorString(error, &text);
  out << (name ? name : "an unknown CUDA error") << " (" << (text ? text : "no description") << ')';
}

//===----------------------------------------------------------------------===//
// Pinned memory
//===----------------------------------------------------------------------===//

static int64_t toGranules(int64_t bytes) { return (bytes + 255) / 256 * 256; }

static void *pinnedAllocate(void *self, int64_t, int64_t bytes, int64_t *received) {
  auto *device = static_cast<CudaDevice *>(self);
  Current current(*device);
  void *data = nullptr;
  if (device->driver->hostAlloc(&data, size_t(toGranules(bytes)), 0) != 0)
    return nullptr;
  *received = toGranules(bytes);
  return data;
}

static void pinnedRelease(void *self, void *data, int64_t) {
  auto *device = static_cast<CudaDevice *>(self);
  Current current(*device);
  device->driver->hostFree(data);
}

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

enum class Policy { Auto, Off, Require };

/// $WEIR_CUDA: what to do where the GPU cannot be used.
static Policy policy() {
  const char *text = getenv("WEIR_CUDA");
  if (text && strcmp(text, "off") == 0)
    return Policy::Off;
  return text && strcmp(text, "require") == 0 ? Policy::Require : Policy::Auto;
}

static void close(Accelerator *accelerator) {
  auto *device = static_cast<CudaDevice *>(accelerator);
  const Driver &driver = *device->driver;
  if (device->memory) {
    device->memory->~BfcAllocator();
    free(device->memory);
  }
  if (device->hasContext) {
    {
      Current current(*device);
      leaveCollectives(*device);
      closeActivity(*device);
      closeProducts(device->products);
      closeWideKernels(device->wideKernels);
      closePhases(device->phases);
      closeConvolutions(*device, device->convolutions);
      closeVariables(*device, device->variables);
      closeCalls(device->calls);
      closeDnn(device->dnn);
      closeControl(*device);
      device->regions.close();
      if (device->constants)
        driver.memFree(device->constants);
      if (device->module)
        driver.moduleUnload(device->module);
    }
    driver.contextRelease(device->device);
  }
  free(device->functions);
  free(device);
}

/// Whether the module's kernels wait themselves for those before, and the driver knows of
/// that: code for architectures before sm_90 has no such instruction.
static bool kernelsWait(const CudaDevice &device) {
  const char *wanted = getenv("WEIR_CUDA_DEPENDENT");
  int version = 0;
  Function marker;
  return !(wanted && strcmp(wanted, "off") == 0) && device.driver->driverVersion(&version) == 0 &&
         version >= mayBeginVersion &&
         device.driver->moduleFunction(&marker, device.module, WEIR_CUDA_WAITS) == 0;
}

/// Fills `device` in. Null, or what is missing.
static const char *fill(CudaDevice *device, const weir_session *session, int64_t memoryLimit,
                        Result *error) {
  const Driver &driver = *device->driver;
  const weir_accelerator_desc &desc = *device->desc;
  const weir_program_desc *program = session->program;
  if (!desc.record || desc.record->version != WEIR_CUDA_RECORD_VERSION ||
      desc.record->size < sizeof(weir_cuda_record))
    return "the program's code for GPUs was made for another version of this runtime; compile "
           "the model anew";
  device->record = reinterpret_cast<const weir_cuda_record *>(desc.record);
  int number = 0;
  // /…/device:GPU:1 is the process' second GPU.
  if (const char *colon = strrchr(program->devices[desc.device].name, ':'))
    number = atoi(colon + 1);
  device->ordinal = number;
  if ((*error = driver.deviceGet(&device->device, number)) != 0)
    return "there is no GPU of that number";
  if ((*error = driver.contextRetain(&device->context, device->device)) != 0)
    return "the GPU cannot be opened";
  device->hasContext = true;
  Current current(*device);
  if ((*error = loadImage(driver, device->device, desc.image, &device->module)) != 0)
    return *error == noBinaryForGpu ? "the program has no code for this GPU; compile with its "
                                      "--cuda=sm_…"
                                    : "the GPU does not load the program's code";
  device->functions =
      static_cast<Function *>(calloc(size_t(program->kernel_count) + 1, sizeof(Function)));
  if (!device->functions)
    return "there is no memory on the host";
  for (int32_t i = 0; i < program->kernel_count; ++i)
    if (const char *name = desc.kernels[i])
      if ((*error = driver.moduleFunction(&device->functions[i], device->module, name)) != 0)
        return "the program's code lacks a kernel";
  if (desc.segment_bytes > 0) {
    if ((*error = driver.memAlloc(&device->constants, size_t(desc.segment_bytes))) != 0)
      return "the GPU has no memory for the program's constants";
    for (int64_t i = 0; i < desc.segment_count; ++i) {
      const weir_blob_segment &segment = desc.segments[i];
      if (segment.bytes > 0 &&
          (*error = driver.copyIn(device->constants + uint64_t(segment.target),
                                  session->blobs + segment.source, size_t(segment.bytes))) != 0)
        return "the program's constants cannot be copied to the GPU";
    }
    // From ordinary memory a copy may have returned with the last part on its way.
    if ((*error = driver.streamSynchronize(nullptr)) != 0)
      return "the program's constants cannot be copied to the GPU";
    device->blobs = reinterpret_cast<const uint8_t *>(device->constants);
  }
  void *memory = malloc(sizeof(BfcAllocator));
  if (!memory)
    return "there is no memory on the host";
  BfcOptions options;
  device->regions.open(*device);
  options.limit = device->regions.fitLimit(memoryLimitOf(*device, memoryLimit));
  device->memory = new (memory)
      BfcAllocator(program->devices[desc.device].name, device->regions.source(), options);
  device->staging = {device, pinnedAllocate, pinnedRelease, false};
  device->leastBorrowed = leastBorrowed;
  device->products = openProducts(*device, program->kernel_count);
  device->wideKernels = openWideKernels(*device, program->kernel_count);
  device->phases = openPhases(*device);
  device->dnn = openDnn(*device);
  if (!device->products || !device->wideKernels || !device->dnn)
    return "there is no memory on the host";
  device->convolutions = openConvolutions(*device, program->kernel_count);
  device->calls = openCalls(*device, program->kernel_count);
  device->variables = openVariables(*device, error);
  if (*error)
    return "the program's code lacks a kernel";
  if (!device->convolutions || !device->calls || !device->variables)
    return "there is no memory on the host";
  const char *graphs = getenv("WEIR_CUDA_GRAPHS");
  device->graphs = !graphs || strcmp(graphs, "off") != 0;
  device->mayBegin = kernelsWait(*device);
  const char *always = getenv("WEIR_CUDA_SYNC");
  device->waitsAlways = always && strcmp(always, "1") == 0;
  return nullptr;
}

static int32_t open(weir_session *session, const weir_accelerator_desc *desc, int64_t memoryLimit,
                    Accelerator **accelerator, weir_status *status) {
  Policy wanted = policy();
  if (wanted == Policy::Off)
    return WEIR_OK;
  const char *why = nullptr;
  Result error = 0;
  const Driver *driver = loadDriver(&why);
  CudaDevice *device = nullptr;
  if (driver) {
    device = static_cast<CudaDevice *>(calloc(1, sizeof(CudaDevice)));
    if (!device) {
      StatusText(status, WEIR_RESOURCE_EXHAUSTED) << "no memory for a GPU";
      return WEIR_RESOURCE_EXHAUSTED;
    }
    device->driver = driver;
    device->desc = desc;
    why = fill(device, session, memoryLimit, &error);
  }
  if (!why) {
    meetPeers(session, device);
    meetCollectives(session, device);
    *accelerator = device;
    return WEIR_OK;
  }
  if (wanted == Policy::Require) {
    StatusText out(status, WEIR_FAILED_PRECONDITION);
    out << session->program->devices[desc->device].name << ": " << why;
    if (error) {
      out << ": ";
      appendError(out, *driver, error);
    }
  }
  if (device)
    close(device);
  return wanted == Policy::Require ? int32_t(WEIR_FAILED_PRECONDITION) : int32_t(WEIR_OK);
}

} // namespace weir::rt::cuda

extern "C" __attribute__((visibility("default"))) const weir_device_driver weir_cuda_driver;
const weir_device_driver weir_cuda_driver = {weir::rt::cuda::open,
                                             weir::rt::cuda::close,
                                             weir::rt::cuda::beginRun,
                                             weir::rt::cuda::releaseRun,
                                             "GPU",
                                             weir::rt::cuda::makeValue,
                                             weir::rt::cuda::readValue,
                                             weir::rt::cuda::dropValue,
                                             weir::rt::cuda::stopRun};
