//===- ctc.cpp - connectionist temporal classification --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graves, "Supervised sequence labelling with recurrent neural networks", 2012,
// chapter 7: loss and gradient by forward and backward variables, decoding by
// the best class of each step, or by a search over prefixes. In logarithms.
//
//===----------------------------------------------------------------------===//

#include "kernels/kernel_support.h"

#include <math.h>

using namespace weir::rt;

namespace {

constexpr double kNever = -INFINITY;

/// The rest in f32, as TensorFlow has it for inputs of f64, too.
template <typename T> T logSum(T a, T b) {
  if (double(a) == kNever)
    return b;
  if (double(b) == kNever)
    return a;
  T larger = a > b ? a : b, smaller = a > b ? b : a;
  return larger + T(log1pf(expf(float(smaller - larger))));
}

/// inputs[t, b, class], f32 or f64.
struct Inputs {
  const weir_tensor &tensor;
  int64_t steps, batch, classes;

  double at(int64_t t, int64_t b, int64_t c) const {
    int64_t i = (t * batch + b) * classes + c;
    return tensor.dtype == WEIR_F32 ? double(static_cast<const float *>(tensor.data)[i])
                                    : static_cast<const double *>(tensor.data)[i];
  }
  /// log(sum(exp(…))) of the classes at one step.
  double norm(int64_t t, int64_t b) const {
    double most = kNever, sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      most = at(t, b, c) > most ? at(t, b, c) : most;
    for (int64_t c = 0; c < classes; ++c)
      sum += exp(at(t, b, c) - most);
    return most + log(sum);
  }
};

void storeFloat(weir_tensor &tensor, int64_t i, double value) {
  if (tensor.dtype == WEIR_F32)
    static_cast<float *>(tensor.data)[i] = float(value);
  else
    static_cast<double *>(tensor.data)[i] = value;
}

/// Checks inputs [steps, batch, classes], lengths [batch] (i32); 0 or a code. Of lengths that do
/// not fit it is `lengthCode`.
int32_t readInputs(weir_context *ctx, const weir_tensor &inputs, const weir_tensor &lengths,
                   const weir_tensor &result, weir_code lengthCode) {
  if ((inputs.dtype != WEIR_F32 && inputs.dtype != WEIR_F64) || result.dtype != inputs.dtype)
    return failDtype(ctx, "sequences", inputs.dtype);
  if (inputs.rank != 3 || lengths.rank != 1 || lengths.dtype != WEIR_I32 || inputs.dims[0] < 1 ||
      inputs.dims[1] < 1 || inputs.dims[2] < 1)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "inputs must be [time, batch, classes], none of them 0, and lengths a "
                       "vector");
  if (lengths.dims[0] != inputs.dims[1])
    return failMessage(ctx, lengthCode, "there must be a length for each of the batch");
  for (int64_t b = 0; b < lengths.dims[0]; ++b)
    if (static_cast<const int32_t *>(lengths.data)[b] > inputs.dims[0])
      return failMessage(ctx, lengthCode, "a sequence is longer than the inputs");
  return WEIR_OK;
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

/// One sequence: labels with blanks between and around, `size` in all.
struct Path {
  const int32_t *labels;
  int64_t size, steps;
  int32_t blank;
  bool mergeRepeated;

