//===- JobModel.cpp - a training on many hosts, simulated -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/JobModel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace weir::tools;

namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

namespace {

/// Reads numbers of an object, and knows which names it may have.
class Fields {
public:
  Fields(const json::Object *object, std::string where, std::string &error)
      : object(object), where(std::move(where)), error(error) {}

  void number(const char *name, double &target, double least = 0, double most = 1e30) {
    other(name);
    const json::Value *value = object ? object->get(name) : nullptr;
    if (!value || !error.empty())
      return;
    std::optional<double> given = value->getAsNumber();
    if (!given || !(*given >= least) || *given > most)
      error =
          llvm::formatv("found {0} of {1} to be {2}; possible: numbers from {3} {4}", name, where,
                        *value, least, most < 1e30 ? llvm::formatv("to {0}", most).str() : "on")
              .str();
    else
      target = *given;
  }
  void number(const char *name, int64_t &target) {
    auto value = double(target);
    number(name, value, 1);
    target = int64_t(value);
  }
  void other(const char *name) { known.push_back(name); }
  void end() {
    if (object && error.empty())
      for (auto &[key, value] : *object)
        if (!llvm::is_contained(known, llvm::StringRef(key)))
          error = "found \"" + llvm::StringRef(key).str() + "\" of " + where +
                  "; possible: " + llvm::join(known, ", ");
  }

private:
  const json::Object *object;
  const std::string where;
  std::string &error;
  std::vector<llvm::StringRef> known;
};

/// [[bytes, share], …]
void readBuckets(const json::Object *step, Topology &made, std::string &error) {
  const json::Value *given = step ? step->get("buckets") : nullptr;
  if (!given || !error.empty())
    return;
  const json::Array *list = given->getAsArray();
  bool isGood = list != nullptr;
  for (size_t i = 0; isGood && i < list->size(); ++i) {
    const json::Array *pair = (*list)[i].getAsArray();
    isGood = pair && pair->size() == 2;
    double bytes = isGood ? (*pair)[0].getAsNumber().value_or(-1) : -1;
    double share = isGood ? (*pair)[1].getAsNumber().value_or(-1) : -1;
    isGood = bytes >= 0 && bytes <= 1e30 && share >= 0 && share <= 1;
    made.buckets.emplace_back(bytes, share);
  }
  if (!isGood)
    error = "found buckets of step that are no pairs of bytes and a share from 0 to 1; possible: "
            "[[1e6, 0.5], [2e6, 1]]";
  else if (made.gradients > 0)
    error = "found both gradients and buckets of step; possible: one of them";
}

} // namespace

bool Topology::read(const std::string &file, Topology &made, std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer) {
    error = "cannot be read: " + buffer.getError().message();
    return false;
  }
  auto value = json::parse((*buffer)->getBuffer());
  if (!value) {
    error = "is no JSON: " + llvm::toString(value.takeError());
    return false;
  }
  const json::Object *root = value->getAsObject();
  Fields all(root, "the file", error);
  for (const char *name : {"levels", "step", "failures", "checkpoint"})
    all.other(name);
  all.number("combine", made.combine, 1);
  all.number("transport", made.transport, 1);
  all.number("busy", made.busy, 0, 1);
  all.end();
  Fields step(root ? root->getObject("step") : nullptr, "step", error);
  step.number("forward", made.forward);
  step.number("backward", made.backward);
  step.number("update", made.update);
  step.number("jitter", made.jitter);
  step.number("gradients", made.gradients);
  step.number("bucket", made.bucket, 1);
  step.number("stages", made.stages);
  step.number("micro_batches", made.microBatches);
  step.number("activations", made.activations);
  step.other("buckets");
  step.end();
  readBuckets(root ? root->getObject("step") : nullptr, made, error);
  Fields failures(root ? root->getObject("failures") : nullptr, "failures", error);
  failures.number("host_hours", made.hostHours);
  failures.number("restart", made.restart);
  failures.end();
  const json::Object *saved = root ? root->getObject("checkpoint") : nullptr;
  Fields checkpoint(saved, "checkpoint", error);
  checkpoint.number("bytes", made.checkpoint);
  checkpoint.number("bandwidth", made.disk, 1);
  checkpoint.number("blocking", made.blocking);
  checkpoint.other("by_task");
  checkpoint.end();
  if (saved)
    made.byTask = saved->getBoolean("by_task").value_or(made.byTask);
  const json::Array *levels = root ? root->getArray("levels") : nullptr;
  if (error.empty() && (!levels || levels->empty()))
    error =
        "found no \"levels\"; possible: an array with name, count, bandwidth and latency of each";
  for (size_t i = 0; error.empty() && i < levels->size(); ++i) {
    const json::Object *level = (*levels)[i].getAsObject();
    Level read;
    Fields fields(level, "level " + std::to_string(i), error);
    fields.other("name");
    fields.number("count", read.count);
    fields.number("bandwidth", read.bandwidth, 1);
    fields.number("latency", read.latency);
    fields.end();
    if (error.empty() && (!level || read.bandwidth <= 0))
      error = "found no bandwidth of level " + std::to_string(i) + "; possible: bytes a second";
    made.levels.push_back(read);
  }
  return error.empty();
}

