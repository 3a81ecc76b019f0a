//===- ReplicaMeetings.cpp - where replicas of a step meet ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scatter is an all_reduce of which each replica uses its own part, and a gather a concat of
// what all have: they mean the same wherever replicas are placed, and become collectives of
// their own where each is on a device of its own (passes/partition/HostCollectives.cpp).
//
//===----------------------------------------------------------------------===//

#include "passes/training/ReplicaMeetings.h"

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Rearrange.h"
#include "dialects/weir/Training.h"
#include "passes/analysis/StaticSlice.h"

using namespace mlir;
using namespace weir;
using namespace weir::training;

/// A bucket goes on its way once it has that many bytes: long enough that its way takes longer
/// than to begin it, short enough that the first are on their way early.
static constexpr int64_t bucketBytes = 1 << 20;

bool training::isMeeting(Operation *op) {
  auto gate = dyn_cast<GateOp>(op);
  return gate && (gate->hasAttr(replicaSumAttr) || gate->hasAttr(replicaPartAttr));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Value Meetings::place(Value value) {
  value.getDefiningOp()->setAttr("weir.device",
                                 b.getStringAttr(devices[replica * size_t(places) + size_t(at)]));
  return value;
}

Value Meetings::reshape(Value value, ArrayRef<int64_t> shape, Location loc) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return place(ReshapeOp::create(b, loc, type.clone(shape), value, integers(b, loc, shape)));
}

Value Meetings::slice(Value value, int64_t axis, int64_t begin, int64_t end, Location loc) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (begin == 0 && end == shape[size_t(axis)])
    return value;
  shape[size_t(axis)] = end - begin;
  return place(SliceOp::create(b, loc, type.clone(shape), value, integers(b, loc, {begin}),
                               integers(b, loc, {end}), integers(b, loc, {1}),
                               b.getDenseI64ArrayAttr({axis}), b.getBoolAttr(false)));
}