  /// Whether one may come to u from u - 2.
  bool skipsTo(int64_t u) const {
    return u > 1 && labels[u] != blank && !(mergeRepeated && labels[u] == labels[u - 2]);
  }
  bool stays(int64_t u) const { return mergeRepeated || labels[u] == blank; }
};

/// Rows of `alpha` and `beta` are steps, [steps, size]; logs are those of the
/// classes' probabilities, [steps, classes]. Gives log p(labels).
template <typename T>
T forwardBackward(const Path &path, const T *logs, int64_t classes, T *alpha, T *beta) {
  constexpr T never = T(kNever);
  int64_t size = path.size, last = path.steps - 1;
  auto log = [&](int64_t t, int64_t u) { return logs[t * classes + path.labels[u]]; };
  for (int64_t t = 0; t <= last; ++t)
    for (int64_t u = 0; u < size; ++u) {
      T sum = never;
      if (t == 0) {
        if (u < 2)
          sum = 0;
      } else {
        const T *before = alpha + (t - 1) * size;
        if (path.stays(u))
          sum = before[u];
        if (u > 0)
          sum = logSum(sum, before[u - 1]);
        if (path.skipsTo(u))
          sum = logSum(sum, before[u - 2]);
      }
      alpha[t * size + u] = sum + log(t, u);
    }
  for (int64_t t = last; t >= 0; --t)
    for (int64_t u = 0; u < size; ++u) {
      T sum = never;
      if (t == last) {
        if (u + 2 >= size)
          sum = 0;
      } else {
        const T *after = beta + (t + 1) * size;
        if (path.stays(u))
          sum = after[u] + log(t + 1, u);
        if (u + 1 < size)
          sum = logSum(sum, after[u + 1] + log(t + 1, u + 1));
        if (u + 2 < size && path.skipsTo(u + 2))
          sum = logSum(sum, after[u + 2] + log(t + 1, u + 2));
      }
      beta[t * size + u] = sum;
    }
  T total = never;
  for (int64_t u = 0; u < size; ++u)
    total = logSum(total, alpha[u] + beta[u]);
  return total;
}

enum { kCollapse = 0, kMerge = 1, kIgnoreLonger = 2, kBlank = 3 };

/// In the inputs' own precision, which the results' rounding shows.
template <typename T>
int32_t computeLoss(weir_context *ctx, const Inputs &inputs, const weir_tensor *operands,
                    weir_tensor *results, const int64_t *attributes) {
  int64_t count = elementCountOf(operands[2]), classes = inputs.classes;
  int64_t most = 2 * count + 1;
  int32_t blank = int32_t(attributes[kBlank] < 0 ? classes - 1 : attributes[kBlank]);
  Scratch<int32_t> labels(ctx, most);
  Scratch<T> chances(ctx, inputs.steps * classes), logs(ctx, inputs.steps * classes),
      alpha(ctx, inputs.steps * most), beta(ctx, inputs.steps * most), sums(ctx, classes);
  if (!labels.data || !chances.data || !logs.data || !alpha.data || !beta.data || !sums.data)
    return WEIR_RESOURCE_EXHAUSTED;
  auto *rows = static_cast<const int64_t *>(operands[1].data);
  auto *given = static_cast<const int32_t *>(operands[2].data);
  auto *lengths = static_cast<const int32_t *>(operands[3].data);
  int64_t next = 0;
  for (int64_t b = 0; b < inputs.batch; ++b) {
    int64_t own = 0, size = 0;
    bool ended = false;
    labels[size++] = blank;
    for (; next < count && rows[2 * next] == b; ++next, ++own) {
      int32_t label = given[next];
      if (attributes[kCollapse] && own > 0 && label == given[next - 1])
        continue;
      // Of the first version, blanks may fill up at the end.
      if (attributes[kBlank] < 0 && label >= classes - 1) {
        ended = true;
        continue;
      }
      if (ended || label < 0 || label >= classes)
        return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                           "a label is negative, too large, or follows blanks");
      labels[size++] = label;
      labels[size++] = blank;
    }
    if (own == 0)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT, "labels of a sequence have length zero");
    if (own > lengths[b] && !attributes[kIgnoreLonger])
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "not enough time for the labels of a sequence");
    if (own > lengths[b] || lengths[b] == 0)
      continue;
    Path path = {labels.data, size, lengths[b], blank, attributes[kMerge] != 0};
    for (int64_t t = 0; t < path.steps; ++t) {
      T *y = chances.data + t * classes;
      T best = T(inputs.at(t, b, 0)), sum = 0;
      for (int64_t c = 1; c < classes; ++c)
        best = T(inputs.at(t, b, c)) > best ? T(inputs.at(t, b, c)) : best;
      for (int64_t c = 0; c < classes; ++c)
        sum += y[c] = T(exp(double(T(inputs.at(t, b, c)) - best)));
      for (int64_t c = 0; c < classes; ++c) {
        y[c] /= sum;
        logs[t * classes + c] = T(log(double(y[c])));
      }
    }
    T total = forwardBackward<T>(path, logs.data, classes, alpha.data, beta.data);
    storeFloat(results[0], b, double(-total));
    for (int64_t t = 0; t < path.steps; ++t) {
      for (int64_t c = 0; c < classes; ++c)
        sums[c] = T(kNever);
      for (int64_t u = 0; u < size; ++u)
        sums[labels[u]] = logSum<T>(sums[labels[u]], alpha[t * size + u] + beta[t * size + u]);
      for (int64_t c = 0; c < classes; ++c) {
        T expected = double(total) == kNever ? 0 : T(expf(float(sums[c] - total)));
        storeFloat(results[1], (t * inputs.batch + b) * classes + c,
                   double(chances[t * classes + c] - expected));
      }
    }
  }
  if (next < count)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                       "labels are not sorted by sequence, or of one that does "
                       "not exist");
  return WEIR_OK;
}

} // namespace

