//===- CudaAttentionParts.cpp - few queries of many keys ------ -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A decoder's step is as fast as its keys and values are read. A block has a
// part of the keys and all queries of its tile. A few lanes have a key, its
// value, and their share of a head in vectors of 16 bytes; several keys' loads
// are in flight at a time. What lanes and warps have seen meets in the block,
// and what blocks have seen in a second kernel (Dao et al. 2023,
// "Flash-Decoding"), always in the order of the keys' parts.
//
// A query's state is a line of numbers: sums for each column, then the maximum
// that they are relative to, then the sum of weights.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaAttention.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

constexpr int64_t mostRows = 8;        ///< of a tile
constexpr int64_t mostQueries = 16;    ///< more are worth tensor cores
constexpr int64_t mostOpenQueries = 4; ///< that each have a block
constexpr int64_t fewKeys = 256;       ///< known to be as few: one block is enough
constexpr int64_t partThreads = 128;

/// An operand in lines of a head each, read in vectors.
struct Lines {
  AttentionOperand operand;
  BlockArgument buffer;
  std::optional<KnownPart> slice; ///< of the buffer
  int64_t length = 0;             ///< of a line
  int64_t lanes = 1;              ///< elements of a vector
  int64_t vectors() const { return length / lanes; }
};

/// `value` as lines along its dimension `along`; nothing: it lies otherwise.
std::optional<Lines> linesOf(Value value, int64_t along) {
  Lines lines;
  lines.operand = attentionOperand(value);
  Value source = lines.operand.source;
  auto type = cast<RankedTensorType>(source.getType());
  if (lines.operand.order.empty() || lines.operand.order.back() != along ||
      !isa<Float32Type, Float16Type, BFloat16Type>(type.getElementType()))
    return std::nullopt;
  if (auto slice = source.getDefiningOp<SliceOp>()) {
    lines.slice = knownPart(slice);
    if (!lines.slice)
      return std::nullopt;
    source = slice.getOperand();
  }
  lines.buffer = dyn_cast<BlockArgument>(source);
  lines.length = type.getShape().back();
  auto memory = cast<RankedTensorType>(source.getType());
  int64_t last = memory.getRank() - 1;
  if (!lines.buffer || lines.length <= 0 || memory.isDynamicDim(last))
    return std::nullopt;
  bool cutsLines = lines.slice && lines.slice->axis == last;
  int64_t start = cutsLines ? lines.slice->start : 0;
  lines.lanes = 16 / elementBytes(type.getElementType());
  while (lines.length % lines.lanes || memory.getDimSize(last) % lines.lanes || start % lines.lanes)
    lines.lanes /= 2;
  return lines;
}

class PartForm : public AttentionEmitter {
public:
  PartForm(const CudaKernel &k, Attention found, const Lines &keys, const Lines &values,
           ValueRange parameters)
      : AttentionEmitter(k, std::move(found)), queries(attentionOperand(attention.scores.getLhs())),
        keys(keys), values(values), states(parameters[0]) {
    mayShareTile = false; // a block has few queries
    auto number = [&](Value value) -> Value {
      return arith::IndexCastOp::create(b, r.loc, b.getIndexType(), value);
    };
    each = number(parameters[1]);
    parts = number(parameters[2]);
  }

