//===- trials.cpp - times what libraries propose ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/trials.h"
#include "cuda/cuda_device.h"

#include <stdlib.h>

namespace weir::rt::cuda {

int32_t wantedTrials() {
  const char *text = getenv("WEIR_CUDA_TUNE");
  int32_t number = text ? atoi(text) : 0;
  return number < 0 ? 0 : number > mostTrials ? mostTrials : number;
}

Trials::Trials(const CudaDevice &device) : device(device) {
  const Driver &driver = *device.driver;
  usable = driver.streamCreate(&stream, streamNonBlocking) == 0 &&
           driver.eventCreate(&begin, 0) == 0 && driver.eventCreate(&end, 0) == 0;
  int cache = 0;
  if (driver.deviceAttribute(&cache, secondLevelCache, device.device) == 0 && cache > 0)
    flushedBytes = size_t(cache);
  // Without it times are those of warm operands.
  if (flushedBytes && driver.memAlloc(&flushed, flushedBytes) != 0)
    flushed = 0;
}

Trials::~Trials() {
  const Driver &driver = *device.driver;
  if (stream)
    driver.streamSynchronize(stream);
  for (int32_t i = 0; i < count; ++i)
    driver.memFree(pieces[i]);
  if (flushed)
    driver.memFree(flushed);
  for (Event event : {begin, end})
    if (event)
      driver.eventDestroy(event);
  if (stream)
    driver.streamDestroy(stream);
}

Pointer Trials::take(int64_t bytes) {
  constexpr unsigned char smallNumber = 0x3c; // 0.0115 in f32 and bf16, 1.06 in f16
  const Driver &driver = *device.driver;
  if (bytes <= 0 || !usable)
    return 0;
  Pointer data = 0;
  usable = count < mostPieces && driver.memAlloc(&data, size_t(bytes)) == 0;
  if (!usable)
    return 0;
  pieces[count++] = data;
  usable = driver.set8Async(data, smallNumber, size_t(bytes), stream) == 0;
  return data;
}

float Trials::timeOnce(int32_t (*put)(void *data, Stream stream), void *data) {
  const Driver &driver = *device.driver;
  // While the GPU does this the host puts all that is timed.
  if (flushed && driver.set8Async(flushed, 0, flushedBytes, stream) != 0)
    return -1;
  float time = -1;
  bool done = driver.eventRecord(begin, stream) == 0 && put(data, stream) == 0;
  done = driver.eventRecord(end, stream) == 0 && done;
  done = driver.streamSynchronize(stream) == 0 && done;
  return done && driver.eventElapsed(&time, begin, end) == 0 ? time : -1;
}

float Trials::time(int32_t (*put)(void *data, Stream stream), void *data) {
  constexpr int32_t rounds = 7;
  float times[rounds];
  // The first brings code to the GPU.
  if (!usable || timeOnce(put, data) < 0)
    return -1;
  for (int32_t i = 0; i < rounds; ++i) {
    float time = timeOnce(put, data);
    if (time < 0)
      return -1;
    int32_t at = i;
    for (; at > 0 && times[at - 1] > time; --at)
      times[at] = times[at - 1];
    times[at] = time;
  }
  return times[rounds / 2];
}

} // namespace weir::rt::cuda
