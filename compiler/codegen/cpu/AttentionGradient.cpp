//===- AttentionGradient.cpp - attention's gradient by blocks -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part is a head. Keys come by blocks, and for each of them queries by blocks: their scores are
// computed again on the stack, become weights by each query's largest logit and sum, and, with
// the gradients of weights, gradients of scores. Of these three products follow: gradients of
// the block's keys and values add up on the stack, those of queries in the result (Dao et al.
// 2022, arXiv:2205.14135, algorithm 4). Operands are lines on the stack, whatever order they
// have in memory; what scores are products with is turned into panels of columns once a block.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/AttentionGradient.h"
#include "compiler/codegen/cpu/AttentionBlocks.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

namespace {

TileShape shapeOf(ArrayRef<int64_t> tile) { return TileShape{tile[0], tile[1], tile[2]}; }

/// Lines on the stack, `pitch` apart, of which `size` elements are any.
struct Lines {
  Value pointer;
  int64_t size = 0, pitch = 0;
};

class GradientEmitter : AttentionBlocks {
public:
  GradientEmitter(KernelBuilder &r, plan::KernelOp kernel, AttentionGradient gradient)
      : AttentionBlocks(r, kernel, shapeOf(kernel.getSchedule()[plan::schedule::tile]),
                        cast<RankedTensorType>(gradient.softmaxGradient.getType()).getRank()),
        form(std::move(gradient)) {
    plan::ScheduleAttr schedule = kernel.getSchedule();
    valueTile = shapeOf(schedule[plan::schedule::valueTile]);
    rowBlock = schedule[plan::schedule::blocks][0];
    keyBlock = schedule[plan::schedule::blocks][1];
    auto scores = cast<RankedTensorType>(form.scores.getType());
    staticRows = scores.getDimSize(rank - 2);
    staticKeys = scores.getDimSize(rank - 1);
    isOneBlock = !ShapedType::isDynamic(staticKeys) && staticKeys <= keyBlock;
  }

  void emit(Value begin, Value end) {
    rows = r.dim(form.query, rank - 2);
    keys = r.dim(form.key, rank - 2);
    // Tiles run over the end of a block where their number is open.
    int64_t over = std::max(scoresTile.rows, valueTile.rows);
    int64_t size = lastOf(form.query), columns = lastOf(form.gradient);
    pitch = llvm::alignTo(keyBlock + over, lanes) + lanes; // no power of two
    queries = lines(rowBlock + over, size);
    gradients = lines(rowBlock + over, columns);
    keyLines = lines(keyBlock, size);
    valueLines = lines(keyBlock, columns);
    keyPanels = stackFloats(r, keyBlock * size);
    valuePanels = stackFloats(r, keyBlock * columns);
    weights = stackFloats(r, (rowBlock + over) * pitch);
    scoreGradients = stackFloats(r, (rowBlock + over) * pitch);
    queryResult = lines(rowBlock + over, size);
    keyResult = lines(keyBlock + over, size);
    valueResult = lines(keyBlock + over, columns);
    auto results = kernel.getBody().front().getTerminator()->getOperands();
    const KernelBuilder::Buffer target = r.bufferOf(results[0]);
    SmallVector<int64_t> order = orderOf(results[0].getDefiningOp());
    auto parts = kernel.getSchedule()[plan::schedule::parts];
    emitStepLoop(r, begin, end, 1, [&](Value part) {
      SmallVector<Value> indices = r.blockIndices(part, target.dims, parts);
      at.assign(rank, Value());
      for (int64_t i = 0; i < rank; ++i)
        at[order[i]] = indices[i];
      emitHead();
    });
  }

private:
  static int64_t lastOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape().back();
  }
  Lines lines(int64_t count, int64_t size) {
    int64_t pitch = llvm::alignTo(size, valueTile.width());
    return {stackFloats(r, count * pitch), size, pitch};
  }
  SmallVector<int64_t> orderOf(Operation *root) const {
    if (auto transpose = dyn_cast<TransposeOp>(root))
      return SmallVector<int64_t>(transpose.getPermutation());
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }

  /// How many of `all` lie in the block from `first` on: a constant where all blocks are whole.
  Value countFrom(Value first, Value all, int64_t known, int64_t block) {
    if (!ShapedType::isDynamic(known) && (known % block == 0 || known <= block))
      return r.constant(std::min(known, block));
    return r.minimum(r.constant(block), r.sub(all, first));
  }

  void emitHead() {
    Value zero = r.constant(0);
    if (!isOneBlock)
      emitStepLoop(r, zero, rows, 1, [&](Value row) {
        writeLine(form.roots[0], row, queries.size, [&](Value) { return splat(0); }, false);
      });
    emitStepLoop(r, zero, keys, keyBlock, [&](Value firstKey) {
      Value count = countFrom(firstKey, keys, staticKeys, keyBlock);
      readLines(form.key, /*isTurned=*/false, firstKey, count, keyLines);
      readLines(form.turnedValue, /*isTurned=*/true, firstKey, count, valueLines);
      turnLines(keyLines, count, keyPanels);
      turnLines(valueLines, count, valuePanels);
      for (const Lines &result : {keyResult, valueResult})
        emitStepLoop(r, zero, r.mul(count, r.constant(result.pitch)), lanes,
                     [&](Value place) { storeVector(splat(0), result.pointer, place); });
      emitStepLoop(r, zero, rows, rowBlock, [&](Value firstRow) {
        addQueries(firstRow, countFrom(firstRow, rows, staticRows, rowBlock), firstKey, count);
      });
      emitStepLoop(r, zero, count, 1, [&](Value key) {
        for (auto [root, result] :
             {std::pair(form.roots[1], keyResult), std::pair(form.roots[2], valueResult)})
          writeLine(root, r.add(firstKey, key), result.size, lineOf(result, key), false);
      });
    });
  }

  /// What a block of queries adds to the gradients of a block of keys, and that to theirs.
  void addQueries(Value firstRow, Value rowCount, Value firstKey, Value count) {
    readLines(form.query, /*isTurned=*/false, firstRow, rowCount, queries);
    readLines(form.gradient, /*isTurned=*/false, firstRow, rowCount, gradients);
    multiplyPanels(form.scores, queries, rowCount, keyPanels, count, weights);
    multiplyPanels(form.weightGradient, gradients, rowCount, valuePanels, count, scoreGradients);
    emitStepLoop(r, r.constant(0), rowCount, 1,
                 [&](Value row) { weigh(row, r.add(firstRow, row), firstKey, count); });
    // Lines of both matrices are queries; those of these sums are keys.
    auto column = [&](Value matrix) {
      return [this, matrix](Value line, Value k) { return load(matrix, indexAt(k, pitch, line)); };
    };
    multiplyLines(form.valueGradient, count, column(weights), gradients, rowCount, valueResult,
                  /*isFirst=*/false);
    multiplyLines(form.keyGradient, count, column(scoreGradients), queries, rowCount, keyResult,
                  /*isFirst=*/false);
    auto row = [&](Value line, Value k) { return load(scoreGradients, indexAt(line, pitch, k)); };
    multiplyLines(form.queryGradient, rowCount, row, keyLines, count, queryResult,
                  /*isFirst=*/true);
    emitStepLoop(r, r.constant(0), rowCount, 1, [&](Value line) {
      writeLine(form.roots[0], r.add(firstRow, line), queries.size, lineOf(queryResult, line),
                !isOneBlock);
    });
  }

