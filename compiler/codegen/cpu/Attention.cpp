//===- Attention.cpp - attention by blocks of keys ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// softmax(f(Q K^T)) V for a block of queries a part. Keys come by blocks: their scores
// with all of the part's queries lie on the stack, become logits and then weights there,
// and are multiplied with the block's values. Each query has the maximum and the sum of
// the weights so far; where a block raises the maximum, what was summed before it is
// scaled down (Milakov and Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022,
// arXiv:2205.14135). Operands are brought into the order of register tiles on the way,
// whatever order they have in memory.
// Heads that share keys and values are a part together: their queries lie one behind
// the other, and keys are read once for all of them.
// Where the schedule says so, what lies on the stack for the products is bf16: words of 32
// bits, which hold two elements of a query, or of a row of weights, and two rows of a panel's
// column. Scores and sums are f32.
//
// A query whose logits are all -inf has weights 0 in every block, and 0 / 0 in the end:
// the NaN that the definition gives.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/AttentionBlocks.h"
#include "dialects/weir/Pch.h"
#include "passes/analysis/AttentionGradient.h"

using namespace mlir;
using namespace weir;

namespace {

TileShape shapeOf(ArrayRef<int64_t> tile) { return TileShape{tile[0], tile[1], tile[2]}; }

class AttentionEmitter : AttentionBlocks {
public:
  AttentionEmitter(KernelBuilder &r, plan::KernelOp kernel, Attention attention)
      : AttentionBlocks(r, kernel, shapeOf(kernel.getSchedule()[plan::schedule::tile]),
                        cast<RankedTensorType>(attention.product.getType()).getRank()),
        attention(std::move(attention)), target(r.bufferOf(this->attention.root->getResult(0))) {
    plan::ScheduleAttr schedule = kernel.getSchedule();
    valueTile = shapeOf(schedule[plan::schedule::valueTile]);
    isRounded = bool(schedule[plan::schedule::rounded]);
    rowBlock = schedule[plan::schedule::blocks][0];
    keyBlock = schedule[plan::schedule::blocks][1];
    auto logits = cast<RankedTensorType>(this->attention.product.getLhs().getType());
    staticRows = logits.getDimSize(rank - 2);
    staticKeys = logits.getDimSize(rank - 1);
    size = cast<RankedTensorType>(this->attention.scores.getLhs().getType()).getShape().back();
    columns = target.type.getShape().back();
    isOneBlock = !ShapedType::isDynamic(staticKeys) && staticKeys <= keyBlock;
  }

  void emit(Value begin, Value end) {
    DotGeneralOp product = attention.product;
    rows = r.dim(product.getLhs(), rank - 2);
    keys = r.dim(attention.logits, rank - 1);
    // Tiles run over the end of a block of rows where their number is open.
    int64_t most = rowBlock + std::max(scoresTile.rows, valueTile.rows);
    pitch = keyBlock + lanes; // not a power of two: rows would share sets of the cache
    queryPitch = stepsOf(llvm::alignTo(size, lanes));
    valuePitch = llvm::alignTo(columns, valueTile.width());
    queries = stackFloats(r, most * queryPitch);
    panel = stackFloats(r, stepsOf(size) * scoresTile.width());
    scores = stackFloats(r, most * pitch);
    values = stackFloats(r, stepsOf(keyBlock) * valuePitch);
    results = stackFloats(r, most * valuePitch);
    maxima = stackFloats(r, rowBlock);
    sums = stackFloats(r, rowBlock);
    auto parts = kernel.getSchedule()[plan::schedule::parts];
    for (int64_t i = 0; i < rank; ++i)
      if (dimOf(i) == rank - 3)
        group = parts[i];
    queryBlock = rowBlock / group;
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      SmallVector<Value> indices = r.blockIndices(part, target.dims, parts);
      at.assign(rank, Value());
      for (int64_t i = 0; i < rank; ++i)
        at[dimOf(i)] = indices[i];
      if (group > 1)
        at[rank - 3] = r.mul(at[rank - 3], r.constant(group));
      firstQuery = r.mul(at[rank - 2], r.constant(queryBlock));
      bool isExact = !ShapedType::isDynamic(staticRows) && staticRows % queryBlock == 0;
      queryCount = isExact ? r.constant(queryBlock)
                           : r.minimum(r.constant(queryBlock), r.sub(rows, firstQuery));
      rowCount = r.mul(queryCount, r.constant(group));
      emitPart();
    });
  }

