//===- Training.cpp - --train, --optimizer and their kin ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Training.h"
#include "compiler/driver/Messages.h"
#include "dialects/weir/Training.h"
#include "passes/training/TrainingSpec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <cmath>
#include <cstdio>

using namespace weir;
using namespace weir::driver;
using llvm::StringRef;

namespace {

/// Reads the flags' values; what is wrong is reported.
class Reader {
public:
  Reader(const Options &options, DiagnosticSink &sink) : options(options), sink(sink) {}

  bool read(TrainingSpec &result);

private:
  void refuse(const llvm::Twine &found, const llvm::Twine &possible) {
    report(sink, "W0141", options.input, "found " + found + "; possible: " + possible);
  }
  std::string nearest(StringRef word, llvm::ArrayRef<StringRef> words) {
    std::string near = nearestName(word, words);
    return near.empty() ? "" : "; did you mean \"" + near + "\"?";
  }
  void readLoss();
  void readOptimizer();
  void setDefaults();
  void readSetting(StringRef key, StringRef value);
  void readSchedule(StringRef value);
  void readClip(StringRef value);
  /// A number from `lowest` to `highest`; else reported as the value of `key`.
  bool number(StringRef key, StringRef text, double lowest, double highest, double &to);
  bool integer(StringRef key, StringRef text, int64_t lowest, int64_t &to);

  const Options &options;
  DiagnosticSink &sink;
  TrainingSpec spec;
};

} // namespace

bool Reader::number(StringRef key, StringRef text, double lowest, double highest, double &to) {
  double value;
  if (!text.getAsDouble(value) && std::isfinite(value) && value >= lowest && value <= highest) {
    to = value;
    return true;
  }
  auto textOf = [](double bound) {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", bound);
    return std::string(text);
  };
  std::string bounds = "a number from " + textOf(lowest);
  if (std::isfinite(highest))
    bounds += " to " + textOf(highest);
  refuse(key + "=" + text + " in --optimizer", bounds + (std::isfinite(highest) ? "" : " on"));
  return false;
}

bool Reader::integer(StringRef key, StringRef text, int64_t lowest, int64_t &to) {
  int64_t value;
  if (!text.getAsInteger(10, value) && value >= lowest) {
    to = value;
    return true;
  }
  refuse(key + "=" + text + " in --optimizer",
         "a whole number from " + llvm::Twine(lowest) + " on");
  return false;
}

void Reader::readLoss() {
  auto [kind, rest] = StringRef(options.training.loss).split(':');
  spec.loss = kind.str();
  if (kind == "loss") {
    spec.output = rest.str();
    if (rest.empty())
      refuse("--train=" + options.training.loss, "loss:NODE, a value of one element");
    return;
  }
  if (kind != "cross_entropy" && kind != "mse")
    return refuse("--train=" + options.training.loss,
                  "loss:NODE, cross_entropy:LOGITS,LABELS, mse:OUTPUT,TARGET" +
                      nearest(kind, {"loss", "cross_entropy", "mse"}));
  llvm::SmallVector<StringRef> parts;
  rest.split(parts, ',');
  bool isClasses = kind == "cross_entropy";
  if (parts.size() < 2 || parts[0].empty() || parts[1].empty())
    return refuse("--train=" + options.training.loss,
                  isClasses ? "cross_entropy:LOGITS,LABELS[:i64|i32|f32][,axis=N]"
                            : "mse:OUTPUT,TARGET");
  spec.output = parts[0].str();
  auto [labels, type] = parts[1].rsplit(':');
  bool hasType = isClasses && (type == "i64" || type == "i32" || type == "f32");
  spec.labels = (hasType ? labels : parts[1]).str();
  if (hasType)
    spec.labelType = type.str();
  for (StringRef part : llvm::ArrayRef(parts).drop_front(2)) {
    auto [key, value] = part.split('=');
    int64_t axis;
    if (!isClasses || key != "axis" || value.getAsInteger(10, axis))
      return refuse(part + " in --train=" + options.training.loss,
                    isClasses ? "axis=N, the dimension of classes" : "mse:OUTPUT,TARGET");
    spec.axis = axis;
  }
}

/// What optimizers begin with, as PyTorch's do; LAMB's are its paper's.
void Reader::setDefaults() {
  StringRef name = spec.optimizer;
  spec.rate = name == "sgd" || name == "momentum" || name == "adagrad" ? 0.01 : 0.001;
  spec.epsilon = name == "adagrad" ? 1e-10 : name == "lamb" ? 1e-6 : 1e-8;
  spec.weightDecay = name == "adamw" || name == "lamb" ? 0.01 : 0;
}