const Topology::Level &Topology::between(int64_t a, int64_t b) const {
  for (const Level &level : levels) {
    a /= level.count;
    b /= level.count;
    if (a == b)
      return level;
  }
  return levels.back();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {

/// As in runtime/collectives.
constexpr double largestInTree = 32 << 10, pieceBytes = 512 << 10, largestExchanged = pieceBytes;
constexpr int64_t mostLanes = 64;

/// Reductions of some hosts, one after the other on their links and their processors. All times are
/// those of the hosts, by their places in `group`.
class Reducer {
public:
  Reducer(const Topology &topology, std::vector<int64_t> group)
      : topology(topology), group(std::move(group)), worked(this->group.size(), 0.0),
        linkFree(worked), hostFree(worked) {}

  /// When each has the sum of `bytes`, which they give at `ready`.
  std::vector<double> reduce(double bytes, std::vector<double> ready, const std::string &name,
                             int64_t shown, std::vector<SimulatedSpan> *spans) {
    if (group.size() < 2)
      return ready;
    if (group.size() == 2 && bytes <= largestExchanged)
      return exchange(bytes, ready);
    return bytes <= largestInTree ? tree(bytes, std::move(ready))
                                  : ring(bytes, std::move(ready), name, shown, spans);
  }

  /// What host `r` has sent, taken in and added up so far, in seconds of its processors.
  double workOf(size_t r) const { return worked[r]; }

private:
  const Topology::Level &way(size_t a, size_t b) const {
    return topology.between(group[a], group[b]);
  }
  /// When host `r` has taken in what comes at `came`, and has added it to what it has at `own`.
  double takeIn(size_t r, double came, double bytes, std::optional<double> own = std::nullopt) {
    double time = bytes / topology.transport + (own ? bytes / topology.combine : 0);
    double begin = std::max({came, own.value_or(0), hostFree[r]});
    worked[r] += time;
    return hostFree[r] = begin + time;
  }
  double carry(size_t a, size_t b, double bytes) const {
    return way(a, b).latency + bytes / way(a, b).bandwidth;
  }

  /// All that the two have, in both directions at once.
  std::vector<double> exchange(double bytes, const std::vector<double> &ready) {
    auto sum = [&](size_t own, size_t other) {
      return takeIn(own, ready[other] + carry(other, own, bytes), bytes, ready[own]);
    };
    return {sum(0, 1), sum(1, 0)};
  }

  /// Up a binomial tree, and down.
  std::vector<double> tree(double bytes, std::vector<double> at) {
    size_t n = group.size(), top = 1;
    for (size_t bit = 1; bit < n; bit *= 2, top = bit)
      for (size_t r = 0; r + bit < n; r += 2 * bit)
        at[r] = takeIn(r, at[r + bit] + carry(r + bit, r, bytes), bytes, at[r]);
    for (size_t bit = top; bit >= 1; bit /= 2)
      for (size_t r = 0; r + bit < n; r += 2 * bit)
        at[r + bit] = takeIn(r + bit, at[r] + carry(r, r + bit, bytes), bytes);
    return at;
  }

  /// Chunks go around twice, in lanes that follow each other on a link.
  std::vector<double> ring(double bytes, std::vector<double> ready, const std::string &name,
                           int64_t shown, std::vector<SimulatedSpan> *spans) {
    size_t n = group.size();
    double chunk = bytes / double(n);
    auto lanes = int64_t(std::clamp(std::ceil(chunk / pieceBytes), 1.0, double(mostLanes)));
    double piece = chunk / double(lanes);
    // By lane and host: when it has what it hands on next.
    std::vector<std::vector<double>> has(size_t(lanes), ready);
    std::vector<double> next(n), begun(n, -1.0);
    for (size_t hop = 0; hop < 2 * (n - 1); ++hop)
      for (int64_t lane = 0; lane < lanes; ++lane) {
        std::vector<double> &at = has[size_t(lane)];
        for (size_t r = 0; r < n; ++r) {
          size_t to = (r + 1) % n;
          double begin = std::max(at[r], linkFree[r]);
          linkFree[r] = begin + piece / way(r, to).bandwidth;
          begun[r] = begun[r] < 0 ? begin : begun[r];
          double came = linkFree[r] + way(r, to).latency;
          // What arrives is added to one's own, which must be there.
          next[to] = hop < n - 1 ? takeIn(to, came, piece, ready[to]) : takeIn(to, came, piece);
        }
        at = next;
      }
    std::vector<double> end(n, 0.0);
    for (const std::vector<double> &at : has)
      for (size_t r = 0; r < n; ++r)
        end[r] = std::max(end[r], at[r]);
    for (size_t r = 0; spans && r < n; ++r)
      if (group[r] < shown)
        spans->push_back({group[r], true, name, begun[r], linkFree[r]});
    return end;
  }

  const Topology &topology;
  const std::vector<int64_t> group;
  std::vector<double> worked;
  std::vector<double> linkFree; ///< when the link to the next one is
  std::vector<double> hostFree; ///< when its processors have taken in what came
};

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Forward and backward passes of one replica's stages in 1F1B order.
class Pipeline {
public:
  Pipeline(const Topology &topology, int64_t firstHost, const std::vector<double> &slowness)
      : topology(topology), first(firstHost), stages(topology.stages),
        batches(topology.microBatches) {
    double parts = double(stages * batches);
    for (int64_t s = 0; s < stages; ++s) {
      double slow = slowness[size_t(firstHost + s)];
      forward.push_back(topology.forward * slow / parts);
      backward.push_back(topology.backward * slow / parts);
    }
    forwardEnd.assign(size_t(stages), std::vector<double>(size_t(batches), -1.0));
    backwardEnd = forwardEnd;
    at.assign(size_t(stages), 0.0);
    lastBegin = at;
  }

  void run(int64_t shown, std::vector<SimulatedSpan> *spans) {
    std::vector<int64_t> done(size_t(stages), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t s = 0; s < stages; ++s)
        while (done[size_t(s)] < 2 * batches && advance(s, done[size_t(s)], shown, spans)) {
          ++done[size_t(s)];
          moved = true;
        }
    }
  }

  std::vector<double> at;        ///< when a stage has done all
  std::vector<double> lastBegin; ///< when its last micro-batch's backward pass begins
  std::vector<double> busy() const {
    std::vector<double> all;
    for (int64_t s = 0; s < stages; ++s)
      all.push_back(double(batches) * (forward[size_t(s)] + backward[size_t(s)]));
    return all;
  }

private:
  /// The stage's `turn`-th piece of work, of twice as many as there are micro-batches: a few
  /// forward passes first, then one of each in turn.
  bool advance(int64_t s, int64_t turn, int64_t shown, std::vector<SimulatedSpan> *spans) {
    int64_t warm = std::min(stages - s - 1, batches), steady = batches - warm;
    bool isForward = turn < warm || (turn < warm + 2 * steady && (turn - warm) % 2 == 0);
    int64_t batch = turn < warm                ? turn
                    : turn < warm + 2 * steady ? (turn - warm) / 2 + (isForward ? warm : 0)
                                               : turn - batches;
    double needs = 0;
    if (isForward && s > 0)
      needs = arrival(forwardEnd[size_t(s - 1)][size_t(batch)], s - 1, s);
    if (!isForward && s + 1 < stages)
      needs = arrival(backwardEnd[size_t(s + 1)][size_t(batch)], s + 1, s);
    if (needs < 0)
      return false;
    double begin = std::max(at[size_t(s)], needs);
    double end = begin + (isForward ? forward : backward)[size_t(s)];
    (isForward ? forwardEnd : backwardEnd)[size_t(s)][size_t(batch)] = end;
    if (!isForward)
      lastBegin[size_t(s)] = begin;
    at[size_t(s)] = end;
    if (spans && first + s < shown)
      spans->push_back({first + s, false,
                        (isForward ? "forward " : "backward ") + std::to_string(batch), begin,
                        end});
    return true;
  }
  /// Negative: it has not been sent.
  double arrival(double sent, int64_t from, int64_t to) const {
    const Topology::Level &way = topology.between(first + from, first + to);
    return sent < 0 ? sent : sent + way.latency + topology.activations / way.bandwidth;
  }

  const Topology &topology;
  const int64_t first, stages, batches;
  std::vector<double> forward, backward; ///< of a micro-batch, by stage
  std::vector<std::vector<double>> forwardEnd, backwardEnd;
};

} // namespace

