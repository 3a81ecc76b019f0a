//===- cuda_control.cpp - loops that a GPU decides itself ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/cuda_control.h"
#include "cuda/cuda_device.h"

namespace weir::rt::cuda {

/// Sets a condition: to 0 where the step has failed or is to stop, else to whether the byte
/// differs from `other`. Text, and a module of its own: drivers before CUDA 12.3 do not know the
/// function that it calls, which is the driver's own.
static const char setText[] = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional
(
  .param .b64 handle,
  .param .b32 value
);
.visible .entry weir_set_condition
(
  .param .u64 error,
  .param .u64 stop,
  .param .u64 condition,
  .param .u64 handle,
  .param .u64 other
)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [error];
  ld.param.u64 %rd5, [stop];
  ld.param.u64 %rd2, [condition];
  ld.param.u64 %rd3, [handle];
  ld.param.u64 %rd4, [other];
  ld.global.u8 %r1, [%rd2];
  cvt.u32.u64 %r2, %rd4;
  xor.b32 %r3, %r1, %r2;
  ld.global.u32 %r4, [%rd1];
  ld.volatile.global.u32 %r6, [%rd5];
  or.b32 %r7, %r4, %r6;
  setp.eq.u32 %p1, %r7, 0;
  selp.b32 %r5, %r3, 0, %p1;
  {
  .param .b64 to;
  .param .b32 what;
  st.param.b64 [to], %rd3;
  st.param.b32 [what], %r5;
  call.uni cudaGraphSetConditional, (to, what);
  }
  ret;
}
)";

bool hasControl(CudaDevice &device) {
  Control &control = device.control;
  Lock lock(control.mutex);
  if (control.tried)
    return control.set;
  control.tried = true;
  const Driver &driver = *device.driver;
  int version = 0;
  if (driver.driverVersion(&version) != 0 || version < conditionalVersion ||
      !driver.conditionCreate || !driver.graphAddNode || !driver.captureToGraph ||
      !driver.captureDependencies)
    return false;
  if (driver.moduleLoad(&control.module, setText) != 0)
    control.module = nullptr;
  else if (driver.moduleFunction(&control.set, control.module, "weir_set_condition") != 0)
    control.set = nullptr;
  return control.set;
}

void closeControl(CudaDevice &device) {
  if (device.control.module)
    device.driver->moduleUnload(device.control.module);
}

static Result launchSet(CudaRun *part, Pointer condition, uint64_t handle, bool isOther) {
  uint64_t other = isOther;
  // Pinned memory has one address.
  void *parameters[] = {&part->errorOnDevice, &part->stop, &condition, &handle, &other};
  return part->device->driver->launch(part->device->control.set, 1, 1, 1, 1, 1, 1, 0, part->work,
                                      parameters, nullptr);
}

/// The graph that the work stream is captured in, and what the next node would follow.
static Result capturedInto(CudaRun *part, Graph *graph, const GraphNode **nodes, size_t *count) {
  int status = 0;
  uint64_t id = 0;
  return part->device->driver->captureInfo(part->work, &status, &id, graph, nodes, count);
}

Result captureCondition(CudaRun *part, Pointer condition, bool isOther, ConditionalNode *node) {
  const CudaDevice &device = *part->device;
  Graph graph = nullptr;
  const GraphNode *before = nullptr;
  size_t count = 0;
  *node = {};
  Result error = capturedInto(part, &graph, &before, &count);
  if (!error)
    error = device.driver->conditionCreate(&node->handle, graph, device.context, 0, 0);
  return error ? error : launchSet(part, condition, node->handle, isOther);
}