  /// Brings `count` lines of `tensor` from `first` on to the stack, with zeros at their ends;
  /// `isTurned`: they are its columns.
  void readLines(Value tensor, bool isTurned, Value first, Value count, const Lines &to) {
    emitStepLoop(r, r.constant(0), count, 1, [&](Value line) {
      Value own = r.add(first, line);
      for (int64_t column = 0; column < to.pitch; column += lanes) {
        Value index = r.constant(column), value = splat(0);
        Value mask = column + lanes > to.size ? maskOf(r.constant(to.size - column)) : Value();
        if (column < to.size)
          value = isTurned ? operandVector(tensor, place(index, own), index, mask)
                           : operandVector(tensor, place(own, index), index, mask);
        storeVector(value, to.pointer, indexAt(line, to.pitch, index));
      }
    });
  }

  /// Lines as columns of panels [panels, size, width]; those beyond the last are any.
  void turnLines(const Lines &from, Value count, Value panels) {
    int64_t width = scoresTile.width();
    emitStepLoop(r, r.constant(0), count, width, [&](Value first) {
      Value base = r.mul(first, r.constant(from.size));
      for (int64_t v = 0; v < scoresTile.vectors; ++v) {
        auto turnBlock = [&](Value i, int64_t height) {
          SmallVector<Value> block;
          for (int64_t lane = 0; lane < lanes; ++lane)
            block.push_back(loadVector(
                from.pointer, indexAt(r.add(first, r.constant(v * lanes + lane)), from.pitch, i)));
          turn(b, r.loc, block);
          for (int64_t row = 0; row < height; ++row)
            storeVector(
                block[row], panels,
                r.add(base, indexAt(r.add(i, r.constant(row)), width, r.constant(v * lanes))));
        };
        emitTiled(r, from.size, lanes, [&](Value i) { turnBlock(i, lanes); }, turnBlock);
      }
    });
  }

  /// Products of lines on the stack with all panels.
  void multiplyPanels(DotGeneralOp dot, const Lines &from, Value lineCount, Value panels,
                      Value count, Value to) {
    int64_t width = scoresTile.width();
    emitStepLoop(r, r.constant(0), count, width, [&](Value offset) {
      Value base = r.mul(offset, r.constant(from.size));
      forRows(lineCount, scoresTile.rows, [&](int64_t height, Value first) {
        auto left = [&](int64_t row, ValueRange k) {
          return load(from.pointer, indexAt(r.add(first, r.constant(row)), from.pitch, k[0]));
        };
        auto right = [&](int64_t vector, ValueRange k) {
          return std::make_pair(panels,
                                r.add(base, indexAt(k[0], width, r.constant(vector * lanes))));
        };
        TileOperands operands{left, right, /*isPadded=*/true};
        operands.partial = PartialSums{to, indexAt(first, pitch, offset), pitch, /*isFirst=*/true,
                                       /*isLast=*/false};
        tile(dot, {height, scoresTile.vectors, lanes}, r.constant(from.size), operands);
      });
    });
  }

  /// Sums over `depth` of what `left` gives of a line, times lines on the stack.
  void multiplyLines(DotGeneralOp dot, Value count, function_ref<Value(Value line, Value k)> left,
                     const Lines &right, Value depth, const Lines &to, bool isFirst) {
    emitStepLoop(r, r.constant(0), r.constant(to.pitch), valueTile.width(), [&](Value column) {
      forRows(count, valueTile.rows, [&](int64_t height, Value first) {
        auto scalar = [&](int64_t row, ValueRange k) {
          return left(r.add(first, r.constant(row)), k[0]);
        };
        auto vector = [&](int64_t number, ValueRange k) {
          return std::make_pair(
              right.pointer, indexAt(k[0], right.pitch, r.add(column, r.constant(number * lanes))));
        };
        TileOperands operands{scalar, vector, /*isPadded=*/true};
        operands.partial = PartialSums{to.pointer, indexAt(first, to.pitch, column), to.pitch,
                                       isFirst, /*isLast=*/false};
        tile(dot, {height, valueTile.vectors, lanes}, depth, operands);
      });
    });
  }