int32_t weir_kernel_ctc_loss(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                             weir_tensor *results, int32_t result_count,
                             const int64_t *attributes) {
  if (operand_count != 4 || result_count != 2)
    return failMessage(ctx, WEIR_INTERNAL, "ctc loss has two results");
  const weir_tensor &places = operands[1], &values = operands[2];
  if (int32_t code = readInputs(ctx, operands[0], operands[3], results[0], WEIR_INVALID_ARGUMENT))
    return code;
  Inputs inputs = {operands[0], operands[0].dims[0], operands[0].dims[1], operands[0].dims[2]};
  if (places.dtype != WEIR_I64 || places.rank != 2 || places.dims[1] != 2 ||
      places.dims[0] != elementCountOf(values) || values.dtype != WEIR_I32)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "labels must be a sparse matrix of i32");
  if (!shapeResult(ctx, results[0], 1, &inputs.batch) ||
      !shapeResult(ctx, results[1], 3, operands[0].dims))
    return WEIR_RESOURCE_EXHAUSTED;
  memset(results[0].data, 0, size_t(results[0].bytes));
  memset(results[1].data, 0, size_t(results[1].bytes));
  auto *compute = operands[0].dtype == WEIR_F32 ? computeLoss<float> : computeLoss<double>;
  return compute(ctx, inputs, operands, results, attributes);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

namespace {

/// Decoded labels of all sequences: where each ends.
struct Decoded {
  int32_t *labels;
  int64_t *ends;
};

/// Writes them as a sparse matrix; 0 or a code.
int32_t storeDecoded(weir_context *ctx, const Decoded &d, int64_t batch, weir_tensor &indices,
                     weir_tensor &values, weir_tensor &shape) {
  int64_t total = batch ? d.ends[batch - 1] : 0, longest = 0;
  int64_t rows[2] = {total, 2}, two = 2;
  if (!shapeResult(ctx, indices, 2, rows) || !shapeResult(ctx, values, 1, &total) ||
      !shapeResult(ctx, shape, 1, &two))
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t b = 0, i = 0; b < batch; ++b) {
    int64_t begin = i;
    for (; i < d.ends[b]; ++i) {
      static_cast<int64_t *>(indices.data)[2 * i] = b;
      static_cast<int64_t *>(indices.data)[2 * i + 1] = i - begin;
      static_cast<int64_t *>(values.data)[i] = d.labels[i];
    }
    longest = i - begin > longest ? i - begin : longest;
  }
  static_cast<int64_t *>(shape.data)[0] = batch;
  static_cast<int64_t *>(shape.data)[1] = longest;
  return WEIR_OK;
}

/// Logarithms of a prefix's probability: in all, ending in a blank, and in its
/// last label.
struct Chance {
  double total = kNever, blank = kNever, label = kNever;
};

/// A node of the tree of prefixes.
struct Prefix {
  int64_t parent, child, sibling; ///< -1: none
  int32_t label;
  Chance before, now;
};

class Beam {
public:
  Beam(weir_context *ctx, int64_t width)
      : ctx(ctx), width(width), leaves(ctx, width + 1), held(ctx, width + 1) {}
  ~Beam() { weir_rt_free(ctx, tree); }
  Beam(const Beam &) = delete;
  Beam &operator=(const Beam &) = delete;