Result beginConditional(CudaRun *part, bool isLoop, int32_t depth, ConditionalNode *node) {
  const CudaDevice &device = *part->device;
  const Driver &driver = *device.driver;
  Graph graph = nullptr;
  const GraphNode *before = nullptr;
  size_t count = 0;
  Result error = capturedInto(part, &graph, &before, &count);
  if (error)
    return error;
  NodeParameters parameters = {};
  parameters.type = conditionalNode;
  parameters.conditional = {node->handle, isLoop ? whileNonzero : ifNonzero, 1, nullptr,
                            device.context};
  GraphNode made = nullptr;
  if ((error = driver.graphAddNode(&made, graph, before, count, &parameters)))
    return error;
  node->body = parameters.conditional.bodies[0];
  if ((error = driver.captureDependencies(part->work, &made, 1, dependenciesReplace)))
    return error;
  // A stream that is captured already takes no second graph.
  Stream &inner = part->bodies[depth];
  if (!inner && (error = driver.streamCreate(&inner, streamNonBlocking)))
    return error;
  if ((error = driver.captureToGraph(inner, node->body, nullptr, nullptr, 0, captureRelaxed)))
    return error;
  node->outer = part->work;
  part->work = inner;
  return 0;
}

Result setCondition(CudaRun *part, Pointer condition, const ConditionalNode &node) {
  return launchSet(part, condition, node.handle, /*isOther=*/false);
}

Result endConditional(CudaRun *part, const ConditionalNode &node) {
  Graph body = nullptr;
  Result error = part->device->driver->captureEnd(part->work, &body);
  part->work = node.outer;
  return error;
}

Result readCondition(CudaRun *part, Pointer condition, bool *holds) {
  const Driver &driver = *part->device->driver;
  auto *byte = reinterpret_cast<uint8_t *>(part->error + 1);
  Result error =
      driver.copyOutAsync(part->error, part->errorOnDevice, sizeof(weir_cuda_error), part->work);
  if (!error)
    error = driver.copyOutAsync(byte, condition, 1, part->work);
  if (!error)
    error = driver.streamSynchronize(part->work);
  *holds = !error && !part->error->taken && !__atomic_load_n(part->stop, __ATOMIC_RELAXED) && *byte;
  return error;
}

void stopRun(weir_run *run, int32_t device) {
  if (auto *part = static_cast<CudaRun *>(run->devices[device].onDevice))
    __atomic_store_n(part->stop, 1, __ATOMIC_RELAXED);
}

} // namespace weir::rt::cuda

using namespace weir::rt;
using namespace weir::rt::cuda;

//===----------------------------------------------------------------------===//
// What generated code calls
//===----------------------------------------------------------------------===//

/// False: the run has ended with that.
static bool noteCondition(weir_context *ctx, WorkKind kind, const void *condition) {
  auto *record =
      static_cast<ConditionRecord *>(note(partOf(ctx)->pending, kind, sizeof(ConditionRecord), -1));
  if (!record) {
    abortRun(ctx->run, WEIR_RESOURCE_EXHAUSTED, "no memory for a step's work");
    return false;
  }
  record->condition = Pointer(condition);
  ++partOf(ctx)->pending.conditions;
  return true;
}

/// What was open is noted as a whole; WEIR_CUDA_SYNC waits for that.
static void closeOpen(weir_context *ctx) {
  CudaRun *part = partOf(ctx);
  if (--part->openCount == 0 && part->device->waitsAlways)
    awaitWork(ctx, nullptr);
}

int32_t weir_cuda_loop(weir_context *ctx, int32_t loop, const void *condition) {
  CudaRun *part = partOf(ctx);
  bool isOpen = part->openCount > 0 && part->open[part->openCount - 1] == loop;
  if (checkStop(ctx->run) || part->openCount == CudaRun::mostOpen ||
      !noteCondition(ctx, isOpen ? WorkKind::LoopEnd : WorkKind::Loop, condition))
    return 0;
  if (isOpen)
    closeOpen(ctx);
  else
    part->open[part->openCount++] = loop;
  return !isOpen;
}

int32_t weir_cuda_branch(weir_context *ctx, int32_t way, const void *condition) {
  CudaRun *part = partOf(ctx);
  constexpr int32_t noLoop = -1;
  WorkKind kind = way == WEIR_CUDA_THEN   ? WorkKind::Then
                  : way == WEIR_CUDA_ELSE ? WorkKind::Else
                                          : WorkKind::BranchEnd;
  if (checkStop(ctx->run) || part->openCount == CudaRun::mostOpen ||
      !noteCondition(ctx, kind, condition))
    return 0;
  if (kind == WorkKind::Then)
    part->open[part->openCount++] = noLoop;
  if (kind == WorkKind::BranchEnd)
    closeOpen(ctx);
  return 1;
}
