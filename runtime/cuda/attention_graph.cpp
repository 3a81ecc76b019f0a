//===- attention_graph.cpp - attention as cuDNN sees it -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The library has kernels for a graph of two products around a softmax, operation by
// operation: scale, mask, what lies behind the diagonal, in this order, and then the
// softmax's. It knows the graph by the softmax's statistics, too, the logarithm of each
// row's sum beside its maximum, though nothing reads them here.
//
//===----------------------------------------------------------------------===//

#include "cuda/attention_graph.h"

namespace weir::rt::cuda {

namespace {

class AttentionBuilder {
public:
  AttentionBuilder(Descriptors &d, const weir_cuda_attention &desc, const DnnPlace &place)
      : d(d), desc(desc), place(place) {}

  DnnDescriptor build() {
    int64_t size = desc.head_size, columns = desc.columns;
    Layout queries = operandLayout(desc.heads, desc.query_count, size, desc.query_distances),
           keys = operandLayout(desc.key_heads, desc.key_count, size, desc.key_distances),
           values = operandLayout(desc.key_heads, desc.key_count, columns, desc.value_distances),
           result = operandLayout(desc.heads, desc.query_count, columns, desc.result_distances);
    // The library multiplies by keys as columns.
    keys.sizes[2] = size;
    keys.sizes[3] = desc.key_count;
    keys.strides[3] = keys.strides[2];
    keys.strides[2] = 1;
    int32_t type = dnnTypeOf(desc.dtype);
    DnnDescriptor scores = between(dnn::f32, desc.key_count);
    addProduct(makeTensor(d, queries, type, queriesId), makeTensor(d, keys, type, keysId), scores);
    DnnDescriptor weights = addSoftmax(addLogits(scores), type);
    addProduct(weights, makeTensor(d, values, type, valuesId),
               makeTensor(d, result, dnnTypeOf(desc.result_dtype), resultId));
    return makeGraph(d, operations, count, place.handle);
  }

private:
  Layout operandLayout(int64_t heads, int64_t rows, int64_t columns,
                       const int64_t *distances) const {
    return {4, {desc.batch, heads, rows, columns}, {distances[0], distances[1], distances[2], 1}};
  }

  /// A tensor between operations: a number, or one for each key, for each query.
  DnnDescriptor between(int32_t type, int64_t columns) {
    int64_t row = desc.query_count * columns;
    Layout layout = {4,
                     {desc.batch, desc.heads, desc.query_count, columns},
                     {desc.heads * row, row, columns, 1}};
    return makeTensor(d, layout, type, nextId++);
  }
  DnnDescriptor logits() { return between(dnn::f32, desc.key_count); }
  DnnDescriptor statistics() { return between(dnn::f32, 1); }

  void addProduct(DnnDescriptor left, DnnDescriptor right, DnnDescriptor target) {
    DnnDescriptor matmul = d.make(dnn::matmul);
    d.setNumber(matmul, dnn::matmulType, dnn::typeData, dnn::f32);
    d.finish(matmul);
    DnnDescriptor operation = d.make(dnn::operationMatmul);
    d.setDescriptor(operation, dnn::matmulLeft, left);
    d.setDescriptor(operation, dnn::matmulRight, right);
    d.setDescriptor(operation, dnn::matmulResult, target);
    d.setDescriptor(operation, dnn::matmulOf, matmul);
    d.finish(operation);
    operations[count++] = operation;
  }

  DnnDescriptor addReduction(int32_t kind, DnnDescriptor from) {
    DnnDescriptor reduction = d.make(dnn::reduction), target = statistics();
    d.setNumber(reduction, dnn::reductionOperator, dnn::typeReduction, kind);
    d.setNumber(reduction, dnn::reductionType, dnn::typeData, dnn::f32);
    d.finish(reduction);
    DnnDescriptor operation = d.make(dnn::operationReduction);
    d.setDescriptor(operation, dnn::reductionInput, from);
    d.setDescriptor(operation, dnn::reductionResult, target);
    d.setDescriptor(operation, dnn::reductionOf, reduction);
    d.finish(operation);
    operations[count++] = operation;
    return target;
  }

  DnnDescriptor add(const Pointwise &what, DnnDescriptor target, DnnDescriptor from,
                    DnnDescriptor other = nullptr, DnnDescriptor condition = nullptr) {
    operations[count++] = makePointwise(d, what, from, other, condition, target);
    return target;
  }

  /// What the softmax sees of the scores.
  DnnDescriptor addLogits(DnnDescriptor last) {
    last = add({dnn::pointwiseMul}, logits(), last, makeNumber(d, 4, scaleId));
    if (desc.mask >= 0) {
      const int64_t *sizes = desc.mask_sizes;
      int64_t plane = sizes[2] * sizes[3];
      Layout mask = {
          4, {sizes[0], sizes[1], sizes[2], sizes[3]}, {sizes[1] * plane, plane, sizes[3], 1}};
      last = add({dnn::pointwiseAdd}, logits(), last,
                 makeTensor(d, mask, dnnTypeOf(desc.mask_dtype), addendId));
    }
    if (!desc.causal)
      return last;
    auto numbers = [&](int64_t axis) {
      return add({dnn::pointwiseIndex, dnn::f32, axis}, between(dnn::i32, desc.key_count), last);
    };
    DnnDescriptor query = numbers(2), key = numbers(3);
    DnnDescriptor isSeen = add({dnn::pointwiseGreaterEqual, dnn::boolean},
                               between(dnn::boolean, desc.key_count), query, key);
    return add({dnn::pointwiseSelect}, logits(), last, makeNumber(d, 4, lowestId), isSeen);
  }

  DnnDescriptor addSoftmax(DnnDescriptor last, int32_t type) {
    DnnDescriptor most = addReduction(dnn::reduceMax, last);
    DnnDescriptor shifted = add({dnn::pointwiseSub}, logits(), last, most);
    DnnDescriptor powers = add({dnn::pointwiseExp}, logits(), shifted);
    DnnDescriptor sum = addReduction(dnn::reduceAdd, powers);
    DnnDescriptor logarithm = add({dnn::pointwiseLog}, statistics(), sum);
    add({dnn::pointwiseAdd}, statistics(), most, logarithm);
    return add({dnn::pointwiseDiv}, between(type, desc.key_count), powers, sum);
  }

  Descriptors &d;
  const weir_cuda_attention &desc;
  const DnnPlace &place;
  int64_t nextId = virtualId;
  DnnDescriptor operations[16];
  int64_t count = 0;
};

} // namespace

PlanText choosePlan(const Dnn &dnn, const DnnPlace &place, const weir_cuda_attention &desc) {
  Descriptors d(dnn);
  return chooseWay(d, place, AttentionBuilder(d, desc, place).build(), {true, false});
}

} // namespace weir::rt::cuda
