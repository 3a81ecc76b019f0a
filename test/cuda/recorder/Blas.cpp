//===- Blas.cpp - a cuBLASLt that computes on the host ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libcublasLt.so beside the recording driver: $WEIR_CUBLASLT names
// it. Products are computed in double precision, in their stream, from operands
// rounded as the compute type says; every matrix is a read or a write that the
// driver checks. Descriptions that the real library refuses are refused.
//
// $WEIR_RECORDER_NO_CHOICE: it knows no way for anything.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/cublaslt_api.h"
#include "test/cuda/recorder/Numbers.h"
#include "test/cuda/recorder/Recorder.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

using namespace recorder;

namespace weir::rt::cuda {
struct BlasHandleTag {};
struct BlasMatmulTag {
  int compute, scale;
  int32_t transA = 0, transB = 0;
  uint32_t epilogue = 1;
  uint64_t bias = 0;
};
struct BlasLayoutTag {
  int type;
  uint64_t rows, columns;
  int64_t line;
  int32_t batches = 1;
  int64_t distance = 0;
};
struct BlasPreferenceTag {
  uint64_t workspace = 0;
  uint32_t reductions = 7; ///< all
  uint32_t alignment[4] = {256, 256, 256, 256};
};
} // namespace weir::rt::cuda

namespace {

constexpr int32_t invalid = 7, notSupported = 15, failedToRun = 13;
constexpr uint64_t mark = 0x77656972626c6173; // of our algorithms: the likeliest, and
constexpr uint64_t faster = mark + 1;         // one that does not wait first
constexpr size_t workspaceBytes = 1000;

Form formOf(int type) {
  return type == blas::r64f   ? Form::F64
         : type == blas::r32f ? Form::F32
         : type == blas::r16f ? Form::F16
                              : Form::Bf16;
}
int64_t bytesOf(int type) { return recorder::bytesOf(formOf(type)); }
double load(int type, uint64_t address, int64_t element) {
  return recorder::load(formOf(type), address, element);
}
void store(int type, uint64_t address, int64_t element, double value) {
  recorder::store(formOf(type), address, element, value);
}

/// What the library's tables of types and epilogues allow, as far as we ask.
bool isSupported(const BlasMatmulTag &m, const BlasLayoutTag &a, const BlasLayoutTag &b,
                 const BlasLayoutTag &c, const BlasLayoutTag &d) {
  bool isDouble = a.type == blas::r64f;
  if (a.type != b.type || c.type != d.type || m.compute == 0)
    return false;
  if (isDouble ? d.type != blas::r64f || m.compute != blas::compute64f || m.scale != blas::r64f ||
                     m.epilogue != blas::epilogueNone
               : m.scale != blas::r32f || m.compute == blas::compute64f)
    return false;
  if (!isDouble && d.type != a.type && d.type != blas::r32f)
    return false;
  if (m.compute == blas::computeTf32 && a.type != blas::r32f)
    return false;
  uint64_t rows = m.transA ? a.columns : a.rows, depth = m.transA ? a.rows : a.columns;
  uint64_t columns = m.transB ? b.rows : b.columns, other = m.transB ? b.columns : b.rows;
  for (const BlasLayoutTag *layout : {&a, &b, &c, &d})
    if (layout->line < int64_t(layout->rows) || layout->batches != d.batches)
      return false;
  return rows == d.rows && columns == d.columns && depth == other && c.rows == d.rows &&
         c.columns == d.columns;
}

void touch(const BlasLayoutTag &layout, uint64_t address, bool writes) {
  for (int32_t batch = 0; batch < layout.batches; ++batch)
    for (uint64_t column = 0; column < layout.columns; ++column)
      recorder::recorder().touch(
          address + uint64_t((batch * layout.distance + int64_t(column) * layout.line) *
                             bytesOf(layout.type)),
          layout.rows * uint64_t(bytesOf(layout.type)), writes);
}

struct Call {
  BlasMatmulTag m;
  BlasLayoutTag a, b, c, d;
  double alpha, beta;
  uint64_t A, B, C, D, workspace;
  size_t workspaceBytes;
};

void compute(const Call &call) {
  const BlasMatmulTag &m = call.m;
  touch(call.a, call.A, false);
  touch(call.b, call.B, false);
  if (call.beta != 0)
    touch(call.c, call.C, false);
  if (m.epilogue & blas::epilogueBias)
    recorder::recorder().touch(m.bias, call.d.rows * uint64_t(bytesOf(call.d.type)), false);
  if (call.workspaceBytes)
    recorder::recorder().touch(call.workspace, call.workspaceBytes, true);
  touch(call.d, call.D, true);
  auto depth = int64_t(m.transA ? call.a.rows : call.a.columns);
  auto round = [&](double value) { return m.compute == blas::computeTf32 ? toTf32(value) : value; };
  auto rows = int64_t(call.d.rows);
  // The left operand as numbers, by place of the depth; a column's sums, which each add up along
  // the depth.
  std::vector<double> left(size_t(depth * rows)), sums(static_cast<size_t>(rows));
  for (int32_t batch = 0; batch < call.d.batches; ++batch) {
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t row = 0; row < rows; ++row) {
        int64_t a = m.transA ? row * call.a.line + k : k * call.a.line + row;
        left[size_t(k * rows + row)] =
            round(load(call.a.type, call.A, batch * call.a.distance + a));
      }
    for (int64_t column = 0; column < int64_t(call.d.columns); ++column) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (int64_t k = 0; k < depth; ++k) {
        int64_t b = m.transB ? k * call.b.line + column : column * call.b.line + k;
        double right = round(load(call.b.type, call.B, batch * call.b.distance + b));
        const double *from = left.data() + k * rows;
        for (int64_t row = 0; row < rows; ++row)
          sums[size_t(row)] += from[row] * right;
      }
      for (int64_t row = 0; row < rows; ++row) {
        double value = call.alpha * sums[size_t(row)];
        if (call.beta != 0)
          value += call.beta *
                   load(call.c.type, call.C, batch * call.c.distance + column * call.c.line + row);
        if (m.epilogue & blas::epilogueBias)
          value += load(call.d.type, m.bias, row);
        if (m.epilogue & blas::epilogueRelu)
          value = value > 0 ? value : 0;
        if (m.epilogue & blas::epilogueGelu)
          value = 0.5 * value *
                  (1 + std::tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
        store(call.d.type, call.D, batch * call.d.distance + column * call.d.line + row, value);
      }
    }
  }
}

