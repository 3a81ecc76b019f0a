//===- ShardProducts.cpp - products that several devices share ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product's weight is divided along a dimension of the result, or along the one that is summed
// over:
//
//   0: x ──▶ x·W[:, 0:n/2] ──┐                      0: x[:, 0:k/2]·V[0:k/2, :] ──┐
//                            concat                                             add
//   1: x ──▶ x·W[:, n/2:n] ──┘                      1: x[:, k/2:k]·V[k/2:k, :] ──┘
//
// Where the second follows the first, with elementwise operations between, each device goes on with
// its own part: only x and the sums cross (Shoeybi et al., "Megatron-LM", 2019, 3).
//
// Where a training step has replicas or stages, parts are for the devices of each of these, which
// are not known yet: nodes get the number of a member of such a group, from which
// passes/training/Replicate.cpp takes the device.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/PickedConstant.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Training.h"
#include "passes/simplify/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

#include <numeric>

namespace weir {
#define GEN_PASS_DEF_WEIRSHARDPRODUCTSPASS
#include "passes/simplify/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;

namespace {

/// [begin, end) of a dimension.
struct Range {
  int64_t begin, end;
  bool operator==(const Range &other) const { return begin == other.begin && end == other.end; }
};

class Sharder {
public:
  /// Parts are for `devices`, or, where there are none, for `count` members of a group each.
  Sharder(func::FuncOp function, ArrayRef<std::string> devices, size_t count)
      : function(function), devices(devices), count(count), b(function.getContext()) {
    if (auto table = function->getAttrOfType<DictionaryAttr>(tableName()))
      requests = NamedAttrList(table);
    function.walk([&](Operation *op) { taken.insert(nodeName(op->getLoc())); });
  }
  ~Sharder() {
    function->setAttr(tableName(), requests.getDictionary(b.getContext()));
    if (devices.empty())
      function->setAttr(shardCountAttr, b.getI64IntegerAttr(int64_t(count)));
  }

  /// Says what is wrong with an axis; empty: the product is divided. `axis`: of the result; none:
  /// of the sum.
  std::string divide(DotGeneralOp dot, std::optional<int64_t> axis);

private:
  /// What a value is put together from.
  struct Parts {
    int64_t axis;
    SmallVector<Value> values; ///< by member
    SmallVector<Range> ranges;
  };

  SmallVector<Range> rangesOf(int64_t size) const {
    SmallVector<Range> ranges;
    auto parts = int64_t(count);
    for (int64_t r = 0; r < parts; ++r)
      ranges.push_back({size * r / parts, size * (r + 1) / parts});
    return ranges;
  }
  StringRef tableName() const {
    return devices.empty() ? StringRef(shardMembersAttr) : "weir.device_requests";
  }
  Location placed(Location loc, size_t member);
  std::string divideColumns(DotGeneralOp dot, int64_t axis);
  std::string divideSum(DotGeneralOp dot);
  bool arePartsThere(Value value, int64_t axis, ArrayRef<Range> ranges);
  Value part(Value value, int64_t axis, ArrayRef<Range> ranges, size_t member);
  Value slice(Value value, int64_t axis, Range range, Location loc);
  static int64_t axisOfOperand(Value operand, int64_t axis, int64_t rank);

  func::FuncOp function;
  ArrayRef<std::string> devices;
  size_t count;
  OpBuilder b;
  NamedAttrList requests;
  llvm::StringSet<> taken; ///< names of the model's nodes
  DenseMap<Value, Parts> known;
};

RankedTensorType rankedOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

} // namespace

/// The location of a node of a member's own, which asks for its device.
Location Sharder::placed(Location loc, size_t member) {
  std::string name = nodeName(loc).str() + "/shard_" + std::to_string(member);
  while (taken.contains(name))
    name += "_";
  requests.set(name, devices.empty() ? Attribute(b.getI64IntegerAttr(int64_t(member)))
                                     : b.getStringAttr(devices[member]));
  return NameLoc::get(b.getStringAttr(name));
}

Value Sharder::slice(Value value, int64_t axis, Range range, Location loc) {
  Type type = UnrankedTensorType::get(getElementTypeOrSelf(value.getType()));
  if (auto ranked = rankedOf(value)) {
    SmallVector<int64_t> shape(ranked.getShape());
    shape[size_t(axis)] = range.end - range.begin;
    type = ranked.clone(shape);
  }
  return SliceOp::create(b, loc, type, value, integers(b, loc, {range.begin}),
                         integers(b, loc, {range.end}), integers(b, loc, {1}),
                         b.getDenseI64ArrayAttr({axis}), b.getBoolAttr(false));
}

/// Where an elementwise operation's dimension is one of an operand; -1: the operand has it once, or
/// not at all.
int64_t Sharder::axisOfOperand(Value operand, int64_t axis, int64_t rank) {
  auto type = rankedOf(operand);
  int64_t own = type ? axis - (rank - type.getRank()) : -1;
  return own < 0 || type.getDimSize(unsigned(own)) == 1 ? -1 : own;
}

/// Whether the devices have the parts of a value, or what it is computed of element by element.
bool Sharder::arePartsThere(Value value, int64_t axis, ArrayRef<Range> ranges) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second.axis == axis && ArrayRef(found->second.ranges) == ranges;
  Operation *op = value.getDefiningOp();
  auto type = rankedOf(value);
  if (!op || !isa<ElementwiseOpInterface>(op) || op->getNumResults() != 1 || !value.hasOneUse() ||
      !type || type.getDimSize(unsigned(axis)) != ranges.back().end)
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    int64_t own = axisOfOperand(operand, axis, type.getRank());
    return own >= 0 && arePartsThere(operand, own, ranges);
  });
}