Value Meetings::concat(ArrayRef<Value> values, int64_t axis, Location loc) {
  if (values.size() == 1)
    return values.front();
  auto type = cast<RankedTensorType>(values.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[size_t(axis)] = 0;
  for (Value value : values)
    shape[size_t(axis)] += cast<RankedTensorType>(value.getType()).getDimSize(unsigned(axis));
  return place(ConcatOp::create(b, loc, type.clone(shape), values, b.getI64IntegerAttr(axis)));
}

//===----------------------------------------------------------------------===//
// What meets
//===----------------------------------------------------------------------===//

void Meetings::add(ArrayRef<GateOp> marks) {
  GateOp mark = marks.front();
  auto part = mark->getAttrOfType<IntegerAttr>(replicaPartAttr);
  Value first = mark.getValue();
  auto known = part ? gathers.find(first) : gathers.end();
  bool isNew = known == gathers.end();
  if (isNew) {
    if (part)
      gathers[first] = meetings.size();
    Meeting meeting{part ? Way::gather : Way::sum, {}, {}};
    if (auto own = mark->getAttrOfType<IntegerAttr>(placeAttr))
      meeting.place = own.getInt();
    for (GateOp of : marks)
      meeting.given.push_back(of.getValue());
    meeting.marks.resize(marks.size());
    meetings.push_back(std::move(meeting));
  }
  Meeting &meeting = isNew ? meetings.back() : meetings[known->second];
  for (auto [mine, of] : llvm::zip(meeting.marks, marks))
    mine.push_back(of);
}

/// A sum is a scatter where each replica takes nothing of it but its own part.
void Meetings::settleWay(Meeting &meeting) {
  SmallVector<SmallVector<Operation *>> slices;
  int64_t axis = -1;
  for (auto [r, marks] : llvm::enumerate(meeting.marks)) {
    Value sum = marks.front()->getResult(0);
    auto op = sum.hasOneUse() ? dyn_cast<SliceOp>(*sum.user_begin()) : SliceOp();
    auto bounds = op ? staticSlice(op) : std::nullopt;
    if (!bounds)
      return;
    auto [along, begin, end] = *bounds;
    int64_t each = meeting.type().getDimSize(unsigned(along)) / int64_t(count());
    if ((axis >= 0 && along != axis) || begin != int64_t(r) * each ||
        end != int64_t(r + 1) * each ||
        each * int64_t(count()) != meeting.type().getDimSize(unsigned(along)))
      return;
    axis = along;
    slices.push_back({op});
  }
  for (auto [marks, own] : llvm::zip(meeting.marks, slices))
    marks.push_back(own.front());
  meeting.way = Way::scatter;
  meeting.axis = axis;
}

/// Marks of all parts, in order, that a concat has and nobody else are that concat.
void Meetings::settleGather(Meeting &meeting) {
  auto numberOf = [](Operation *op) {
    return op->getAttrOfType<IntegerAttr>(replicaPartAttr).getInt();
  };
  for (auto &marks : meeting.marks)
    llvm::sort(marks, [&](Operation *x, Operation *y) { return numberOf(x) < numberOf(y); });
  SmallVector<Operation *> joined;
  for (auto &marks : meeting.marks) {
    Operation *first = marks.front();
    auto join = first->hasOneUse() ? dyn_cast<ConcatOp>(*first->user_begin()) : ConcatOp();
    if (!join || marks.size() != count() || join.getInputs().size() != count())
      return;
    for (auto [mark, input] : llvm::zip(marks, join.getInputs()))
      if (!mark->hasOneUse() || input != mark->getResult(0))
        return;
    joined.push_back(join);
    meeting.axis = join.getAxis();
  }
  for (auto [marks, join] : llvm::zip(meeting.marks, joined))
    marks.push_back(join);
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

/// Behind which operation all replicas have what they give. Marks stand where the optimizer
/// begins with a variable, often long after.
Operation *Meetings::readyAt(const Meeting &meeting) {
  Operation *last = nullptr;
  for (Value value : meeting.given)
    if (Operation *def = value.getDefiningOp(); def && (!last || last->isBeforeInBlock(def)))
      last = def;
  return last ? last : meeting.marks.back().front();
}

/// `bucket` may take one more: it is of the same kind, place and elements, and waits for none of
/// them.
bool Meetings::fits(ArrayRef<Meeting *> bucket, const Meeting &next) const {
  Operation *last = readyAt(next);
  return llvm::all_of(bucket, [&](Meeting *other) {
    return other->way == next.way && other->place == next.place &&
           other->type().getElementType() == next.type().getElementType() &&
           llvm::all_of(other->marks, [&](ArrayRef<Operation *> marks) {
             return llvm::all_of(marks, [&](Operation *mark) {
               return !isMeeting(mark) || llvm::all_of(mark->getUsers(), [&](Operation *user) {
                 return last->isBeforeInBlock(last->getBlock()->findAncestorOpInBlock(*user));
               });
             });
           });
  });
}

/// In the order in which values are there: a bucket ends where it is full, where the next is of
/// another kind, and before a value that waits for one of its members.
void Meetings::run() {
  SmallVector<Meeting *> bucket;
  int64_t bytes = 0;
  auto flush = [&] {
    if (!bucket.empty())
      meet(bucket);
    bucket.clear();
    bytes = 0;
  };
  for (Meeting &meeting : meetings)
    if (meeting.way == Way::sum)
      settleWay(meeting);
    else
      settleGather(meeting);
  SmallVector<Meeting *> order = llvm::to_vector(llvm::make_pointer_range(meetings));
  llvm::sort(order, [](const Meeting *x, const Meeting *y) {
    Operation *one = readyAt(*x), *other = readyAt(*y);
    return one != other ? one->isBeforeInBlock(other) : x < y;
  });
  for (Meeting *meeting : order) {
    if (!fits(bucket, *meeting))
      flush();
    bucket.push_back(meeting);
    int64_t elements = meeting->type().getNumElements();
    bytes += elements * int64_t(meeting->type().getElementTypeBitWidth() / 8) *
             (meeting->way == Way::gather ? int64_t(count()) : 1);
    if (bytes >= bucketBytes)
      flush();
  }
  flush();
}

void Meetings::meet(ArrayRef<Meeting *> bucket) {
  b.setInsertionPointAfter(readyAt(*bucket.back()));
  at = bucket.front()->place;
  switch (bucket.front()->way) {
  case Way::sum:
    sum(bucket);
    break;
  case Way::scatter:
    scatter(bucket);
    break;
  case Way::gather:
    gather(bucket);
    break;
  }
  ++number;
  // What uses a mark stands behind it.
  for (Meeting *meeting : bucket)
    for (auto &marks : meeting->marks)
      for (Operation *mark : llvm::reverse(marks))
        if (mark->use_empty())
          mark->erase();
}

Location Meetings::nameOf(StringRef what, const Meeting &first) {
  return NameLoc::get(b.getStringAttr(what + "/" + std::to_string(number) + "/" +
                                      nodeName(first.marks.front().front()->getLoc())));
}

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// What each replica gives of a bucket, one value behind the other along the last dimension that
/// `flat` leaves, and behind a gate: what no replica computes has no device, and what several have
/// is no part of one.
SmallVector<Value> Meetings::together(ArrayRef<Meeting *> bucket,
                                      llvm::function_ref<Value(const Meeting &, Value)> flat) {
  SmallVector<Value> given;
  for (replica = 0; replica < count(); ++replica) {
    SmallVector<Value> parts;
    Location loc = bucket.front()->marks[replica].front()->getLoc();
    for (Meeting *meeting : bucket)
      parts.push_back(flat(*meeting, meeting->given[replica]));
    auto last = cast<RankedTensorType>(parts.front().getType()).getRank() - 1;
    Value all = concat(parts, last, loc);
    all = reshape(all, {elementsOf(all)}, loc);
    given.push_back(place(GateOp::create(b, loc, all.getType(), all, ValueRange())));
  }
  replica = 0;
  return given;
}

SmallVector<Value> Meetings::flatTogether(ArrayRef<Meeting *> bucket) {
  return together(bucket, [&](const Meeting &, Value value) {
    return reshape(value, {elementsOf(value)}, value.getLoc());
  });
}

/// The sum of what replicas give, which they compute together; of the first replica.
Value Meetings::reduced(ArrayRef<Value> given, Location loc) {
  auto reduce = AllReduceOp::create(b, loc, given.front().getType(), given, ReduceKind::Sum);
  reduce->setAttr(collectiveAttr, b.getUnitAttr());
  return place(reduce);
}

void Meetings::sum(ArrayRef<Meeting *> bucket) {
  Value reduce = reduced(flatTogether(bucket), nameOf("all_reduce", *bucket.front()));
  for (replica = 0; replica < count(); ++replica) {
    int64_t at = 0;
    for (Meeting *meeting : bucket) {
      Operation *mark = meeting->marks[replica].front();
      int64_t elements = meeting->type().getNumElements();
      Value part = slice(reduce, 0, at, at + elements, mark->getLoc());
      at += elements;
      mark->getResult(0).replaceAllUsesWith(
          reshape(part, meeting->type().getShape(), mark->getLoc()));
    }
  }
}

/// As many rows as there are replicas, each the part of one: [A, N p, B] as [N, A p B].
Value Meetings::partsFirst(const Meeting &meeting, Value value, Location loc) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  int64_t outer = 1, n = int64_t(count());
  for (int64_t size : shape.take_front(size_t(meeting.axis)))
    outer *= size;
  int64_t inner = elementsOf(value) / outer / n;
  if (outer > 1) {
    value = reshape(value, {outer, n, inner}, loc);
    auto type = cast<RankedTensorType>(value.getType());
    value = place(TransposeOp::create(b, loc, type.clone({n, outer, inner}), value,
                                      b.getDenseI64ArrayAttr({1, 0, 2})));
  }
  return reshape(value, {n, outer * inner}, loc);
}

/// The same way back, to the shape that parts have together.
Value Meetings::partsBack(const Meeting &meeting, Value parts, Location loc) {
  SmallVector<int64_t> shape(meeting.type().getShape());
  int64_t outer = 1, n = int64_t(count());
  for (int64_t size : ArrayRef(shape).take_front(size_t(meeting.axis)))
    outer *= size;
  int64_t inner = meeting.type().getNumElements() / outer;
  shape[size_t(meeting.axis)] *= n;
  if (outer > 1) {
    parts = reshape(parts, {n, outer, inner}, loc);
    auto type = cast<RankedTensorType>(parts.getType());
    parts = place(TransposeOp::create(b, loc, type.clone({outer, n, inner}), parts,
                                      b.getDenseI64ArrayAttr({1, 0, 2})));
  }
  return reshape(parts, shape, loc);
}

void Meetings::scatter(ArrayRef<Meeting *> bucket) {
  SmallVector<Value> all = together(bucket, [&](const Meeting &meeting, Value value) {
    return partsFirst(meeting, value, value.getLoc());
  });
  Value reduce = reduced(all, nameOf("reduce_scatter", *bucket.front()));
  int64_t each = elementsOf(reduce) / int64_t(count());
  for (replica = 0; replica < count(); ++replica) {
    int64_t at = int64_t(replica) * each;
    for (Meeting *meeting : bucket) {
      Operation *own = meeting->marks[replica].back();
      int64_t elements = elementsOf(own->getResult(0));
      Value part = slice(reduce, 0, at, at + elements, own->getLoc());
      at += elements;
      auto type = cast<RankedTensorType>(own->getResult(0).getType());
      own->getResult(0).replaceAllUsesWith(reshape(part, type.getShape(), own->getLoc()));
    }
  }
}

void Meetings::gather(ArrayRef<Meeting *> bucket) {
  SmallVector<Value> all = flatTogether(bucket);
  Location loc = nameOf("all_gather", *bucket.front());
  Value gathered = concat(all, 0, loc);
  gathered.getDefiningOp()->setAttr(collectiveAttr, b.getUnitAttr());
  auto n = int64_t(count()), each = elementsOf(all.front());
  for (replica = 0; replica < count(); ++replica) {
    int64_t at = 0;
    // Nodes of one name are on one device: all of these are named by their replica.
    Value rows = reshape(gathered, {n, each}, bucket.front()->marks[replica].front()->getLoc());
    for (Meeting *meeting : bucket) {
      ArrayRef<Operation *> marks = meeting->marks[replica];
      int64_t elements = meeting->type().getNumElements();
      Location own = marks.front()->getLoc();
      Value parts = slice(rows, 1, at, at + elements, own);
      at += elements;
      if (auto whole = dyn_cast<ConcatOp>(marks.back())) {
        whole.getResult().replaceAllUsesWith(partsBack(*meeting, parts, own));
        continue;
      }
      for (Operation *mark : marks) {
        int64_t part = mark->getAttrOfType<IntegerAttr>(replicaPartAttr).getInt();
        mark->getResult(0).replaceAllUsesWith(
            reshape(slice(parts, 0, part, part + 1, own), meeting->type().getShape(), own));
      }
    }
  }
}