template <typename T> int32_t set(T &field, const void *value, size_t bytes) {
  if (bytes != sizeof(T))
    return invalid;
  std::memcpy(&field, value, bytes);
  return 0;
}

} // namespace

#define ENTER_LIBRARY(name)                                                                        \
  if (recorder::recorder().failsLibrary(name))                                                     \
    return failedToRun;

extern "C" {

size_t cublasLtGetVersion() {
  const char *text = std::getenv("WEIR_RECORDER_CUBLASLT");
  return text ? size_t(std::atoll(text)) : 130000;
}
int32_t cublasLtCreate(BlasHandle *handle) {
  ENTER_LIBRARY("cublasLtCreate")
  *handle = new BlasHandleTag();
  return 0;
}
int32_t cublasLtDestroy(BlasHandle handle) {
  delete handle;
  return 0;
}
int32_t cublasLtMatmulDescCreate(BlasMatmul *matmul, int compute, int scale) {
  *matmul = new BlasMatmulTag{compute, scale};
  return 0;
}
int32_t cublasLtMatmulDescDestroy(BlasMatmul matmul) {
  delete matmul;
  return 0;
}
int32_t cublasLtMatmulDescSetAttribute(BlasMatmul m, int which, const void *value, size_t bytes) {
  switch (which) {
  case blas::transA:
    return set(m->transA, value, bytes);
  case blas::transB:
    return set(m->transB, value, bytes);
  case blas::epilogue:
    return set(m->epilogue, value, bytes);
  case blas::biasPointer:
    return set(m->bias, value, bytes);
  default:
    return invalid;
  }
}
int32_t cublasLtMatrixLayoutCreate(BlasLayout *layout, int type, uint64_t rows, uint64_t columns,
                                   int64_t line) {
  *layout = new BlasLayoutTag{type, rows, columns, line};
  return 0;
}
int32_t cublasLtMatrixLayoutDestroy(BlasLayout layout) {
  delete layout;
  return 0;
}
int32_t cublasLtMatrixLayoutSetAttribute(BlasLayout layout, int which, const void *value,
                                         size_t bytes) {
  switch (which) {
  case blas::batchCount:
    return set(layout->batches, value, bytes);
  case blas::batchOffset:
    return set(layout->distance, value, bytes);
  default:
    return invalid;
  }
}
int32_t cublasLtMatmulPreferenceCreate(BlasPreference *preference) {
  *preference = new BlasPreferenceTag();
  return 0;
}
int32_t cublasLtMatmulPreferenceDestroy(BlasPreference preference) {
  delete preference;
  return 0;
}
int32_t cublasLtMatmulPreferenceSetAttribute(BlasPreference preference, int which,
                                             const void *value, size_t bytes) {
  if (which == blas::maxWorkspace)
    return set(preference->workspace, value, bytes);
  if (which == blas::reductionSchemes)
    return set(preference->reductions, value, bytes);
  if (which < blas::alignmentA || which > blas::alignmentD)
    return invalid;
  return set(preference->alignment[which - blas::alignmentA], value, bytes);
}
int32_t cublasLtMatmulAlgoGetHeuristic(BlasHandle, BlasMatmul m, BlasLayout a, BlasLayout b,
                                       BlasLayout c, BlasLayout d, BlasPreference preference,
                                       int most, BlasChoice *choices, int *found) {
  ENTER_LIBRARY("cublasLtMatmulAlgoGetHeuristic")
  *found = 0;
  if (std::getenv("WEIR_RECORDER_NO_CHOICE") || !isSupported(*m, *a, *b, *c, *d))
    return notSupported;
  // By default parts of sums may be rounded to the result's type.
  if (preference->workspace < workspaceBytes || most < 2 ||
      preference->reductions != blas::reduceInComputeType)
    return invalid;
  // The likeliest does not work after all.
  choices[0] = {};
  choices[0].state = notSupported;
  choices[1] = {};
  choices[1].algorithm.data[0] = mark;
  choices[1].workspace = workspaceBytes;
  *found = 2;
  if (most > 2) {
    choices[2] = choices[1];
    choices[2].algorithm.data[0] = faster;
    *found = 3;
  }
  return 0;
}
int32_t cublasLtMatmulAlgoCheck(BlasHandle, BlasMatmul m, BlasLayout a, BlasLayout b, BlasLayout c,
                                BlasLayout d, const BlasAlgorithm *algorithm, BlasChoice *choice) {
  ENTER_LIBRARY("cublasLtMatmulAlgoCheck")
  uint64_t way = algorithm->data[0];
  if ((way != mark && way != faster) || !isSupported(*m, *a, *b, *c, *d))
    return notSupported;
  *choice = {};
  choice->workspace = workspaceBytes;
  return 0;
}
int32_t cublasLtMatmul(BlasHandle, BlasMatmul m, const void *alpha, const void *A, BlasLayout a,
                       const void *B, BlasLayout b, const void *beta, const void *C, BlasLayout c,
                       void *D, BlasLayout d, const BlasAlgorithm *algorithm, void *workspace,
                       size_t bytes, Stream stream) {
  ENTER_LIBRARY("cublasLtMatmul")
  uint64_t way = algorithm->data[0];
  if ((way != mark && way != faster) || bytes < workspaceBytes || !isSupported(*m, *a, *b, *c, *d))
    return notSupported;
  if (way == faster && recorder::recorder().failsLibrary("cublasLtMatmul, the faster way"))
    return failedToRun;
  for (const void *pointer : {A, B, C, static_cast<const void *>(D)})
    if (uint64_t(pointer) % 16)
      return invalid;
  Call call = {*m,
               *a,
               *b,
               *c,
               *d,
               0,
               0,
               uint64_t(A),
               uint64_t(B),
               uint64_t(C),
               uint64_t(D),
               uint64_t(workspace),
               workspaceBytes};
  if (m->scale == blas::r64f) {
    std::memcpy(&call.alpha, alpha, 8);
    std::memcpy(&call.beta, beta, 8);
  } else {
    float single[2];
    std::memcpy(single, alpha, 4);
    std::memcpy(single + 1, beta, 4);
    call.alpha = single[0];
    call.beta = single[1];
  }
  Recorder &r = recorder::recorder();
  std::lock_guard<std::mutex> lock(r.mutex);
  bool isSlow = way == mark && std::getenv("WEIR_RECORDER_WAYS_DIFFER");
  r.put(stream, "cublasLtMatmul", [call, isSlow](Operation &) {
    if (isSlow)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    compute(call);
  });
  return 0;
}

} // extern "C"