  void emitPart(int64_t rowsOfTile) {
    // Left alone, ptxas has few registers and puts loads behind each other.
    int64_t widest = std::max(size, columns);
    int64_t resident = rowsOfTile > 4 ? 256 : rowsOfTile == 1 && widest <= 128 ? 768 : 512;
    place(partThreads, rowsOfTile, 1, resident, widest, parts);
    wholeKeys = true; // what is beyond the part is masked here
    group = std::min<int64_t>(warpThreads,
                              llvm::PowerOf2Ceil(std::max(keys.vectors(), values.vectors())));
    keyVectors = llvm::divideCeil(keys.vectors(), group);
    valueVectors = llvm::divideCeil(values.vectors(), group);
    atOnce = std::max<int64_t>(1, 4 / std::max(keyVectors, valueVectors));
    lane = r.remainder(thread, index(group));
    Value inWarp = r.remainder(thread, index(warpThreads));
    warp = r.divide(thread, index(warpThreads));
    ownGroup = r.divide(inWarp, index(group));
    SmallVector<Row> rows;
    SmallVector<Value> wanted;
    for (int64_t i = 0; i < tileRows; ++i) {
      rows.push_back(rowAt(index(i)));
      readQuery(rows.back(), wanted);
    }
    Value from = r.mul(part, each);
    Value to = r.minimum(r.add(from, each), keyCount);
    SmallVector<Value> none(tileRows * valueVectors * values.lanes, zero);
    int64_t step = partThreads / group * atOnce;
    SmallVector<Value> sums =
        alongKeys(from, to, step, rows, none, [&](Value first, SmallVector<Value> &sums) {
          takeKeys(first, to, wanted, rows, sums);
        });
    int64_t width = sums.size() / tileRows;
    for (int64_t i = 0; i < tileRows; ++i)
      joinWarp(rows[i], MutableArrayRef(sums).slice(i * width, width));
    joinBlock(rows, sums);
  }

  void emitJoin() {
    place(joinThreads(), 1, 1, 0, 0);
    Row row = rowAt(index(0));
    Value column = thread, isColumn = r.less(column, index(columns));
    Value own = r.minimum(column, index(columns - 1));
    auto state = [&](Value part, Value place) {
      return BufferAccess::load(r, states, f32, stateAt(row, part, place));
    };
    SmallVector<Value> top = byParts({lowest}, [&](Value part, SmallVector<Value> &values) {
      values[0] = arith::MaxNumFOp::create(b, r.loc, values[0], state(part, index(columns)));
    });
    Value shift = shiftOf(top[0]);
    SmallVector<Value> all = byParts({zero, zero}, [&](Value part, SmallVector<Value> &values) {
      Value factor = exponential(state(part, index(columns)), shift);
      values[0] = math::FmaOp::create(b, r.loc, factor, state(part, own), values[0]);
      values[1] = math::FmaOp::create(b, r.loc, factor, state(part, index(columns + 1)), values[1]);
    });
    row.sum = all[1];
    Value divisor = divisorOf(row, 1);
    r.onlyIf(isColumn,
             [&] { store(row, column, true, arith::DivFOp::create(b, r.loc, all[0], divisor)); });
  }

  int64_t joinThreads() const { return llvm::alignTo(columns, warpThreads); }

private:
  /// Where a number of a query's state lies that a part leaves.
  Value stateAt(const Row &row, Value part, Value place) {
    Value line = r.add(r.mul(tile, rowCount), row.index);
    line = r.add(r.mul(line, parts), part);
    return r.add(r.mul(line, index(columns + 2)), place);
  }

  SmallVector<Value> byParts(SmallVector<Value> values,
                             function_ref<void(Value, SmallVector<Value> &)> body) {
    auto loop = scf::ForOp::create(b, r.loc, index(0), parts, index(1), values);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next(loop.getRegionIterArgs());
    body(loop.getInductionVar(), next);
    scf::YieldOp::create(b, r.loc, next);
    return loop.getResults();
  }

  /// Number of vector `number` of the lane in its line.
  Value vectorAt(int64_t number) { return r.add(lane, index(number * group)); }

  Value widened(Value value) { return scoreScalars.cast(value, value.getType(), f32, false); }

  /// What of the query the lane multiplies keys by.
  void readQuery(const Row &row, SmallVector<Value> &wanted) {
    for (int64_t c = 0; c < keyVectors; ++c)
      for (int64_t i = 0; i < keys.lanes; ++i) {
        Value place = r.add(r.mul(vectorAt(c), index(keys.lanes)), index(i));
        bool isWhole = keyVectors * group == keys.vectors();
        wanted.push_back(within(size, isWhole, place, zero, [&](Value place) {
          return widened(queryAt(queries, row, place, true));
        }));
      }
  }