  bool start() {
    nodes = leafCount = 0;
    int64_t root = add(-1, -1);
    if (root < 0 || !leaves.data || !held.data)
      return false;
    tree[root].now = {0, 0, kNever};
    push(root);
    return true;
  }
  bool step(const Inputs &inputs, int64_t t, int64_t b, int32_t blank);
  int64_t leaf(int64_t i) const { return leaves.data[i]; }
  int64_t size() const { return leafCount; }
  const Prefix &node(int64_t i) const { return tree[i]; }

private:
  /// A new node, or -1 for want of memory.
  int64_t add(int64_t parent, int32_t label);
  int64_t find(int64_t parent, int32_t label) const {
    int64_t c = tree[parent].child;
    while (c >= 0 && tree[c].label != label)
      c = tree[c].sibling;
    return c;
  }
  bool fits(double total) const {
    return total > kNever &&
           (leafCount < width || total > tree[leaves.data[leafCount - 1]].now.total);
  }
  /// Keeps leaves by falling chance; of `width` the last one goes.
  void push(int64_t node) {
    double total = tree[node].now.total;
    int64_t at = leafCount < width ? leafCount++ : leafCount - 1;
    for (; at > 0 && tree[leaves[at - 1]].now.total < total; --at)
      leaves[at] = leaves[at - 1];
    leaves[at] = node;
  }

  weir_context *ctx;
  int64_t width, nodes = 0, capacity = 0, leafCount = 0;
  Prefix *tree = nullptr;
  Scratch<int64_t> leaves, held;
};

int64_t Beam::add(int64_t parent, int32_t label) {
  if (nodes == capacity) {
    int64_t more = capacity ? 2 * capacity : 64;
    auto *larger = static_cast<Prefix *>(weir_custom_alloc(ctx, more * int64_t(sizeof(Prefix))));
    if (!larger)
      return -1;
    if (nodes)
      memcpy(static_cast<void *>(larger), tree, size_t(nodes) * sizeof(Prefix));
    weir_rt_free(ctx, tree);
    tree = larger;
    capacity = more;
  }
  int64_t sibling = parent < 0 ? -1 : tree[parent].child;
  tree[nodes] = {parent, -1, sibling, label, {}, {}};
  if (parent >= 0)
    tree[parent].child = nodes;
  return nodes++;
}

bool Beam::step(const Inputs &inputs, int64_t t, int64_t b, int32_t blank) {
  double norm = inputs.norm(t, b);
  int64_t count = leafCount;
  for (int64_t i = 0; i < count; ++i) {
    held[i] = leaves[i];
    tree[held[i]].before = tree[held[i]].now;
  }
  leafCount = 0;
  // Prefixes that stay what they are: by a blank, or their last label again.
  for (int64_t i = 0; i < count; ++i) {
    Prefix &p = tree[held[i]];
    if (p.parent >= 0) {
      const Prefix &up = tree[p.parent];
      if (up.now.total != kNever)
        p.now.label = logSum(p.now.label, p.label == up.label ? up.before.blank : up.before.total);
      p.now.label += inputs.at(t, b, p.label) - norm;
    }
    p.now.blank = p.before.total + inputs.at(t, b, blank) - norm;
    p.now.total = logSum(p.now.blank, p.now.label);
    push(held[i]);
  }
  // Longer ones, as far as they find room.
  for (int64_t i = 0; i < count; ++i) {
    int64_t from = held[i];
    if (!fits(tree[from].before.total))
      continue;
    for (int32_t label = 0; label < inputs.classes - 1; ++label) {
      int64_t child = find(from, label);
      if (child >= 0 && tree[child].now.total != kNever)
        continue;
      const Prefix &p = tree[from];
      double chance =
          inputs.at(t, b, label) - norm + (label == p.label ? p.before.blank : p.before.total);
      if (!fits(chance)) {
        if (child >= 0)
          tree[child].before = tree[child].now = {};
        continue;
      }
      if (child < 0 && (child = add(from, label)) < 0)
        return false;
      tree[child].now = {chance, kNever, chance};
      if (leafCount == width)
        tree[leaves[leafCount - 1]].now = {};
      push(child);
    }
  }
  return true;
}

} // namespace