  /// A query's scores become weights; the gradients of weights those of scores.
  void weigh(Value row, Value query, Value firstKey, Value count) {
    auto ofLine = [&](Value value) {
      VectorReader reader(r, lanes);
      return reader.broadcast(
          weir::detail::broadcastElement(reader, value, place(query, r.constant(0))));
    };
    Value maximum = ofLine(form.maximum), inverse = ofLine(form.inverse), mean = ofLine(form.mean);
    auto vectorAt = [&](Value number, Value mask) {
      Value offset = r.mul(number, r.constant(lanes)), key = r.add(firstKey, offset),
            linear = indexAt(row, pitch, offset);
      auto inside = [&](Value value) -> Value {
        return mask ? arith::SelectOp::create(b, r.loc, mask, value, splat(0)).getResult() : value;
      };
      VectorReader reader(r, lanes);
      reader.setLanes(key, mask);
      reader.setAnchor(form.scores, loadVector(weights, linear));
      Value logit = reader.element(form.logits, place(query, key));
      Value weight = exponential(arith::SubFOp::create(b, r.loc, logit, maximum));
      weight = inside(arith::MulFOp::create(b, r.loc, weight, inverse));
      storeVector(weight, weights, linear);
      Value less = arith::SubFOp::create(b, r.loc, loadVector(scoreGradients, linear), mean);
      reader.setAnchor(form.softmaxGradient, arith::MulFOp::create(b, r.loc, weight, less));
      storeVector(inside(reader.element(form.scoreGradient, place(query, key))), scoreGradients,
                  linear);
    };
    Value whole = r.divide(count, r.constant(lanes)), left = r.remainder(count, r.constant(lanes));
    emitStepLoop(r, r.constant(0), whole, 1, [&](Value number) { vectorAt(number, Value()); });
    // What is left does not fill a vector.
    if (!matchPattern(left, m_Zero()))
      emitEither(r, r.less(r.constant(0), left), [&] { vectorAt(whole, maskOf(left)); }, [] {});
  }

  std::function<Value(Value column)> lineOf(const Lines &from, Value line) {
    return [this, from, line](Value column) {
      return loadVector(from.pointer, indexAt(line, from.pitch, column));
    };
  }

  /// Stores a line of a result, or adds to it.
  void writeLine(Operation *root, Value line, int64_t size,
                 function_ref<Value(Value column)> vectorAt, bool adds) {
    const KernelBuilder::Buffer buffer = r.bufferOf(root->getResult(0));
    SmallVector<int64_t> order = orderOf(root);
    forVectors(size, [&](Value column, Value mask) {
      SmallVector<Value> own = place(line, column), indices(rank);
      for (int64_t i = 0; i < rank; ++i)
        indices[i] = own[order[i]];
      Value linear = r.linearIndex(buffer, indices), value = vectorAt(column);
      VectorReader reader(r, lanes);
      reader.setLanes(column, mask);
      if (adds)
        value = arith::AddFOp::create(b, r.loc, reader.load(buffer.pointer, f32, linear), value);
      reader.store(value, buffer.pointer, f32, linear);
    });
  }

  AttentionGradient form;
  TileShape valueTile;
  int64_t rowBlock = 1, keyBlock = 1; ///< queries and keys of a block
  int64_t staticRows = 0, staticKeys = 0;
  int64_t pitch = 1; ///< of weights
  bool isOneBlock = false;
  Value rows, keys;
  Lines queries, gradients, keyLines, valueLines, queryResult, keyResult, valueResult;
  Value keyPanels, valuePanels, weights, scoreGradients; ///< on the stack
};

} // namespace

void weir::emitAttentionGradient(KernelBuilder &r, plan::KernelOp kernel,
                                 AttentionGradient gradient, Value begin, Value end) {
  // The step has checked that sizes go together.
  r.quiet = true;
  GradientEmitter(r, kernel, std::move(gradient)).emit(begin, end);
  r.quiet = false;
}