  /// A lane's vector of a line, as it lies in memory; of the last one for those
  /// beyond.
  SmallVector<Value> load(const Lines &lines, Value key, int64_t keyDim, int64_t number) {
    auto type = cast<RankedTensorType>(lines.operand.source.getType());
    SmallVector<Value> at(batch), own;
    at.append(2, key);
    for (auto [i, dim] : llvm::enumerate(lines.operand.order)) {
      Value place = sourceIndex(lines.operand, dim, at[dim]);
      if (int64_t(i) + 1 == type.getRank())
        place = r.mul(r.minimum(vectorAt(number), index(lines.vectors() - 1)), index(lines.lanes));
      else if (type.getDimSize(i) == 1)
        place = index(0);
      else if (dim != keyDim && type.isDynamicDim(i))
        place = r.minimum(place, r.sub(r.dim(lines.operand.source, i), index(1)));
      if (lines.slice && lines.slice->axis == int64_t(i))
        place = r.add(place, index(lines.slice->start));
      own.push_back(place);
    }
    const KernelBuilder::Buffer &buffer = r.bufferOf(lines.buffer);
    return r.neighbours(buffer, r.linearIndex(buffer, own), lines.lanes);
  }
  SmallVector<Value> loadLine(const Lines &lines, Value key, int64_t keyDim, int64_t vectors) {
    SmallVector<Value> line;
    for (int64_t c = 0; c < vectors; ++c)
      line.append(load(lines, key, keyDim, c));
    return line;
  }
  Value numberOf(const Lines &lines, Value stored) {
    return widened(
        BufferAccess::fromStorage(r, stored, getElementTypeOrSelf(lines.operand.source.getType())));
  }

  /// The score that a group's lanes find of a query and a key, in each of them.
  Value scoreOf(ArrayRef<Value> query, ArrayRef<Value> key) {
    Value score = zero;
    for (int64_t c = 0; c < keyVectors; ++c) {
      Value sum = score;
      for (int64_t i = c * keys.lanes; i < (c + 1) * keys.lanes; ++i)
        sum = math::FmaOp::create(b, r.loc, query[i], numberOf(keys, key[i]), sum);
      bool isWhole = (c + 1) * group <= keys.vectors();
      score = isWhole ? sum : choose(r.less(vectorAt(c), index(keys.vectors())), sum, score);
    }
    for (int64_t distance = group / 2; distance > 0; distance /= 2)
      score = plus(score, shuffle(r, score, distance));
    double scale = queries.scale * keys.operand.scale;
    return scale == 1 ? score : multiply(score, number(scale));
  }

  /// Takes in the block's keys from `first` on, those below `to`.
  void takeKeys(Value first, Value to, ArrayRef<Value> wanted, SmallVector<Row> &rows,
                SmallVector<Value> &sums) {
    int64_t groups = warpThreads / group;
    int64_t keyDim = 2 * rank - 3 - attention.scores.getRhsContract()[0],
            valueDim = attention.product.getRhsContract()[0];
    SmallVector<Value> own, inside;
    SmallVector<SmallVector<Value>> ofKeys, ofValues;
    for (int64_t i = 0; i < atOnce; ++i) {
      Value key = r.add(
          first, r.add(r.mul(warp, index(groups * atOnce)), r.add(ownGroup, index(i * groups))));
      inside.push_back(r.less(key, to));
      own.push_back(r.minimum(key, r.sub(to, index(1))));
    }
    // All loads before what waits for them.
    for (Value key : own)
      ofKeys.push_back(loadLine(keys, key, keyDim, keyVectors));
    for (Value key : own)
      ofValues.push_back(loadLine(values, key, valueDim, valueVectors));
    int64_t width = keyVectors * keys.lanes, columnsEach = valueVectors * values.lanes;
    for (auto [n, row] : llvm::enumerate(rows)) {
      SmallVector<Value> weights;
      for (int64_t i = 0; i < atOnce; ++i)
        weights.push_back(choose(
            inside[i], logitOf(scoreOf(wanted.slice(n * width, width), ofKeys[i]), row, own[i]),
            lowest));
      Value factor = weigh(weights, row, 1);
      for (int64_t c = 0; c < columnsEach; ++c) {
        Value &sum = sums[n * columnsEach + c];
        sum = multiply(sum, factor);
        for (int64_t i = 0; i < atOnce; ++i)
          sum = math::FmaOp::create(b, r.loc, weights[i], numberOf(values, ofValues[i][c]), sum);
      }
    }
  }

