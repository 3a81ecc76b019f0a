//===- ControlRules.cpp - gradients of branches and loops -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a region computed is computed again, behind it in time, where its
// gradient is: a branch as a whole; a loop trip by trip from the last to the
// first, each from the values that its trip began with. Those a copy of the loop has kept,
// with the results of products, which would take long to make again; it stands in the loop's
// place, where that has no checks. Carried values need static shapes for that.
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/CustomAttributes.h"
#include "dialects/weir/KnownIntegers.h"
#include "passes/gradient/Gradient.h"
#include "passes/gradient/GradientRules.h"
#include "passes/gradient/LoopSegments.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weir;
using namespace weir::gradient;

namespace {

/// Whether running a region twice is running it once. Checks have been made.
bool isRepeatable(Region &region) {
  return !region
              .walk([](Operation *op) {
                return isMemoryEffectFree(op) || isa<AssertOp, IfOp, WhileOp>(op)
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// The active values from around that the regions use.
SmallVector<Value> capturedBy(MutableArrayRef<Region> regions, Adjoint &a) {
  llvm::SetVector<Value> found;
  for (Region &region : regions)
    region.walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (a.wants(operand) && !region.isAncestor(operand.getParentRegion()))
          found.insert(operand);
    });
  return found.takeVector();
}

/// Clones a block's operations at the builder, without checks and end; what
/// the end yields.
SmallVector<Value> replay(Block &block, IRMapping &mapping, Adjoint &a) {
  for (Operation &op : block.without_terminator())
    if (!isa<AssertOp>(op))
      a.b.clone(op, mapping);
  SmallVector<Value> results;
  for (Value result : block.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(result));
  return results;
}

/// `v` in a type that says less.
Value inType(Value v, Type type, Adjoint &a) {
  if (v.getType() == type)
    return v;
  return ReshapeOp::create(a.b, a.loc, type, v, a.shapeOf(v));
}

LogicalResult branch(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto branch = cast<IfOp>(op);
  SmallVector<Value> captured = capturedBy(branch->getRegions(), a);
  if (captured.empty())
    return success();
  OperationState state(a.loc, IfOp::getOperationName());
  state.addOperands(branch.getCondition());
  state.addTypes(ValueRange(captured).getTypes());
  for (Region &region : branch->getRegions()) {
    if (!isRepeatable(region))
      return failure();
    OpBuilder::InsertionGuard guard(a.b);
    a.b.createBlock(state.addRegion());
    IRMapping mapping;
    SmallVector<Value> all = replay(region.front(), mapping, a), ys, seeds;
    for (auto [y, seed] : llvm::zip(all, gradients))
      if (seed) {
        ys.push_back(y);
        seeds.push_back(seed);
      }
    auto found = differentiate(ys, seeds, captured, a.b);
    if (failed(found))
      return failure();
    for (auto [x, gradient] : llvm::zip(captured, *found))
      gradient = inType(gradient ? gradient : a.zeros(x), x.getType(), a);
    YieldOp::create(a.b, a.loc, ValueRange(*found));
  }
  Operation *made = a.b.create(state);
  for (auto [x, gradient] : llvm::zip(captured, made->getResults()))
    a.add(x, gradient);
  return success();
}

/// A loop with `inits`, whose parts `build` writes: each is given the values
/// that are carried, and returns what its region yields.
using Part = llvm::function_ref<FailureOr<SmallVector<Value>>(ValueRange)>;
FailureOr<Operation *> loop(ArrayRef<Value> inits, Part condition, Part body, Adjoint &a) {
  OperationState state(a.loc, WhileOp::getOperationName());
  state.addOperands(inits);
  state.addTypes(ValueRange(inits).getTypes());
  for (bool isBody : {false, true}) {
    OpBuilder::InsertionGuard guard(a.b);
    SmallVector<Location> locations(inits.size(), a.loc);
    Block *block = a.b.createBlock(state.addRegion(), {}, ValueRange(inits).getTypes(), locations);
    auto yields = (isBody ? body : condition)(block->getArguments());
    if (failed(yields))
      return failure();
    if (isBody)
      for (auto [value, init] : llvm::zip(*yields, inits))
        value = inType(value, init.getType(), a);
    YieldOp::create(a.b, a.loc, ValueRange(*yields));
  }
  return a.b.create(state);
}

/// What the loop's body says (givenGradientAttr).
LogicalResult givenGradient(WhileOp op, size_t count, ArrayRef<Value> gradients, Adjoint &a) {
  Block &body = op.getBody().front();
  IRMapping mapping;
  for (size_t i = 0; i < op.getInits().size(); ++i) {
    BlockArgument argument = body.getArgument(i);
    Value value = op.getInits()[i];
    if (i < count)
      value = gradients[i] ? gradients[i] : a.zeros(value);
    mapping.map(argument, inType(value, argument.getType(), a));
  }
  SmallVector<Value> found = replay(body, mapping, a);
  for (size_t i = count; i < op.getInits().size(); ++i)
    a.add(op.getInits()[i], found[i]);
  return success();
}

/// A loop backward, whose carried values are the number of trips that are left, others, and, from
/// `zeros` on, sums that begin with zeros. A sum of products (a weight's gradient) reads and writes
/// all of itself in each trip, where the products' operands are often small beside it: these are
/// kept, a row a trip, and one product behind the loop sums over trips, too.
class LoopSums {
public:
  LoopSums(WhileOp loop, size_t zeros, int64_t bound, Adjoint &a)
      : loop(loop), zeros(zeros), bound(bound), a(a), body(loop.getBody().front()),
        trip(body.getTerminator()->getOperand(0)) {}

  /// What stands for the loop's results.
  SmallVector<Value> moveBehind() {
    for (size_t i = 1; i < loop->getNumResults(); ++i)
      if (DotGeneralOp product = productOf(i))
        sums.push_back({i, product, rowsOf(product.getLhs()), rowsOf(product.getRhs())});
    if (sums.empty())
      return SmallVector<Value>(loop->getResults());
    rebuild();
    SmallVector<Value> results(loop->getResults().take_front(plainCount));
    for (const Sum &sum : sums)
      results[sum.index] = productBehind(sum);
    return results;
  }

private:
  /// Where an operand's rows are: in a tensor that is there, or in a value that is carried.
  struct Rows {
    Value tensor;
    size_t carried = 0; ///< among those that this class adds
  };
  struct Sum {
    size_t index;
    DotGeneralOp product;
    Rows lhs, rhs;
  };

  /// The product that the sum `i` adds in each trip, where its operands are small.
  DotGeneralOp productOf(size_t i) {
    BlockArgument sum = body.getArgument(i);
    auto add = body.getTerminator()->getOperand(i).getDefiningOp<AddOp>();
    if (!add || !add->hasOneUse() || !sum.hasOneUse() || add.getLhs() != sum)
      return {};
    auto product = add.getRhs().getDefiningOp<DotGeneralOp>();
    if (!product || !product->hasOneUse() || product->getBlock() != &body ||
        !product.getLhsBatch().empty() || !Adjoint::type(sum).hasStaticShape() ||
        product.getType() != sum.getType())
      return {};
    int64_t elements = 0;
    for (Value operand : product->getOperands()) {
      auto type = Adjoint::type(operand);
      if (!type.hasStaticShape() || operand.getParentBlock() != &body)
        return {};
      elements += type.getNumElements();
    }
    return elements < Adjoint::type(sum).getNumElements() ? product : DotGeneralOp();
  }

  Rows rowsOf(Value operand) {
    // What the forward loop has kept lies as rows already.
    auto gather = operand.getDefiningOp<GatherOp>();
    if (gather && gather.getIndices() == trip && gather.getAxis() == 0 &&
        gather.getBatchDims() == 0 && gather.getOperand().getParentBlock() != &body)
      return {gather.getOperand()};
    auto [at, isNew] = carried.insert({operand, carried.size()});
    return {Value(), at->second};
  }

  /// The loop without the sums' products, and with the rows of their operands.
  void rebuild() {
    OpBuilder::InsertionGuard guard(a.b);
    a.b.setInsertionPoint(loop);
    plainCount = loop->getNumResults();
    SmallVector<Value> inits(loop.getInits());
    for (auto &[operand, at] : carried)
      inits.push_back(a.op<BroadcastToOp>(a.number(operand, 0), a.ints(rowsShape(operand, bound))));
    OperationState state(loop.getLoc(), WhileOp::getOperationName());
    state.addOperands(inits);
    state.addTypes(ValueRange(inits).getTypes());
    state.addAttributes(loop->getAttrs());
    for (Region &region : loop->getRegions())
      state.addRegion()->takeBody(region);
    Operation *made = a.b.create(state);
    for (Region &region : made->getRegions())
      for (auto &[operand, at] : carried)
        region.addArgument(inits[plainCount + at].getType(), loop.getLoc());
    Operation *end = body.getTerminator();
    a.b.setInsertionPoint(end);
    SmallVector<Value> next(end->getOperands());
    for (auto &[operand, at] : carried)
      next.push_back(a.op<ScatterNdOp>(
          body.getArgument(plainCount + at), a.reshape(trip, a.ints({1, 1})),
          a.reshape(operand, a.ints(rowsShape(operand, 1))), "none", false, false));
    for (const Sum &sum : sums)
      next[sum.index] = body.getArgument(sum.index);
    end->setOperands(next);
    loop.erase();
    loop = cast<WhileOp>(made);
  }
  static IntVector rowsShape(Value operand, int64_t rows) {
    IntVector shape(Adjoint::type(operand).getShape());
    shape.insert(shape.begin(), rows);
    return shape;
  }

  Value productBehind(const Sum &sum) {
    DotGeneralOp product = sum.product;
    auto behind = [&](const Rows &rows) {
      return rows.tensor ? rows.tensor : loop->getResult(plainCount + rows.carried);
    };
    auto contracted = [](Ints dims) {
      IntVector all = {0};
      for (int64_t dim : dims)
        all.push_back(dim + 1);
      return all;
    };
    Value made = a.op<DotGeneralOp>(behind(sum.lhs), behind(sum.rhs), Ints(), Ints(),
                                    contracted(product.getLhsContract()),
                                    contracted(product.getRhsContract()), product.getAccumulator());
    Operation *add = product->hasOneUse() ? *product->user_begin() : nullptr;
    if (add && add->use_empty())
      add->erase();
    if (product->use_empty())
      product->erase();
    return sum.index < zeros ? a.plus(loop.getInits()[sum.index], made) : made;
  }

  WhileOp loop;
  size_t zeros, plainCount = 0;
  int64_t bound;
  Adjoint &a;
  Block &body;
  Value trip;
  llvm::MapVector<Value, size_t> carried;
  SmallVector<Sum> sums;
};

/// The gradient of a loop whose carried values have fixed sizes.
class LoopGradient {
public:
  LoopGradient(WhileOp original, ArrayRef<Value> gradients, Adjoint &a)
      : original(original), gradients(gradients), a(a), inits(original.getInits()),
        count(inits.size()), bodyRegion(original.getBody()) {}

  LogicalResult run() {
    if (!isRepeatable(original.getCondition()) || !isRepeatable(bodyRegion))
      return failure();
    isInvariant.resize(count);
    for (size_t i = 0; i < count; ++i)
      isInvariant[i] = bodyYield(i) == bodyRegion.getArgument(i);
    for (Value init : inits) {
      auto type = dyn_cast<RankedTensorType>(init.getType());
      if (!type || !type.hasStaticShape() || isa<StringType>(type.getElementType()))
        return failure();
    }
    bound = tripsOfSegments(original);
    if (!bound)
      bound = boundOf(original.getCondition().front().getTerminator()->getOperand(0));
    if (WhileOp divided = inSegments(original, bound, a))
      return LoopGradient(divided, gradients, a).run();
    for (size_t i = 0; i < count; ++i)
      if (!isInvariant[i])
        keptValues.push_back(bodyRegion.getArgument(i));
    for (Operation &op : bodyRegion.front())
      if (isa<DotGeneralOp, ConvOp>(op) && Adjoint::type(op.getResult(0)).hasStaticShape())
        if (Value sum = sumWith(op.getResult(0)); !llvm::is_contained(keptValues, sum))
          keptValues.push_back(sum);
    return success(succeeded(repeatInPlace()) && succeeded(goBack()));
  }

private:
  /// The sum that a product goes into, with others or a bias, if nothing else reads it: no
  /// gradient asks for the terms of a sum, so that one row a trip stands for all of them.
  static Value sumWith(Value product) {
    while (product.hasOneUse()) {
      Operation *user = *product.user_begin();
      if (!isa<AddOp, SubOp>(user) || user->getBlock() != product.getParentBlock() ||
          user->getResult(0).getType() != product.getType())
        break;
      product = user->getResult(0);
    }
    return product;
  }
  Value bodyYield(size_t i) { return bodyRegion.front().getTerminator()->getOperand(i); }
  static Value withoutReshapes(Value v) {
    while (Operation *op = v.getDefiningOp())
      if (isa<ReshapeOp, CastOp>(op))
        v = op->getOperand(0);
      else
        break;
    return v;
  }
  /// Which carried value an argument of the condition (the body) is; none: it is no argument.
  std::optional<size_t> carriedBy(Value v, Region &region) const {
    auto argument = dyn_cast<BlockArgument>(withoutReshapes(v));
    if (!argument || argument.getOwner() != &region.front())
      return std::nullopt;
    return argument.getArgNumber();
  }
  /// A number that is the same in each trip.
  std::optional<int64_t> numberOf(Value v, Region &region) const {
    if (auto carried = carriedBy(v, region)) {
      if (!isInvariant[*carried])
        return std::nullopt;
      v = inits[*carried];
    }
    auto known = followIntegers(withoutReshapes(v));
    return known && known->size() == 1 ? known->front().value : std::nullopt;
  }
  /// How many trips there are at most, where a counter says so: `condition` is what it is
  /// compared to, or one of several such that must hold.
  std::optional<int64_t> boundOf(Value condition) {
    constexpr int64_t most = 1 << 16;
    condition = withoutReshapes(condition);
    if (auto both = condition.getDefiningOp<AndOp>()) {
      auto x = boundOf(both->getOperand(0)), y = boundOf(both->getOperand(1));
      return x && y ? std::min(*x, *y) : x ? x : y;
    }
    auto compare = condition.getDefiningOp<CompareOp>();
    if (!compare || compare.getPredicate() != "lt")
      return std::nullopt;
    Region &region = original.getCondition();
    auto counter = carriedBy(compare->getOperand(0), region);
    auto end = numberOf(compare->getOperand(1), region);
    if (!counter || !end)
      return std::nullopt;
    auto sum = withoutReshapes(bodyYield(*counter)).getDefiningOp<AddOp>();
    auto begin = followIntegers(withoutReshapes(inits[*counter]));
    if (!sum || !begin || begin->size() != 1 || !begin->front().value)
      return std::nullopt;
    for (int at : {0, 1}) {
      auto step = numberOf(sum->getOperand(1 - at), bodyRegion);
      if (carriedBy(sum->getOperand(at), bodyRegion) != counter || !step || *step < 1)
        continue;
      int64_t way = std::max<int64_t>(*end - *begin->front().value, 0);
      int64_t trips = way / *step + (way % *step != 0);
      return trips <= most ? std::optional(trips) : std::nullopt;
    }
    return std::nullopt;
  }

  /// Puts the loop that keeps before the original, and has it read in that one's place.
  LogicalResult repeatInPlace() {
    OpBuilder::InsertionGuard guard(a.b);
    bool replaces = true;
    original->walk([&](AssertOp) { replaces = false; });
    for (size_t i = 0; i < count; ++i)
      replaces &= original->getResult(i).getType() == inits[i].getType();
    if (replaces)
      a.b.setInsertionPoint(original);
    zero = a.reshape(a.ints({0}), a.ints({}));
    one = a.reshape(a.ints({1}), a.ints({}));
    if (failed(repeat()))
      return failure();
    for (size_t i = 0; i < count && replaces; ++i)
      original->getResult(i).replaceAllUsesWith(again->getResult(i));
    return success();
  }

  /// The loop again, which counts its trips and keeps what each began with.
  LogicalResult repeat() {
    SmallVector<Value> kept(inits);
    kept.push_back(zero);
    for (Value value : keptValues) {
      IntVector shape(Adjoint::type(value).getShape());
      shape.insert(shape.begin(), bound.value_or(0));
      Value none = a.op<BroadcastToOp>(a.number(value, 0), a.ints(shape));
      if (!bound)
        shape[0] = ShapedType::kDynamic;
      kept.push_back(inType(none, Adjoint::type(value).clone(shape), a));
    }
    auto made = loop(
        kept,
        [&](ValueRange values) -> FailureOr<SmallVector<Value>> {
          IRMapping mapping;
          Region &condition = original.getCondition();
          mapping.map(condition.getArguments(), values.take_front(count));
          return replay(condition.front(), mapping, a);
        },
        [&](ValueRange values) -> FailureOr<SmallVector<Value>> {
          IRMapping mapping;
          mapping.map(bodyRegion.getArguments(), values.take_front(count));
          SmallVector<Value> next = replay(bodyRegion.front(), mapping, a);
          next.push_back(a.plus(values[count], one));
          for (auto [at, value] : llvm::enumerate(keptValues)) {
            IntVector shape(Adjoint::type(value).getShape());
            shape.insert(shape.begin(), 1);
            Value row = a.reshape(mapping.lookup(value), a.ints(shape));
            Value before = values[count + 1 + at];
            next.push_back(bound
                               ? a.op<ScatterNdOp>(before, a.reshape(values[count], a.ints({1, 1})),
                                                   row, "none", false, false)
                               : a.concat({before, row}, 0));
          }
          return next;
        },
        a);
    if (failed(made))
      return failure();
    again = *made;
    return success();
  }

  /// Backward: the trip, the gradients of what it ended with, and the sums for what comes
  /// from around.
  LogicalResult goBack() {
    captured = capturedBy(MutableArrayRef<Region>(bodyRegion), a);
    SmallVector<Value> state = {again->getResult(count)};
    for (size_t i = 0; i < count; ++i)
      if (isa<FloatType>(Adjoint::type(inits[i]).getElementType())) {
        floats.push_back(i);
        state.push_back(gradients[i] ? inType(gradients[i], inits[i].getType(), a)
                                     : a.zeros(inits[i]));
      }
    for (Value x : captured)
      state.push_back(inType(a.zeros(x), x.getType(), a));
    auto backward = loop(
        state,
        [&](ValueRange values) -> FailureOr<SmallVector<Value>> {
          return SmallVector<Value>{a.compare("gt", values[0], zero)};
        },
        [&](ValueRange values) { return tripBack(values); }, a);
    if (failed(backward))
      return failure();
    SmallVector<Value> results((*backward)->getResults());
    // Of segments that would keep rows of all trips.
    if (bound && !goesOverSegments(original))
      results = LoopSums(cast<WhileOp>(*backward), 1 + floats.size(), *bound, a).moveBehind();
    for (auto [at, i] : llvm::enumerate(floats))
      a.add(inits[i], results[1 + at]);
    for (auto [at, x] : llvm::enumerate(captured))
      a.add(x, results[1 + floats.size() + at]);
    return success();
  }

  FailureOr<SmallVector<Value>> tripBack(ValueRange values) {
    Value trip = a.minus(values[0], one);
    IRMapping mapping, found;
    for (auto [at, value] : llvm::enumerate(keptValues)) {
      Value row = a.op<GatherOp>(again->getResult(count + 1 + at), trip, 0, 0, false);
      found.map(value, inType(row, value.getType(), a));
    }
    SmallVector<Value> begins;
    for (size_t i = 0; i < count; ++i) {
      BlockArgument argument = bodyRegion.getArgument(i);
      begins.push_back(isInvariant[i] ? inType(inits[i], argument.getType(), a)
                                      : found.lookup(argument));
      mapping.map(argument, begins.back());
    }
    SmallVector<Value> ends = replay(bodyRegion.front(), mapping, a);
    SmallVector<Value> ys, seeds, xs;
    for (auto [at, i] : llvm::enumerate(floats)) {
      ys.push_back(ends[i]);
      seeds.push_back(values[1 + at]);
      xs.push_back(begins[i]);
    }
    xs.append(captured);
    auto made = differentiate(ys, seeds, xs, a.b);
    if (failed(made))
      return failure();
    // Products that have been kept are ways of gradients, but are not made again.
    for (Value value : keptValues)
      if (!isa<BlockArgument>(value))
        mapping.lookup(value).replaceAllUsesWith(found.lookup(value));
    SmallVector<Value> next = {trip};
    for (auto [at, x] : llvm::enumerate(xs)) {
      Value gradient = (*made)[at];
      bool isSum = at >= floats.size();
      if (!gradient)
        next.push_back(isSum ? values[1 + at] : a.zeros(x));
      else
        next.push_back(isSum ? accumulateThroughLoops(values[1 + at], gradient, a) : gradient);
    }
    return next;
  }

  WhileOp original;
  ArrayRef<Value> gradients;
  Adjoint &a;
  SmallVector<Value> inits;
  size_t count;
  Region &bodyRegion;
  Value zero, one;
  std::vector<bool> isInvariant; ///< by carried value: each trip hands on what it was given
  std::optional<int64_t> bound;  ///< of trips
  SmallVector<Value> keptValues; ///< of the body: arguments and results
  Operation *again = nullptr;    ///< behind the carried values: trips, and what was kept of each
  SmallVector<Value> captured;   ///< from around the loop
  SmallVector<size_t> floats;    ///< of the carried values
};

LogicalResult whileLoop(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto original = cast<WhileOp>(op);
  if (auto given = op->getAttrOfType<IntegerAttr>(givenGradientAttr))
    return givenGradient(original, given.getInt(), gradients, a);
  return LoopGradient(original, gradients, a).run();
}

/// A user's function: its description names another one that computes the
/// gradients of those inputs that are floats, from inputs, results, gradients of
/// results, and what the node's attributes were handed over as.
LogicalResult customCall(Operation *op, ArrayRef<Value> gradients, Adjoint &a) {
  auto call = cast<CustomCallOp>(op);
  auto names = op->getAttrOfType<ArrayAttr>(customGradientAttr);
  if (!names)
    return failure();
  auto constants = op->getAttrOfType<IntegerAttr>(customConstantsAttr);
  size_t attributeCount = constants ? size_t(constants.getInt()) : 0;
  ValueRange inputs = call.getInputs().drop_back(attributeCount);
  SmallVector<Value> operands(inputs);
  llvm::append_range(operands, call.getResults());
  for (auto [result, gradient] : llvm::zip(call.getResults(), gradients))
    if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
      operands.push_back(gradient ? gradient : a.zeros(result));
  SmallVector<Value> floats;
  for (Value input : inputs)
    if (isa<FloatType>(getElementTypeOrSelf(input.getType())))
      floats.push_back(input);
  llvm::append_range(operands, call.getInputs().take_back(attributeCount));
  auto made = CustomCallOp::create(a.b, a.loc, ValueRange(floats).getTypes(), operands,
                                   cast<StringAttr>(names[1]), call.getParametersAttr(),
                                   call.getPureAttr());
  made->setAttr("weir.operation", names[0]);
  if (constants)
    made->setAttr(customConstantsAttr, constants);
  for (auto [input, gradient] : llvm::zip(floats, made.getResults()))
    a.add(input, gradient);
  return success();
}

} // namespace

ArrayRef<Row> weir::gradient::controlRules() {
  static const Row rows[] = {
      {"custom_call", customCall},
      {"if", branch},
      {"while", whileLoop},
  };
  return rows;
}
