//===- dnn_graph.h - graphs of operations for cuDNN ------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// An operation and what follows it is a graph of operations to the library, whose
// heuristics know ways to compute it. A way that was chosen is a plan, a text in
// the library's own format (JSON); it is made for a GPU that is there, or for one
// whose properties are known, and loads only where version, driver and GPU are the
// same.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CUDA_DNN_GRAPH_H
#define WEIR_RUNTIME_CUDA_DNN_GRAPH_H

#include "cuda/cudnn_api.h"
#include "weir/cuda.h"

namespace weir::rt::cuda {

/// Plans use no more memory of their own than this, bytes.
inline constexpr int64_t planWorkspace = int64_t(64) << 20;

/// Numbers of tensors in plans, from virtualId on of those between operations.
enum TensorId : int64_t {
  inputId = 1,
  filterId,
  resultId,
  addendId,
  biasId,
  queriesId = inputId,
  keysId = filterId,
  valuesId = biasId,
  scaleId = biasId + 1,
  lowestId,
  virtualId
};

class DnnTrial;

/// Where a plan is to run: a GPU, or what a GPU was said to be.
struct DnnPlace {
  DnnHandle handle;
  DnnDescriptor device;      ///< where `handle` is null
  DnnTrial *trial = nullptr; ///< there: the fastest way is wanted, of those it times
};

/// The time of a plan on the trial's memory, in milliseconds; negative: it does not run.
float timePlan(DnnTrial &trial, DnnDescriptor plan);
/// How many ways are timed at most.
int32_t mostTimed(const DnnTrial &trial);

/// A text that free() frees.
struct PlanText {
  char *data;
  int64_t bytes;
};

/// Descriptors that live together. What fails leaves all that follows undone.
class Descriptors {
public:
  explicit Descriptors(const Dnn &dnn) : dnn(dnn) {}
  ~Descriptors() {
    while (count > 0)
      dnn.forget(all[--count]);
  }
  Descriptors(const Descriptors &) = delete;
  Descriptors &operator=(const Descriptors &) = delete;

  DnnDescriptor make(int kind) {
    DnnDescriptor made = nullptr;
    ok = ok && count < most && dnn.describe(kind, &made) == 0;
    if (ok)
      all[count++] = made;
    return made;
  }
  void set(DnnDescriptor target, int name, int type, const void *values, int64_t number = 1) {
    ok = ok && dnn.set(target, name, type, number, values) == 0;
  }
  void setNumber(DnnDescriptor target, int name, int type, int32_t value) {
    set(target, name, type, &value);
  }
  void setDescriptor(DnnDescriptor target, int name, DnnDescriptor value) {
    set(target, name, dnn::typeDescriptor, &value);
  }
  void finish(DnnDescriptor target) { ok = ok && dnn.finalize(target) == 0; }

  const Dnn &dnn;
  bool ok = true;

private:
  static constexpr int most = 64;
  DnnDescriptor all[most];
  int count = 0;
};

/// The sizes of a tensor in the library's order (N C S…), and its distances.
struct Layout {
  static constexpr int most = 5;
  int rank;
  int64_t sizes[most], strides[most];
};

/// A dense tensor of images, first by second by as many sizes as it has `spatial`
/// dimensions; channels, the second, lie last or where they stand. The library wants
/// two spatial dimensions at least: one of size 1 is made up before a single one.
Layout imageLayout(int32_t spatial, bool channelsLast, int64_t first, int64_t second,
                   const int64_t *sizes);

/// What the library has of `values`, one a spatial dimension, with `neutral` for one
/// that is made up. Returns how many.
int64_t liftSpatial(int32_t spatial, const int64_t *values, int64_t neutral, int64_t (&lifted)[3]);

/// cudnnDataType_t of f32, f16 and bf16.
int32_t dnnTypeOf(int32_t dtype);

DnnDescriptor makeTensor(Descriptors &d, const Layout &layout, int32_t type, int64_t id);
/// A number in f32 beside tensors of `rank` dimensions, which the host gives.
DnnDescriptor makeNumber(Descriptors &d, int rank, int64_t id);

/// An operation on elements.
struct Pointwise {
  int32_t mode;
  int32_t precision = dnn::f32;
  int64_t axis = -1; ///< of pointwiseIndex
};
/// `other` and `condition` may be null.
DnnDescriptor makePointwise(Descriptors &d, const Pointwise &what, DnnDescriptor from,
                            DnnDescriptor other, DnnDescriptor condition, DnnDescriptor target);
DnnDescriptor makeGraph(Descriptors &d, const DnnDescriptor *operations, int64_t count,
                        DnnHandle handle);

/// What is asked of ways.
struct WayRules {
  bool mayUseCores;    ///< tensor cores, which round operands in f32
  bool mayBeOtherwise; ///< also what is no heuristics' choice, where there is none
};

/// Asks the library: the first of the ways it proposes for `graph`, of `d`, that keeps
/// the rules, multiplies operands as they are, adds in f32, in any order of runs the
/// same, within the workspace; with a trial the fastest of them. Null data: it knows
/// none, or the host has no memory.
PlanText chooseWay(Descriptors &d, const DnnPlace &place, DnnDescriptor graph,
                   const WayRules &rules);

/// Makes a plan ready. Null: it is not for this place and this version of the
/// library. `forget` frees it. `workspace`: bytes.
DnnDescriptor loadPlan(const Dnn &dnn, const DnnPlace &place, const char *text, int64_t bytes,
                       int64_t *workspace);

} // namespace weir::rt::cuda

#endif // WEIR_RUNTIME_CUDA_DNN_GRAPH_H