  /// Brings together what the warp's groups have seen, in each of them.
  void joinWarp(Row &row, MutableArrayRef<Value> sums) {
    Value top = row.most;
    for (int64_t distance = group; distance < warpThreads; distance *= 2)
      top = arith::MaxNumFOp::create(b, r.loc, top, shuffle(r, top, distance));
    Value factor = exponential(row.most, shiftOf(top));
    auto joined = [&](Value sum) {
      sum = multiply(sum, factor);
      for (int64_t distance = group; distance < warpThreads; distance *= 2)
        sum = plus(sum, shuffle(r, sum, distance));
      return sum;
    };
    row.most = top;
    row.sum = joined(row.sum);
    for (Value &sum : sums)
      sum = joined(sum);
  }

  /// Brings together what the warps have seen, and leaves it for the other
  /// kernel.
  void joinBlock(ArrayRef<Row> rows, ArrayRef<Value> sums) {
    constexpr int64_t warps = partThreads / warpThreads;
    int64_t columnsEach = valueVectors * values.lanes, state = columns + 2;
    Value all = r.shared(f32, {tileRows, warps, state});
    auto put = [&](int64_t row, Value place, Value value) {
      memref::StoreOp::create(b, r.loc, value, all, ValueRange{index(row), warp, place});
    };
    Value leads = r.equal(r.remainder(thread, index(warpThreads)), index(0));
    for (int64_t n = 0; n < tileRows; ++n) {
      for (int64_t c = 0; c < valueVectors; ++c) {
        Value isOwn =
            r.logicalAnd(r.equal(ownGroup, index(0)), r.less(vectorAt(c), index(values.vectors())));
        r.onlyIf(isOwn, [&] {
          for (int64_t i = 0; i < values.lanes; ++i)
            put(n, r.add(r.mul(vectorAt(c), index(values.lanes)), index(i)),
                sums[n * columnsEach + c * values.lanes + i]);
        });
      }
      r.onlyIf(leads, [&] {
        put(n, index(columns), rows[n].most);
        put(n, index(columns + 1), rows[n].sum);
      });
    }
    r.barrier();
    for (int64_t n = 0; n < tileRows; ++n) {
      auto get = [&](int64_t warp, Value place) -> Value {
        return memref::LoadOp::create(b, r.loc, all, ValueRange{index(n), index(warp), place});
      };
      Value top = lowest;
      for (int64_t w = 0; w < warps; ++w)
        top = arith::MaxNumFOp::create(b, r.loc, top, get(w, index(columns)));
      SmallVector<Value> factors;
      for (int64_t w = 0; w < warps; ++w)
        factors.push_back(exponential(get(w, index(columns)), shiftOf(top)));
      for (int64_t begin = 0; begin < state; begin += partThreads) {
        Value place = r.add(thread, index(begin));
        Value isInside = begin + partThreads <= state ? yes : r.less(place, index(state));
        r.onlyIf(r.logicalAnd(rows[n].exists, isInside), [&] {
          Value sum = zero;
          for (int64_t w = 0; w < warps; ++w)
            sum = math::FmaOp::create(b, r.loc, factors[w], get(w, place), sum);
          sum = choose(r.equal(place, index(columns)), top, sum);
          BufferAccess::store(r, sum, states, f32, stateAt(rows[n], part, place));
        });
      }
    }
  }