int32_t weir_kernel_ctc_greedy(weir_context *ctx, const weir_tensor *operands,
                               int32_t operand_count, weir_tensor *results, int32_t result_count,
                               const int64_t *attributes) {
  if (operand_count != 2 || result_count != 4)
    return failMessage(ctx, WEIR_INTERNAL, "ctc decoding has four results");
  if (int32_t code =
          readInputs(ctx, operands[0], operands[1], results[3], WEIR_FAILED_PRECONDITION))
    return code;
  Inputs inputs = {operands[0], operands[0].dims[0], operands[0].dims[1], operands[0].dims[2]};
  int64_t blank = attributes[1] < 0 ? attributes[1] + inputs.classes : attributes[1];
  if (blank < 0 || blank >= inputs.classes)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "blank_index is outside of the classes");
  int64_t scores[2] = {inputs.batch, 1};
  if (!shapeResult(ctx, results[3], 2, scores))
    return WEIR_RESOURCE_EXHAUSTED;
  Scratch<int32_t> labels(ctx, inputs.steps * inputs.batch);
  Scratch<int64_t> ends(ctx, inputs.batch);
  if (!labels.data || !ends.data)
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t count = 0;
  for (int64_t b = 0; b < inputs.batch; ++b) {
    int64_t previous = -1;
    double score = 0;
    int32_t steps = static_cast<const int32_t *>(operands[1].data)[b];
    for (int64_t t = 0; t < steps; ++t) {
      int64_t best = 0;
      for (int64_t c = 1; c < inputs.classes; ++c)
        if (inputs.at(t, b, c) > inputs.at(t, b, best))
          best = c;
      score -= inputs.at(t, b, best);
      if (best != blank && !(attributes[0] && best == previous))
        labels[count++] = int32_t(best);
      previous = best;
    }
    storeFloat(results[3], b, score);
    ends[b] = count;
  }
  return storeDecoded(ctx, {labels.data, ends.data}, inputs.batch, results[0], results[1],
                      results[2]);
}

int32_t weir_kernel_ctc_beam_search(weir_context *ctx, const weir_tensor *operands,
                                    int32_t operand_count, weir_tensor *results,
                                    int32_t result_count, const int64_t *attributes) {
  int64_t width = attributes[1], paths = attributes[2];
  if (operand_count != 2 || paths < 1 || result_count != 3 * paths + 1)
    return failMessage(ctx, WEIR_INTERNAL,
                       "a beam search has three results for each path, and "
                       "their logarithms");
  weir_tensor &scores = results[3 * paths];
  if (int32_t code = readInputs(ctx, operands[0], operands[1], scores, WEIR_FAILED_PRECONDITION))
    return code;
  if (width < paths)
    return failMessage(ctx, WEIR_INVALID_ARGUMENT, "requested more paths than the beam width");
  Inputs inputs = {operands[0], operands[0].dims[0], operands[0].dims[1], operands[0].dims[2]};
  int64_t dims[2] = {inputs.batch, paths};
  if (!shapeResult(ctx, scores, 2, dims))
    return WEIR_RESOURCE_EXHAUSTED;
  int64_t room = inputs.steps * inputs.batch;
  Scratch<int32_t> labels(ctx, room * paths);
  Scratch<int64_t> ends(ctx, inputs.batch * paths), counts(ctx, paths);
  if (!labels.data || !ends.data || !counts.data)
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t p = 0; p < paths; ++p)
    counts[p] = 0;
  Beam beam(ctx, width);
  for (int64_t b = 0; b < inputs.batch; ++b) {
    if (!beam.start())
      return WEIR_RESOURCE_EXHAUSTED;
    int32_t steps = static_cast<const int32_t *>(operands[1].data)[b];
    for (int64_t t = 0; t < steps; ++t)
      if (!beam.step(inputs, t, b, int32_t(inputs.classes - 1)))
        return WEIR_RESOURCE_EXHAUSTED;
    if (beam.size() < paths)
      return failMessage(ctx, WEIR_INVALID_ARGUMENT,
                         "fewer prefixes in the beam than paths requested");
    for (int64_t p = 0; p < paths; ++p) {
      int32_t *own = labels.data + p * room + counts[p];
      int64_t length = 0;
      int32_t previous = -1;
      for (int64_t at = beam.leaf(p); beam.node(at).parent >= 0; at = beam.node(at).parent) {
        int32_t label = beam.node(at).label;
        if (!attributes[0] || label != previous)
          own[length++] = label;
        previous = label;
      }
      for (int64_t i = 0; 2 * i + 1 < length; ++i) {
        int32_t swapped = own[i];
        own[i] = own[length - 1 - i];
        own[length - 1 - i] = swapped;
      }
      counts[p] += length;
      ends[p * inputs.batch + b] = counts[p];
      storeFloat(scores, b * paths + p, beam.node(beam.leaf(p)).now.total);
    }
  }
  for (int64_t p = 0; p < paths; ++p)
    if (int32_t code =
            storeDecoded(ctx, {labels.data + p * room, ends.data + p * inputs.batch}, inputs.batch,
                         results[p], results[paths + p], results[2 * paths + p]))
      return code;
  return WEIR_OK;
}