/// A member's part of a value, made on its device.
Value Sharder::part(Value value, int64_t axis, ArrayRef<Range> ranges, size_t member) {
  Range range = ranges[member];
  Operation *op = value.getDefiningOp();
  Location loc = placed(op ? op->getLoc() : function.getLoc(), member);
  auto type = rankedOf(value);
  Value constant = behindWeight(value);
  // What others read, too, is trained as one.
  bool isOwn = constant == value || value.hasOneUse();
  if (auto whole = constant.getDefiningOp<ConstantOp>(); whole && isOwn) {
    SmallVector<int64_t> shape(type.getShape()), indices(size_t(range.end - range.begin));
    shape[size_t(axis)] = range.end - range.begin;
    std::iota(indices.begin(), indices.end(), range.begin);
    auto given = cast<TypedAttr>(whole.getValue());
    if (TypedAttr taken = pickedConstant(given, type.clone(shape), axis, indices)) {
      Value made = ConstantOp::create(b, loc, taken);
      if (auto gate = value.getDefiningOp<GateOp>(); gate && constant != value) {
        made = markWeight(
            b, loc, made,
            (gate->getAttrOfType<StringAttr>(weightAttr).getValue() + "/shard_" + Twine(member))
                .str());
        made.getDefiningOp()->setAttr(weightPartAttr, b.getUnitAttr());
      }
      return made;
    }
  }
  if (!arePartsThere(value, axis, ranges))
    return slice(value, axis, range, loc);
  if (auto found = known.find(value); found != known.end())
    return found->second.values[member];
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (int64_t own = axisOfOperand(operand, axis, type.getRank()); own >= 0)
      mapping.map(operand, part(operand, own, ranges, member));
  Operation *made = b.clone(*op, mapping);
  SmallVector<int64_t> shape(type.getShape());
  shape[size_t(axis)] = range.end - range.begin;
  made->getResult(0).setType(type.clone(shape));
  made->setLoc(loc);
  return made->getResult(0);
}

std::string Sharder::divideColumns(DotGeneralOp dot, int64_t axis) {
  auto result = rankedOf(dot.getResult()), weight = rankedOf(dot.getRhs());
  if (!result || !weight)
    return "a result of unknown rank";
  SmallVector<int64_t> free;
  for (int64_t d = 0; d < weight.getRank(); ++d)
    if (!llvm::is_contained(dot.getRhsBatch(), d) && !llvm::is_contained(dot.getRhsContract(), d))
      free.push_back(d);
  int64_t at = axis < 0 ? axis + result.getRank() : axis,
          first = result.getRank() - int64_t(free.size());
  if (at < first || at >= result.getRank())
    return "dimension " + std::to_string(axis) + " of the result, which the second operand has not";
  int64_t own = free[size_t(at - first)], size = weight.getDimSize(unsigned(own));
  if (size < int64_t(count))
    return "a dimension that is open, or smaller than the number of devices";
  Parts parts = {at, {}, rangesOf(size)};
  for (size_t r = 0; r < count; ++r) {
    SmallVector<int64_t> shape(result.getShape());
    shape[size_t(at)] = parts.ranges[r].end - parts.ranges[r].begin;
    Value columns = part(dot.getRhs(), own, parts.ranges, r);
    IRMapping mapping;
    mapping.map(dot.getRhs(), columns);
    Operation *made = b.clone(*dot, mapping);
    made->setLoc(placed(dot.getLoc(), r));
    made->getResult(0).setType(result.clone(shape));
    parts.values.push_back(made->getResult(0));
  }
  auto whole = ConcatOp::create(b, dot.getLoc(), dot.getType(), parts.values,
                                b.getI64IntegerAttr(parts.axis));
  dot.getResult().replaceAllUsesWith(whole.getResult());
  known[whole.getResult()] = std::move(parts);
  return "";
}

std::string Sharder::divideSum(DotGeneralOp dot) {
  auto weight = rankedOf(dot.getRhs());
  if (!weight || dot.getRhsContract().size() != 1)
    return "a sum over several dimensions, or over none";
  int64_t left = dot.getLhsContract()[0], right = dot.getRhsContract()[0],
          size = weight.getDimSize(unsigned(right));
  if (size < int64_t(count))
    return "a dimension that is open, or smaller than the number of devices";
  SmallVector<Range> ranges = rangesOf(size);
  Value sum;
  for (size_t r = 0; r < count; ++r) {
    IRMapping mapping;
    mapping.map(dot.getLhs(), part(dot.getLhs(), left, ranges, r));
    mapping.map(dot.getRhs(), part(dot.getRhs(), right, ranges, r));
    Operation *made = b.clone(*dot, mapping);
    made->setLoc(placed(dot.getLoc(), r));
    Value product = made->getResult(0);
    if (sum)
      product = AddOp::create(b, dot.getLoc(), dot.getType(), sum, product);
    sum = product;
  }
  dot.getResult().replaceAllUsesWith(sum);
  return "";
}