void Reader::readSchedule(StringRef value) {
  llvm::SmallVector<StringRef> parts;
  value.split(parts, ':');
  spec.schedule = parts[0].str();
  bool isStep = parts[0] == "step";
  if (parts[0] == "constant" && parts.size() == 1)
    return;
  if ((parts[0] != "linear" && parts[0] != "cosine" && !isStep) || parts.size() < 2 ||
      parts.size() > 3)
    return refuse("schedule=" + value + " in --optimizer",
                  "constant, linear:STEPS[:END], cosine:STEPS[:END], step:EVERY[:FACTOR]" +
                      nearest(parts[0], {"constant", "linear", "cosine", "step"}));
  integer("schedule", parts[1], 1, spec.steps);
  spec.factor = isStep ? 0.1 : 0;
  if (parts.size() == 3)
    number("schedule", parts[2], 0, isStep ? 1e6 : 1, spec.factor);
}

void Reader::readClip(StringRef value) {
  auto [kind, limit] = value.split(':');
  if (kind != "norm" && kind != "value")
    return refuse("clip=" + value + " in --optimizer", "norm:LIMIT, value:LIMIT");
  number("clip", limit, 1e-30, INFINITY, kind == "norm" ? spec.clipNorm : spec.clipValue);
}

void Reader::readSetting(StringRef key, StringRef value) {
  StringRef name = spec.optimizer;
  bool isAdam = name == "adam" || name == "adamw" || name == "lamb";
  if (key == "lr" && value == "feed")
    spec.feedsRate = true;
  else if (key == "lr")
    number(key, value, 0, INFINITY, spec.rate);
  else if (key == "clip")
    readClip(value);
  else if (key == "schedule")
    readSchedule(value);
  else if (key == "warmup")
    integer(key, value, 1, spec.warmup);
  else if (key == "weight_decay")
    number(key, value, 0, INFINITY, spec.weightDecay);
  else if (key == "seed")
    integer(key, value, 0, spec.seed);
  else if (key == "momentum" && name == "momentum")
    number(key, value, 0, 1, spec.momentum);
  else if (key == "nesterov" && name == "momentum" && (value.empty() || value == "1"))
    spec.nesterov = true;
  else if (key == "beta1" && isAdam)
    number(key, value, 0, 1 - 1e-9, spec.beta1);
  else if (key == "beta2" && isAdam)
    number(key, value, 0, 1 - 1e-9, spec.beta2);
  else if (key == "epsilon" && (isAdam || name == "adagrad"))
    number(key, value, 0, INFINITY, spec.epsilon);
  else if (key == "initial" && name == "adagrad")
    number(key, value, 0, INFINITY, spec.initial);
  else if (key == "loss_scale" && options.precision == "f16")
    number(key, value, 1, 1e30, spec.lossScale);
  else {
    std::vector<StringRef> keys = {"lr", "clip", "schedule", "warmup", "weight_decay", "seed"};
    if (name == "momentum")
      keys.insert(keys.end(), {"momentum", "nesterov"});
    if (isAdam)
      keys.insert(keys.end(), {"beta1", "beta2", "epsilon"});
    if (name == "adagrad")
      keys.insert(keys.end(), {"epsilon", "initial"});
    if (options.precision == "f16")
      keys.push_back("loss_scale");
    refuse(key + (value.empty() ? "" : "=" + value) + " in --optimizer=" + name,
           llvm::join(keys, ", ") + nearest(key, keys));
  }
}

void Reader::readOptimizer() {
  llvm::SmallVector<StringRef> parts;
  StringRef(options.training.optimizer).split(parts, ',');
  StringRef name = options.training.optimizer.empty() ? "sgd" : parts[0];
  static const StringRef known[] = {"sgd", "momentum", "adam", "adamw", "adagrad", "lamb"};
  if (!llvm::is_contained(known, name))
    return refuse("--optimizer=" + name,
                  "sgd, momentum, adam, adamw, adagrad, lamb" + nearest(name, known));
  spec.optimizer = name.str();
  setDefaults();
  if (options.training.optimizer.empty())
    return;
  for (StringRef part : llvm::ArrayRef(parts).drop_front()) {
    auto [key, value] = part.split('=');
    readSetting(key, value);
  }
}