private:
  /// How many steps of a product `elements` of its sum are, each an element of 32 bits: two of
  /// them where they are rounded.
  int64_t stepsOf(int64_t elements) const { return isRounded ? elements / 2 : elements; }
  /// Two vectors of f32 as bf16, one behind the other.
  Value roundBoth(Value first, Value second) {
    auto type = VectorType::get({2 * lanes}, b.getBF16Type());
    // The instruction's first operand is the upper half.
    return LLVM::CallIntrinsicOp::create(b, r.loc, type,
                                         b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
                                         ValueRange{second, first})
        ->getResult(0);
  }
  /// Of two rows, words that hold an element of each.
  Value roundRows(Value first, Value second) {
    Value both = roundBoth(first, second);
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane)
      order.append({lane, lanes + lane});
    return vector::ShuffleOp::create(b, r.loc, both, both, order);
  }
  /// Of one row, words that hold two neighbours.
  Value asWords(Value both) {
    return LLVM::BitcastOp::create(b, r.loc, VectorType::get({lanes}, b.getI32Type()), both);
  }
  /// Stores a vector of whatever type at word `linear`.
  void storeWords(Value vector, Value pointer, Value linear) {
    LLVM::StoreOp::create(b, r.loc, vector, BufferAccess::address(r, pointer, f32, linear),
                          /*alignment=*/4);
  }
  /// A row's vector of number `first` of the elements behind `base`, a word: rounded, if they are.
  void storeStep(Value vector, Value pointer, Value base, Value first) {
    if (!isRounded)
      return storeVector(vector, pointer, r.add(base, first));
    Value narrow =
        arith::TruncFOp::create(b, r.loc, VectorType::get({lanes}, b.getBF16Type()), vector);
    storeWords(narrow, pointer, r.add(base, r.divide(first, r.constant(2))));
  }
  /// An element of a step's left operand.
  Value loadLeft(Value pointer, Value linear) {
    return isRounded ? Value(LLVM::LoadOp::create(b, r.loc, b.getI32Type(),
                                                  BufferAccess::address(r, pointer, f32, linear),
                                                  /*alignment=*/4))
                     : load(pointer, linear);
  }

  /// The product's dimension that is number `i` of the result.
  int64_t dimOf(int64_t i) { return attention.order ? attention.order.getPermutation()[i] : i; }

  /// Indices of a row of the part: of one of the heads that share its keys, one of the queries.
  SmallVector<Value> rowPlace(Value row, Value last) {
    SmallVector<Value> indices(at.begin(), at.begin() + rank - 2);
    Value query = row;
    if (group > 1) {
      Value head = r.divide(row, queryCount);
      indices[rank - 3] = r.add(indices[rank - 3], head);
      query = r.sub(row, r.mul(head, queryCount));
    }
    indices.append({r.add(firstQuery, query), last});
    return indices;
  }

  Value lowest() { return splat(-std::numeric_limits<double>::infinity()); }
  /// The greater lanes of `x`, those of `other` where `x` is NaN: one instruction.
  Value greater(Value x, Value other) {
    Value is = arith::CmpFOp::create(b, r.loc, arith::CmpFPredicate::OGT, x, other);
    return arith::SelectOp::create(b, r.loc, is, x, other);
  }
  /// Whether the row has no weights, whatever its logits: a vector of i1.
  Value isBlind(Value row) {
    VectorReader reader(r, lanes);
    return reader.broadcast(
        weir::detail::broadcastElement(reader, attention.blind, rowPlace(row, r.constant(0))));
  }

  void emitPart() {
    Value zero = r.constant(0);
    emitStepLoop(r, zero, rowCount, 1, [&](Value row) {
      forVectors(size, [&](Value first, Value mask) {
        Value query = operandVector(attention.scores.getLhs(), rowPlace(row, first), first, mask);
        storeStep(query, queries, r.mul(row, r.constant(queryPitch)), first);
      });
      if (isOneBlock)
        return;
      store(maxima, row,
            arith::ConstantOp::create(b, r.loc,
                                      b.getF32FloatAttr(-std::numeric_limits<float>::infinity())));
      store(sums, row, arith::ConstantOp::create(b, r.loc, b.getF32FloatAttr(0)));
      for (int64_t column = 0; column < valuePitch; column += lanes)
        storeVector(splat(0), results, resultIndex(row, r.constant(column)));
    });
    if (isOneBlock) {
      emitKeys(zero, keys);
    } else {
      bool isExact = !ShapedType::isDynamic(staticKeys) && staticKeys % keyBlock == 0;
      emitStepLoop(r, zero, keys, keyBlock, [&](Value first) {
        emitKeys(first, isExact ? r.constant(keyBlock)
                                : r.minimum(r.constant(keyBlock), r.sub(keys, first)));
      });
    }
    finish();
  }

  Value resultIndex(Value row, Value column) {
    return r.add(r.mul(row, r.constant(valuePitch)), column);
  }

  /// Takes in the block of `count` keys from `first` on.
  void emitKeys(Value first, Value count) {
    emitStepLoop(r, r.constant(0), count, scoresTile.width(), [&](Value offset) {
      packKeys(r.add(first, offset));
      multiplyKeys(offset);
    });
    emitStepLoop(r, r.constant(0), rowCount, 1, [&](Value row) { weigh(row, first, count); });
    packValues(first, count);
    multiplyValues(count);
  }

  /// The keys from `first` on as columns of a panel; those beyond the last are any.
  void packKeys(Value first) {
    Value tensor = attention.scores.getRhs();
    Value end = r.sub(keys, r.constant(1));
    bool isWhole = !ShapedType::isDynamic(staticKeys) && staticKeys % scoresTile.width() == 0;
    auto inPanel = [&](Value row, int64_t lane) {
      return r.add(r.mul(row, r.constant(scoresTile.width())), r.constant(lane));
    };
    for (int64_t v = 0; v < scoresTile.vectors; ++v) {
      Value key = r.add(first, r.constant(v * lanes));
      if (!attention.keysAreRows()) {
        Value mask = isWhole ? Value() : maskOf(r.sub(keys, key));
        auto row = [&](Value i) { return operandVector(tensor, place(i, key), key, mask); };
        emitStepLoop(r, r.constant(0), r.constant(stepsOf(size)), 1, [&](Value i) {
          if (!isRounded)
            return storeVector(row(i), panel, inPanel(i, v * lanes));
          Value even = r.mul(i, r.constant(2));
          storeWords(roundRows(row(even), row(r.add(even, r.constant(1)))), panel,
                     inPanel(i, v * lanes));
        });
        continue;
      }
      SmallVector<Value> which;
      for (int64_t i = 0; i < lanes; ++i) {
        Value own = r.add(key, r.constant(i));
        which.push_back(isWhole ? own : r.minimum(own, end));
      }
      auto turnBlock = [&](Value i, int64_t count) {
        auto line = [&](Value own, Value from, int64_t left) {
          Value mask = left < lanes ? maskOf(r.constant(left)) : Value();
          return operandVector(tensor, place(from, own), from, mask);
        };
        SmallVector<Value> block;
        for (Value own : which) {
          if (!isRounded) {
            block.push_back(line(own, i, count));
            continue;
          }
          Value from = r.mul(i, r.constant(2));
          Value first = line(own, from, 2 * count);
          int64_t left = 2 * count - lanes;
          Value second = left > 0 ? line(own, r.add(from, r.constant(lanes)), left) : splat(0);
          block.push_back(asWords(roundBoth(first, second)));
        }
        turn(b, r.loc, block);
        for (int64_t row = 0; row < count; ++row)
          storeWords(block[row], panel, inPanel(r.add(i, r.constant(row)), v * lanes));
      };
      emitTiled(r, stepsOf(size), lanes, [&](Value i) { turnBlock(i, lanes); }, turnBlock);
    }
  }

  /// Scores of all rows with the panel's keys, `offset` into the block.
  void multiplyKeys(Value offset) {
    Value depth = r.constant(stepsOf(size));
    forRows(rowCount, scoresTile.rows, [&](int64_t height, Value first) {
      auto left = [&](int64_t row, ValueRange k) {
        Value from = r.add(first, r.constant(row));
        return loadLeft(queries, r.add(r.mul(from, r.constant(queryPitch)), k[0]));
      };
      auto right = [&](int64_t vector, ValueRange k) {
        Value linear = r.mul(k[0], r.constant(scoresTile.width()));
        return std::make_pair(panel, r.add(linear, r.constant(vector * lanes)));
      };
      TileOperands operands{left, right, /*isPadded=*/true};
      operands.addsPairs = isRounded;
      operands.partial = PartialSums{scores, r.add(r.mul(first, r.constant(pitch)), offset), pitch,
                                     /*isFirst=*/true, /*isLast=*/false};
      tile(attention.scores, {height, scoresTile.vectors, lanes}, depth, operands);
    });
  }

  /// A row's scores become logits, and those weights.
  void weigh(Value row, Value firstKey, Value count) {
    Value base = r.mul(row, r.constant(pitch));
    Value whole = r.divide(count, r.constant(lanes));
    auto logits = [&](Value number, Value mask, Value highest) -> Value {
      Value place = r.add(base, r.mul(number, r.constant(lanes)));
      Value key = r.add(firstKey, r.mul(number, r.constant(lanes)));
      VectorReader reader(r, lanes);
      Value score = reader.load(scores, f32, place);
      reader.setLanes(key, mask);
      reader.setAnchor(attention.scores, score);
      // What makes rows blind may have stretched the weights.
      SmallVector<Value> indices = rowPlace(row, key);
      for (int64_t i = 0; i < rank - 1 && attention.blind; ++i)
        indices[i] =
            r.select(r.equal(r.dim(attention.logits, i), r.constant(1)), r.constant(0), indices[i]);
      Value logit = reader.element(attention.logits, indices);
      if (mask)
        logit = arith::SelectOp::create(b, r.loc, mask, logit, lowest());
      storeVector(logit, scores, place);
      return greater(logit, highest);
    };
    Value highest = emitReductionLoops(r, {whole}, lowest(), [&](ValueRange at, Value carried) {
      return logits(at[0], Value(), carried);
    });
    // What is left does not fill a vector.
    Value left = r.remainder(count, r.constant(lanes));
    if (!matchPattern(left, m_Zero()))
      highest = emitIf(
          r, r.less(r.constant(0), left), [&] { return logits(whole, maskOf(left), highest); },
          [&] { return highest; });
    Value top = vector::ReductionOp::create(b, r.loc, vector::CombiningKind::MAXNUMF, highest);
    Value before;
    if (!isOneBlock) {
      before = load(maxima, row);
      top = greater(top, before);
    }
    store(maxima, row, top);
    // -inf minus itself is no number, yet all of the row may be masked so far.
    Value none = arith::ConstantOp::create(
        b, r.loc, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    Value zero = arith::ConstantOp::create(b, r.loc, b.getF32FloatAttr(0));
    Value isNone = arith::CmpFOp::create(b, r.loc, arith::CmpFPredicate::OEQ, top, none);
    Value shift = vector::BroadcastOp::create(
        b, r.loc, vectorType, arith::SelectOp::create(b, r.loc, isNone, zero, top).getResult());
    Value blind = attention.blind ? isBlind(row) : Value();
    Value vectors = r.divide(r.add(count, r.constant(lanes - 1)), r.constant(lanes));
    Value total =
        emitReductionLoops(r, {vectors}, splat(0), [&](ValueRange at, Value carried) -> Value {
          Value number = r.mul(at[0], r.constant(lanes));
          Value score = loadVector(scores, r.add(base, number));
          Value weight = exponential(arith::SubFOp::create(b, r.loc, score, shift));
          if (blind)
            weight = arith::SelectOp::create(b, r.loc, blind, splat(0), weight);
          // Rounded ones lie over scores that were read already.
          storeStep(weight, scores, base, number);
          return arith::AddFOp::create(b, r.loc, carried, weight);
        });
    Value sum = vector::ReductionOp::create(b, r.loc, vector::CombiningKind::ADD, total,
                                            arith::FastMathFlags::reassoc);
    if (!isOneBlock) {
      Value earlier = vector::BroadcastOp::create(b, r.loc, vectorType, before);
      Value scale = exponential(arith::SubFOp::create(b, r.loc, earlier, shift));
      if (blind)
        scale = arith::SelectOp::create(b, r.loc, blind, splat(1), scale);
      for (int64_t column = 0; column < valuePitch; column += lanes) {
        Value index = resultIndex(row, r.constant(column));
        storeVector(arith::MulFOp::create(b, r.loc, loadVector(results, index), scale), results,
                    index);
      }
      Value one = vector::ExtractOp::create(b, r.loc, scale, ArrayRef<int64_t>{0});
      sum = arith::AddFOp::create(b, r.loc, arith::MulFOp::create(b, r.loc, load(sums, row), one),
                                  sum);
    }
    store(sums, row, sum);
  }

  /// The steps of the block's `count` keys.
  Value valueSteps(Value count) {
    return isRounded ? r.divide(r.add(count, r.constant(1)), r.constant(2)) : count;
  }

  /// The block's values in panels [panels, steps, width], zero beyond the last column.
  void packValues(Value first, Value count) {
    emitStepLoop(r, r.constant(0), valueSteps(count), 1, [&](Value step) {
      for (int64_t column = 0; column < columns; column += lanes) {
        Value index = r.constant(column);
        Value mask = column + lanes > columns ? maskOf(r.constant(columns - column)) : Value();
        auto row = [&](Value key) {
          return operandVector(attention.product.getRhs(), place(r.add(first, key), index), index,
                               mask);
        };
        Value where =
            valueIndex(step, r.constant(column / valueTile.width()), column % valueTile.width());
        if (!isRounded) {
          storeVector(row(step), values, where);
          continue;
        }
        Value even = r.mul(step, r.constant(2)), odd = r.add(even, r.constant(1));
        Value upper;
        if (!ShapedType::isDynamic(staticKeys) && staticKeys % 2 == 0) {
          upper = row(odd);
        } else {
          // A key that is not there has weight 0, and no value that makes that a NaN.
          Value isThere = vector::BroadcastOp::create(
              b, r.loc, VectorType::get({lanes}, b.getI1Type()), r.less(odd, count));
          upper = arith::SelectOp::create(
              b, r.loc, isThere, row(r.minimum(odd, r.sub(count, r.constant(1)))), splat(0));
        }
        storeWords(roundRows(row(even), upper), values, where);
      }
    });
  }
  Value valueIndex(Value step, Value number, int64_t lane) {
    Value row = r.add(r.mul(number, r.constant(stepsOf(keyBlock))), step);
    return r.add(r.mul(row, r.constant(valueTile.width())), r.constant(lane));
  }

  void multiplyValues(Value count) {
    Value panels = r.constant(valuePitch / valueTile.width());
    emitStepLoop(r, r.constant(0), panels, 1, [&](Value number) {
      forRows(rowCount, valueTile.rows, [&](int64_t height, Value first) {
        auto left = [&](int64_t row, ValueRange k) {
          Value from = r.add(first, r.constant(row));
          return loadLeft(scores, r.add(r.mul(from, r.constant(pitch)), k[0]));
        };
        auto right = [&](int64_t vector, ValueRange k) {
          return std::make_pair(values, valueIndex(k[0], number, vector * lanes));
        };
        TileOperands operands{left, right, /*isPadded=*/true};
        operands.addsPairs = isRounded;
        Value column = r.mul(number, r.constant(valueTile.width()));
        operands.partial = PartialSums{results, resultIndex(first, column), valuePitch,
                                       /*isFirst=*/isOneBlock, /*isLast=*/false};
        tile(attention.product, {height, valueTile.vectors, lanes}, valueSteps(count), operands);
      });
    });
  }

  /// What the gradient reads: the query's largest logit, and the sum of its weights.
  void writeStatistics(Value row) {
    auto results = kernel.getBody().front().getTerminator()->getOperands();
    for (auto [statistic, where] :
         {std::pair(attention.maximum, maxima), std::pair(attention.sum, sums)}) {
      Value value = ReduceOp(statistic).getResult();
      if (!llvm::is_contained(results, value))
        continue;
      const KernelBuilder::Buffer &buffer = r.bufferOf(value);
      Value linear = r.linearIndex(buffer, rowPlace(row, r.constant(0)));
      store(buffer.pointer, linear, load(where, row));
    }
  }

  /// Sums over the sum of their weights are the results.
  void finish() {
    Value root = attention.root->getResult(0);
    Value hasKeys = r.less(r.constant(0), keys);
    emitStepLoop(r, r.constant(0), rowCount, 1, [&](Value row) {
      writeStatistics(row);
      Value one = arith::ConstantOp::create(b, r.loc, b.getF32FloatAttr(1));
      // A sum over no keys is 0.
      Value sum = load(sums, row);
      Value isNumber;
      if (attention.dropsNaN) {
        Value none = arith::ConstantOp::create(b, r.loc, b.getF32FloatAttr(0));
        isNumber = arith::CmpFOp::create(b, r.loc, arith::CmpFPredicate::OGT, sum, none);
      }
      Value divisor = r.select(hasKeys, sum, one);
      divisor = vector::BroadcastOp::create(b, r.loc, vectorType, divisor);
      if (attention.blind)
        divisor = arith::SelectOp::create(b, r.loc, isBlind(row), splat(1), divisor);
      forVectors(columns, [&](Value column, Value mask) {
        auto quotient = [&]() -> Value {
          Value sum = loadVector(results, resultIndex(row, column));
          return arith::DivFOp::create(b, r.loc, sum, divisor);
        };
        // Weights of 0 make NaN of values that are none.
        auto ofNoWeights = [&] {
          return emitReductionLoops(
              r, {keys}, splat(0), [&](ValueRange key, Value carried) -> Value {
                Value value =
                    operandVector(attention.product.getRhs(), place(key[0], column), column, mask);
                Value term = arith::MulFOp::create(b, r.loc, value, splat(0));
                return arith::AddFOp::create(b, r.loc, carried, term);
              });
        };
        Value result = attention.dropsNaN ? emitIf(r, isNumber, quotient, ofNoWeights) : quotient();
        VectorReader reader(r, lanes);
        reader.setLanes(column, mask);
        reader.setAnchor(attention.product, result);
        SmallVector<Value> own = rowPlace(row, column), indices(rank);
        for (int64_t i = 0; i < rank; ++i)
          indices[i] = own[dimOf(i)];
        reader.store(reader.element(root, indices), target.pointer, target.type.getElementType(),
                     r.linearIndex(target, indices));
      });
    });
  }

  Attention attention;
  const KernelBuilder::Buffer target;
  TileShape valueTile;
  /// Heads and queries of a part, which are its rows, and keys of a block.
  int64_t group = 1, queryBlock = 1, rowBlock = 1, keyBlock = 1;
  int64_t staticRows = 0, staticKeys = 0;
  int64_t size = 1, columns = 1; ///< of a query, of a value
  int64_t pitch = 1, queryPitch = 1, valuePitch = 1;
  bool isOneBlock = false; ///< all keys: nothing runs on
  bool isRounded = false;  ///< products are of bf16
  Value rows, keys;
  Value queries, panel, scores, values, results, maxima, sums; ///< on the stack
  Value firstQuery, queryCount, rowCount;                      ///< of the part
};

} // namespace

LogicalResult weir::emitAttention(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  if (std::optional<AttentionGradient> gradient = attentionGradientOf(kernel))
    return emitAttentionGradient(r, kernel, std::move(*gradient), begin, end), success();
  std::optional<Attention> attention = hostAttentionOf(kernel);
  if (!attention)
    return kernel.emitError("a schedule of kind attention needs two products around a softmax");
  // The step has checked that sizes go together.
  r.quiet = true;
  if (attention->isPlain)
    AttentionEmitter(r, kernel, std::move(*attention)).emit(begin, end);
  else
    emitAttentionRows(r, kernel, std::move(*attention), begin, end);
  r.quiet = false;
  return success();
}