  AttentionOperand queries;
  Lines keys, values;
  Value states, each, parts; ///< the second: keys of a part
  Value lane, warp, ownGroup;
  int64_t group = 1;                        ///< lanes of a key
  int64_t keyVectors = 1, valueVectors = 1; ///< of a lane
  int64_t atOnce = 1;                       ///< keys that a lane works on
};

/// Which sizes a launch has to look at.
LaunchParts describe(const Attention &attention, const Lines &keys, int64_t queries,
                     int64_t keyCount, int64_t keyDim) {
  LaunchParts parts;
  bool isOpen = ShapedType::isDynamic(queries);
  // Of an open number each has a block: those of a part meet in the
  // second-level cache.
  parts.rows = isOpen ? 1 : llvm::divideCeil(queries, llvm::divideCeil(queries, mostRows));
  parts.mostQueries = isOpen ? mostOpenQueries : queries;
  parts.threads = partThreads;
  if (!ShapedType::isDynamic(keyCount))
    parts.keys = keyCount;
  parts.keysOperand = keys.buffer.getArgNumber();
  for (auto [i, dim] : llvm::enumerate(keys.operand.order))
    if (dim == keyDim)
      parts.keysDim = int64_t(i);
  return parts;
}

} // namespace

void weir::emitAttentionParts(plan::KernelOp kernel, StringRef symbol, gpu::GPUModuleOp module,
                              SiteTable &sites, LaunchShape &shape) {
  std::optional<Attention> attention = attentionOf(kernel);
  if (!attention)
    return;
  auto logits = cast<RankedTensorType>(attention->product.getLhs().getType());
  int64_t rank = logits.getRank(), queryCount = logits.getDimSize(rank - 2),
          keyCount = logits.getDimSize(rank - 1);
  int64_t sizeDim = attention->scores.getRhsContract()[0],
          valueDim = attention->product.getRhsContract()[0];
  auto keys = linesOf(attention->scores.getRhs(), sizeDim);
  auto values = linesOf(attention->product.getRhs(), 2 * rank - 3 - valueDim);
  bool hasFew = ShapedType::isDynamic(queryCount) || queryCount <= mostQueries;
  bool hasMany = ShapedType::isDynamic(keyCount) || keyCount > fewKeys;
  if (!hasFew || !hasMany || !keys || !values || values->operand.scale != 1)
    return;
  LaunchParts parts = describe(*attention, *keys, queryCount, keyCount, 2 * rank - 3 - sizeDim);
  Type i64 = IntegerType::get(kernel.getContext(), 64);
  auto emit = [&](StringRef name, function_ref<void(PartForm &)> body) {
    KernelForm form;
    form.parameters = {LLVM::LLVMPointerType::get(kernel.getContext()), i64, i64};
    auto emitBody = [&](const CudaKernel &k, ValueRange parameters) {
      // The step has checked that sizes go together.
      k.reader.quiet = true;
      PartForm part(k, *attention, *keys, *values, parameters);
      body(part);
      k.reader.quiet = false;
    };
    form.emit = emitBody;
    emitCudaKernel(kernel, name, module, sites, {}, &form);
  };
  parts.part = (symbol + "_part").str();
  parts.join = (symbol + "_join").str();
  emit(parts.part, [&](PartForm &form) {
    form.emitPart(parts.rows);
    parts.joinThreads = form.joinThreads();
  });
  emit(parts.join, [](PartForm &form) { form.emitJoin(); });
  auto columns = cast<RankedTensorType>(attention->product.getType()).getShape().back();
  parts.state = columns + 2;
  shape.parts = std::move(parts);
}