bool Reader::read(TrainingSpec &result) {
  size_t before = sink.errorCount();
  readLoss();
  readOptimizer();
  spec.trainable = options.training.trainable;
  std::string why;
  if (!spec.trainable.empty() && !llvm::Regex(spec.trainable).isValid(why))
    refuse("--trainable=" + spec.trainable + ", which is no regular expression (" + why + ")",
           "one over the weights' names");
  spec.accumulate = options.training.accumulate;
  spec.replicas = options.training.replicas;
  spec.stages = options.training.stages;
  spec.microBatches = options.training.microBatches;
  if (spec.microBatches == 0)
    spec.microBatches = usualMicroBatches(spec.stages);
  spec.sharded = options.training.shardedFeeds;
  spec.shardsOptimizer = options.training.shardOptimizer;
  if (options.training.parallel.empty())
    warnAboutReplicas(options, spec.replicas, spec.parts(), sink);
  if (!options.training.parallel.empty() && spec.replicas * spec.stages > 1)
    refuse("--parallel=auto beside --replicas or --pipeline", "either");
  if (options.precision == "bf16" || options.precision == "f16") {
    spec.precision = options.precision;
    spec.kept = options.keepF32;
  }
  result = std::move(spec);
  return sink.errorCount() == before;
}

void driver::warnAboutReplicas(const Options &options, int64_t replicas, int64_t parts,
                               DiagnosticSink &sink) {
  auto warn = [&](const llvm::Twine &option) {
    noEffect(sink, options.input, option, "there is one replica; possible: with --replicas=N");
  };
  const TrainingOptions &training = options.training;
  if (replicas == 1 && training.shardOptimizer)
    warn("--shard-optimizer");
  if (parts == 1 && !training.shardedFeeds.empty())
    warn("--shard-feed=" + training.shardedFeeds.front());
}

int64_t driver::usualMicroBatches(int64_t stages) { return stages > 1 ? 4 * stages : 1; }

bool driver::prepareTraining(const Options &options, DiagnosticSink &sink, ImportOptions &imports) {
  const TrainingOptions &training = options.training;
  if (training.loss.empty()) {
    const char *why = "nothing is trained; possible: with --train";
    if (!training.optimizer.empty())
      noEffect(sink, options.input, "--optimizer=" + training.optimizer, why);
    if (!training.trainable.empty())
      noEffect(sink, options.input, "--trainable=" + training.trainable, why);
    if (training.accumulate > 1)
      noEffect(sink, options.input, "--accumulate=" + llvm::Twine(training.accumulate), why);
    if (training.replicas > 1)
      noEffect(sink, options.input, "--replicas=" + llvm::Twine(training.replicas), why);
    if (training.stages > 1)
      noEffect(sink, options.input, "--pipeline=" + llvm::Twine(training.stages), why);
    if (training.microBatches > 0)
      noEffect(sink, options.input, "--micro-batches=" + llvm::Twine(training.microBatches), why);
    if (!training.parallel.empty())
      noEffect(sink, options.input, "--parallel=" + training.parallel, why);
    if (training.shardOptimizer)
      noEffect(sink, options.input, "--shard-optimizer", why);
    for (const std::string &feed : training.shardedFeeds)
      noEffect(sink, options.input, "--shard-feed=" + feed, why);
    return true;
  }
  TrainingSpec spec;
  if (!Reader(options, sink).read(spec))
    return false;
  if (imports.entries.size() > 1) {
    report(sink, "W0142", options.input,
           "found " + llvm::Twine(imports.entries.size()) +
               " entries to train; possible: one --entry");
    return false;
  }
  // The entry's name is that of the one that infers.
  for (const EntrySpec &entry : imports.entries)
    for (llvm::StringRef made : {"train_step", "evaluate", "synchronize"})
      if (entry.name == made) {
        report(sink, "W0142", options.input,
               "found --entry=" + entry.name + ", which --train makes; possible: another name");
        return false;
      }
  imports.training = true;
  if (imports.entries.empty())
    imports.entries.emplace_back();
  imports.entries.front().further.push_back({spec.output, spec.output, std::nullopt});
  return true;
}

bool driver::markTraining(const Options &options, DiagnosticSink &sink, mlir::ModuleOp module) {
  if (options.training.loss.empty())
    return true;
  TrainingSpec spec;
  if (!Reader(options, sink).read(spec))
    return false;
  llvm::SmallVector<mlir::func::FuncOp> entries;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function->hasAttr("weir.entry"))
      entries.push_back(function);
  if (entries.size() != 1) {
    report(sink, "W0142", options.input,
           "found " + llvm::Twine(entries.size()) + " entries to train; possible: one");
    return false;
  }
  if (!options.entries.empty() && !options.entries.front().name.empty())
    spec.predict = options.entries.front().name;
  entries.front()->setAttr(trainAttr, spec.toAttr(module.getContext()));
  return true;
}
