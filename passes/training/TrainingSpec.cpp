//===- TrainingSpec.cpp - how a model is trained --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/training/TrainingSpec.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace weir;

/// Calls `f(name, field)` for each field.
template <typename Spec, typename F> static void eachField(Spec &spec, F &&f) {
  f("loss", spec.loss);
  f("output", spec.output);
  f("labels", spec.labels);
  f("label_type", spec.labelType);
  f("axis", spec.axis);
  f("optimizer", spec.optimizer);
  f("rate", spec.rate);
  f("feeds_rate", spec.feedsRate);
  f("momentum", spec.momentum);
  f("beta1", spec.beta1);
  f("beta2", spec.beta2);
  f("epsilon", spec.epsilon);
  f("weight_decay", spec.weightDecay);
  f("initial", spec.initial);
  f("nesterov", spec.nesterov);
  f("schedule", spec.schedule);
  f("steps", spec.steps);
  f("factor", spec.factor);
  f("warmup", spec.warmup);
  f("clip_norm", spec.clipNorm);
  f("clip_value", spec.clipValue);
  f("predict", spec.predict);
  f("trainable", spec.trainable);
  f("accumulate", spec.accumulate);
  f("precision", spec.precision);
  f("loss_scale", spec.lossScale);
  f("kept", spec.kept);
  f("seed", spec.seed);
  f("replicas", spec.replicas);
  f("stages", spec.stages);
  f("micro_batches", spec.microBatches);
  f("shard_optimizer", spec.shardsOptimizer);
  f("sharded", spec.sharded);
}

namespace {

struct Writer {
  Builder b;
  SmallVector<NamedAttribute> attributes;

  void add(llvm::StringRef name, Attribute value) {
    attributes.push_back(b.getNamedAttr(name, value));
  }
  void operator()(llvm::StringRef name, const std::string &value) {
    add(name, b.getStringAttr(value));
  }
  void operator()(llvm::StringRef name, double value) { add(name, b.getF64FloatAttr(value)); }
  void operator()(llvm::StringRef name, int64_t value) { add(name, b.getI64IntegerAttr(value)); }
  void operator()(llvm::StringRef name, bool value) { add(name, b.getBoolAttr(value)); }
  void operator()(llvm::StringRef name, const std::vector<std::string> &value) {
    SmallVector<StringRef> texts(value.begin(), value.end());
    add(name, b.getStrArrayAttr(texts));
  }
};

struct Reader {
  DictionaryAttr from;

  void operator()(llvm::StringRef name, std::string &value) {
    if (auto text = from.getAs<StringAttr>(name))
      value = text.str();
  }
  void operator()(llvm::StringRef name, double &value) {
    if (auto number = from.getAs<FloatAttr>(name))
      value = number.getValueAsDouble();
  }
  void operator()(llvm::StringRef name, int64_t &value) {
    if (auto number = from.getAs<IntegerAttr>(name))
      value = number.getInt();
  }
  void operator()(llvm::StringRef name, bool &value) {
    if (auto flag = from.getAs<BoolAttr>(name))
      value = flag.getValue();
  }
  void operator()(llvm::StringRef name, std::vector<std::string> &value) {
    if (auto texts = from.getAs<ArrayAttr>(name))
      for (auto text : texts.getAsRange<StringAttr>())
        value.push_back(text.str());
  }
};

} // namespace

DictionaryAttr TrainingSpec::toAttr(MLIRContext *context) const {
  Writer writer{Builder(context), {}};
  eachField(*this, writer);
  return writer.b.getDictionaryAttr(writer.attributes);
}

TrainingSpec TrainingSpec::fromAttr(DictionaryAttr attr) {
  TrainingSpec spec;
  eachField(spec, Reader{attr});
  return spec;
}