SimulatedStep weir::tools::simulateStep(const Topology &topology, int64_t hosts,
                                        std::mt19937_64 &random, int64_t shown,
                                        std::vector<SimulatedSpan> *spans) {
  int64_t stages = topology.stages, replicas = hosts / stages;
  std::normal_distribution<double> normal;
  std::vector<double> slowness(size_t(hosts), 1.0);
  for (double &slow : slowness)
    slow += topology.jitter * std::abs(normal(random));
  SimulatedStep made;
  std::vector<Pipeline> pipelines;
  for (int64_t r = 0; r < replicas; ++r) {
    Pipeline &pipeline = pipelines.emplace_back(topology, r * stages, slowness);
    pipeline.run(shown, spans);
    double whole = *std::max_element(pipeline.at.begin(), pipeline.at.end());
    for (double busy : pipeline.busy())
      made.bubble += whole > 0 ? (1 - busy / whole) / double(hosts) : 0;
    made.compute = std::max(made.compute, whole);
  }
  // A stage's gradients are those of its weights alone; they are there one after the other while
  // the last micro-batch goes back.
  std::vector<std::pair<double, double>> buckets = topology.buckets;
  if (buckets.empty()) {
    double bytes = topology.gradients / double(stages);
    auto count = size_t(std::max(std::ceil(bytes / topology.bucket), 1.0));
    for (size_t b = 0; b < count; ++b)
      buckets.emplace_back(bytes / double(count), double(b + 1) / double(count));
  }
  for (int64_t s = 0; s < stages; ++s) {
    std::vector<int64_t> group;
    for (int64_t r = 0; r < replicas; ++r)
      group.push_back(r * stages + s);
    Reducer reducer(topology, group);
    std::vector<double> end;
    for (const Pipeline &pipeline : pipelines)
      end.push_back(pipeline.at[size_t(s)]);
    // What hosts do for messages while they compute puts off what is behind it.
    std::vector<double> computed = end, late(end.size(), 0.0);
    for (size_t b = 0; b < buckets.size(); ++b) {
      auto [bytes, share] = buckets[b];
      std::vector<double> ready, before;
      for (size_t r = 0; r < pipelines.size(); ++r) {
        double begin = pipelines[r].lastBegin[size_t(s)];
        ready.push_back(begin + (pipelines[r].at[size_t(s)] - begin) * share + late[r]);
        before.push_back(reducer.workOf(r));
      }
      std::vector<double> has =
          reducer.reduce(bytes, ready, "gradients " + std::to_string(b), shown, spans);
      for (size_t r = 0; r < end.size(); ++r) {
        double computing = std::max(computed[r] + late[r] - ready[r], 0.0), way = has[r] - ready[r];
        double beside = way > 0 ? std::min(computing / way, 1.0) : 0;
        late[r] += topology.busy * beside * (reducer.workOf(r) - before[r]);
        end[r] = std::max(end[r], has[r]);
      }
    }
    for (size_t r = 0; r < end.size(); ++r) {
      computed[r] += late[r];
      end[r] = std::max(end[r], computed[r]);
    }
    for (size_t r = 0; r < end.size(); ++r) {
      int64_t host = group[r];
      double update = topology.update / double(stages) * slowness[size_t(host)];
      if (end[r] + update > made.seconds)
        made.exposed = end[r] - computed[r];
      made.seconds = std::max(made.seconds, end[r] + update);
      if (spans && host < shown)
        spans->push_back({host, false, "update", end[r], end[r] + update});
    }
  }
  return made;
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

Endurance weir::tools::endure(const Topology &topology, int64_t hosts, double step,
                              std::mt19937_64 &random) {
  Endurance made;
  if (topology.hostHours <= 0)
    return made;
  made.jobHours = topology.hostHours / double(hosts);
  double mtbf = made.jobHours * 3600;
  // That a checkpoint takes beside the steps.
  const double write =
      topology.checkpoint / topology.disk / (topology.byTask ? double(hosts) : 1.0);
  double cost = std::max(topology.blocking, 1e-9);
  // One is written before the next begins, and they lie between steps.
  made.interval = std::max({std::sqrt(2 * cost * mtbf), write, step});
  double interval = made.interval, lostWork = interval / 2 + write;
  made.efficiency =
      std::max(0.0, 1 - cost / (interval + cost) - (lostWork + topology.restart) / mtbf);
  // Failures by a Poisson process; work counts once a checkpoint that has it is whole.
  std::exponential_distribution<double> failure(1 / mtbf);
  double now = 0, next = failure(random), done = 0, saved = 0, writing = 0, whole = 0;
  constexpr int failures = 20000;
  for (int seen = 0; seen < failures;) {
    double end = now + interval + cost;
    if (whole <= std::min(end, next))
      saved = writing;
    if (end < next) {
      done += interval;
      writing = done;
      now = end;
      whole = end + write;
      continue;
    }
    done = writing = saved;
    now = next + topology.restart;
    next = now + failure(random);
    ++seen;
  }
  made.simulated = now > 0 ? saved / now : 1;
  return made;
}