std::string Sharder::divide(DotGeneralOp dot, std::optional<int64_t> axis) {
  if (dot->getBlock() != &function.front())
    return "a product inside of a loop or a branch";
  b.setInsertionPoint(dot);
  std::string problem = axis ? divideColumns(dot, *axis) : divideSum(dot);
  if (problem.empty())
    dot.erase();
  return problem;
}

namespace {

struct ShardProductsPass : weir::impl::WeirShardProductsPassBase<ShardProductsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto asked = module->getAttrOfType<ArrayAttr>(shardedProductsAttr);
    if (!asked)
      return;
    std::vector<std::string> devices = devicesOf(module);
    if (devices.size() < 2)
      return refuse("found --shard=" + cast<StringAttr>(asked[0]).getValue() +
                    " and one device; possible: with --devices or --cluster, which have several");
    size_t count = devices.size();
    if (auto groups = module->getAttrOfType<IntegerAttr>(shardGroupsAttr)) {
      count /= size_t(groups.getInt());
      if (count < 2 || count * size_t(groups.getInt()) != devices.size())
        return refuse("found --shard=" + cast<StringAttr>(asked[0]).getValue() + " with " +
                      Twine(devices.size()) + " devices, for --replicas and --pipeline that make " +
                      Twine(groups.getInt()) + " groups of them; possible: a multiple of " +
                      Twine(groups.getInt()) + ", from " + Twine(2 * groups.getInt()) + " on");
      devices.clear();
    }
    for (auto function : module.getOps<func::FuncOp>()) {
      if (!function->hasAttr("weir.entry"))
        continue;
      Sharder sharder(function, devices, count);
      // In the graph's order: a sum that follows columns goes on with their parts.
      SmallVector<DotGeneralOp> products;
      function.walk([&](DotGeneralOp dot) { products.push_back(dot); });
      for (DotGeneralOp dot : products)
        if (std::string text = requestOf(asked, nodeName(dot.getLoc())); !text.empty())
          divide(sharder, dot, text);
    }
    llvm::StringSet<> seen;
    for (auto text : asked.getAsRange<StringAttr>())
      if (StringRef node = text.getValue().rsplit(':').first; !seen.insert(node).second)
        return refuse("found --shard twice for node \"" + node + "\"; possible: once");
    for (auto text : asked.getAsRange<StringAttr>())
      if (!done.contains(text.getValue().rsplit(':').first) && !failed)
        refuse("found no product \"" + text.getValue().rsplit(':').first + "\" to divide" +
               (names.empty() ? "" : "; possible: " + names));
    module->removeAttr(shardedProductsAttr);
    module->removeAttr(shardGroupsAttr);
  }

private:
  void refuse(const Twine &text) {
    emitError(UnknownLoc::get(&getContext())) << "W0419: " << text;
    failed = true;
    signalPassFailure();
  }

  /// The CPUs of the cluster, in its order.
  static std::vector<std::string> devicesOf(ModuleOp module) {
    std::vector<std::string> devices;
    auto cluster = module->getAttrOfType<DictionaryAttr>("weir.cluster");
    auto given = cluster ? cluster.getAs<ArrayAttr>("devices") : ArrayAttr();
    for (Attribute entry : given ? given.getValue() : ArrayRef<Attribute>())
      if (StringRef name = cast<DictionaryAttr>(entry).getAs<StringAttr>("name").getValue();
          !name.contains("/device:") || name.contains("/device:CPU:"))
        devices.push_back(name.str());
    return devices;
  }

  /// What was asked for a node, behind its name; empty: nothing.
  std::string requestOf(ArrayAttr asked, StringRef node) {
    constexpr size_t enough = 200;
    if (names.size() < enough)
      names += (names.empty() ? "\"" : ", \"") + node.str() + "\"";
    for (auto text : asked.getAsRange<StringAttr>()) {
      auto [name, axis] = text.getValue().rsplit(':');
      if (name == node) {
        done.insert(name);
        return axis.str();
      }
    }
    return "";
  }

  void divide(Sharder &sharder, DotGeneralOp dot, StringRef text) {
    std::optional<int64_t> axis;
    int64_t number;
    if (!text.getAsInteger(10, number))
      axis = number;
    else if (text != "sum")
      return refuse("found --shard=" + nodeName(dot.getLoc()) + ":" + text +
                    "; possible behind the node: the number of a dimension, or sum");
    std::string node = nodeName(dot.getLoc()).str(), problem = sharder.divide(dot, axis);
    if (!problem.empty())
      refuse("found --shard=" + node + ":" + text + " to ask for " + problem +
             "; possible: a dimension of the second operand's columns, or sum");
  }

  llvm::StringSet<> done;
  std::string names; ///< of products
  bool failed = false;
};

} // namespace
