//===- CudaWideAttention.cpp - attention by groups of warps -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has three groups of four warps. One thread of the first asks the copy engine for
// a tile of 128 queries, then for keys and values by blocks, into stages of shared memory.
// The other two have 64 queries each: they multiply them by a block of keys (wgmma), go on
// with the softmax in registers, and multiply the weights, from registers, by the values
// (Shah et al. 2024, arXiv:2407.08608). While one group computes weights the other one has
// the tensor cores. As many blocks as the GPU has multiprocessors go along all tiles, of
// causal attention the longest first.
//
// Keys, values and queries have a barrier each that says that their bytes have come, and
// one that says that all warps have read them.
//
// What lies between a wgmma and its wait must not touch sums, not even to move them: each
// product is assembly as a whole, from the wait for its bytes to the end of its reads.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaWideAttention.h"
#include "compiler/codegen/cuda/CudaAttention.h"
#include "compiler/codegen/cuda/CudaLibrary.h"
#include "compiler/codegen/cuda/CudaStagedSums.h"
#include "compiler/codegen/cuda/CudaWarpGroups.h"
#include "compiler/codegen/cuda/CudaWideAttentionOperands.h"
#include "compiler/codegen/cuda/CudaWideOperands.h"
#include "compiler/emit/Program.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;
using namespace weir::warp_groups;

namespace {

constexpr int64_t lineHalves = lineBytes / 2, depthStep = 16, mostHeadSize = 128,
                  fewestRows = groupRows;
/// Heads that are walked along together, so that their keys and values stay in the
/// second-level cache while causal tiles come the longest first.
constexpr int64_t headsTogether = 16;
// Barriers: of queries, then of each stage's keys and values. The second of each pair says
// that its bytes were read.
constexpr int64_t stageBarriersAt = 16, stageBarrierBytes = 32, valuesBarrierAt = 16, emptyAt = 8;

/// What lies where in a block's memory.
struct Layout {
  int64_t keys;                  ///< of a block of keys
  int64_t sizeBoxes, valueBoxes; ///< of 64 elements of a head
  int64_t stages = 1;

  Layout(int64_t keys, int64_t size, int64_t columns)
      : keys(keys), sizeBoxes(llvm::divideCeil(size, lineHalves)),
        valueBoxes(llvm::divideCeil(columns, lineHalves)) {
    constexpr int64_t mostStages = 4;
    for (int64_t more = 2; more <= mostStages; ++more) {
      stages = more;
      if (shared() > mostShared) {
        stages = more - 1;
        break;
      }
    }
  }
  int64_t queryBytes() const { return sizeBoxes * tileRows * lineBytes; }
  int64_t boxOfKeys() const { return keys * lineBytes; }
  int64_t keyBytes() const { return sizeBoxes * boxOfKeys(); }
  int64_t valueBytes() const { return valueBoxes * boxOfKeys(); }
  int64_t stageBytes() const { return keyBytes() + valueBytes(); }
  int64_t stagedAt() const { return queryBytes() + stages * stageBytes(); }
  int64_t barriersAt() const { return stagedAt() + groups * 4 * stagedBytes; }
  int64_t shared() const { return barriersAt() + stageBarriersAt + stages * stageBarrierBytes; }
};

class WideForm : public AttentionEmitter {
public:
  WideForm(const CudaKernel &k, Attention found, const Layout &layout, int64_t heads,
           ValueRange maps)
      : AttentionEmitter(k, std::move(found)), layout(layout), maps(maps),
        queries(attentionOperand(attention.scores.getLhs())),
        keys(attentionOperand(attention.scores.getRhs())),
        values(attentionOperand(attention.product.getRhs())),
        operand(getElementTypeOrSelf(queries.source.getType())) {
    groupHeads = heads;
    isRounded = true;
  }

  void emit() {
    placeSizes(warp_groups::tileRows, layout.keys);
    shapeLaunch(k, int64_t(maps.size()));
    placeTiles();
    makeAllBarriers();
    inRoles(
        r, thread,
        [&] {
          warp_groups::alongTiles(r, tiles, 3, [&](Value number, SmallVector<Value> &state) {
            moveTo(number);
            copyTile(state);
          });
        },
        [&](Value group) {
          own = group;
          warp_groups::alongTiles(r, tiles, 3, [&](Value number, SmallVector<Value> &state) {
            moveTo(number);
            attendTile(state);
          });
        });
  }

private:
  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  void placeTiles() {
    lane = r.remainder(thread, index(warpThreads));
    base = dynamicShared(r);
    headSizes.resize(rank - 2);
    for (int64_t i = 0; i < rank; ++i) {
      int64_t dim = attention.order ? attention.order.getPermutation()[i] : i;
      if (dim < rank - 2)
        headSizes[dim] = target.dims[i];
    }
    if (groupHeads > 1)
      headSizes[rank - 3] = r.divide(headSizes[rank - 3], index(groupHeads));
    heads = index(1);
    for (Value size : headSizes)
      heads = r.mul(heads, size);
    rowTiles = r.divide(r.add(rowCount, index(queriesOfTile() - 1)), index(queriesOfTile()));
    tiles = r.mul(rowTiles, heads);
    causal = isCausal(attention);
  }

  void moveTo(Value number) {
    Value together = r.mul(rowTiles, index(headsTogether));
    Value firstHead = r.mul(r.divide(number, together), index(headsTogether));
    Value width = r.minimum(r.sub(heads, firstHead), index(headsTogether));
    Value within = r.remainder(number, together);
    // Causal tiles are the longer, the later their queries: those come first, of all heads.
    // Others go along the rows of one head.
    Value row, head;
    if (causal) {
      row = r.sub(r.sub(rowTiles, index(1)), r.divide(within, width));
      head = r.add(firstHead, r.remainder(within, width));
    } else {
      row = r.remainder(within, rowTiles);
      head = r.add(firstHead, r.divide(within, rowTiles));
    }
    batch = r.delinearize(head, headSizes);
    places.assign(batch.begin(), batch.end());
    if (groupHeads > 1)
      batch[rank - 3] = r.mul(batch[rank - 3], index(groupHeads));
    firstRow = r.mul(row, index(queriesOfTile()));
    end = keysEnd();
  }

  void makeAllBarriers() {
    constexpr int64_t warps = groups * 4;
    SmallVector<std::pair<int64_t, int64_t>> barriers = {{0, 1}, {emptyAt, warps}};
    for (int64_t i = 0; i < layout.stages; ++i)
      for (int64_t at : {int64_t(0), valuesBarrierAt}) {
        int64_t offset = stageBarriersAt + i * stageBarrierBytes + at;
        barriers.push_back({offset, 1});
        barriers.push_back({offset + emptyAt, warps});
      }
    makeBarriers(r, thread, sharedAt(r, base, layout.barriersAt()), barriers);
  }

  /// Runs `body` for each block of keys of the tile: the first key, the stage's number. Stage
  /// and parity, the first two of `state`, go on from tile to tile.
  SmallVector<Value>
  alongBlocks(SmallVector<Value> &state, SmallVector<Value> carried,
              function_ref<void(Value, Value, Value, SmallVector<Value> &)> body) {
    SmallVector<Value> first = {state[0], state[1]};
    first.append(carried);
    auto loop = scf::ForOp::create(b, r.loc, index(0), end, index(layout.keys), first);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> args(loop.getRegionIterArgs());
      SmallVector<Value> rest(ArrayRef(args).drop_front(2));
      body(loop.getInductionVar(), args[0], args[1], rest);
      Value after = arith::AddIOp::create(b, r.loc, args[0], word(r, 1));
      Value wraps =
          arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::eq, after, word(r, layout.stages));
      SmallVector<Value> next = {
          arith::SelectOp::create(b, r.loc, wraps, word(r, 0), after),
          arith::XOrIOp::create(b, r.loc, args[1],
                                arith::ExtUIOp::create(b, r.loc, b.getI32Type(), wraps))};
      next.append(rest);
      scf::YieldOp::create(b, r.loc, next);
    }
    state[0] = loop.getResult(0);
    state[1] = loop.getResult(1);
    return SmallVector<Value>(loop.getResults().drop_front(2));
  }

  /// `bytes` behind where a stage's memory, or barriers, begin.
  Value ofStage(Value stage, int64_t begin, int64_t each, int64_t bytes) {
    Value number = arith::IndexCastOp::create(b, r.loc, b.getIndexType(), stage);
    return sharedAt(r, base, r.add(r.mul(number, index(each)), index(begin + bytes)));
  }
  Value stageMemory(Value stage, int64_t bytes) {
    return ofStage(stage, layout.queryBytes(), layout.stageBytes(), bytes);
  }
  Value stageBarrier(Value stage, int64_t bytes) {
    return ofStage(stage, layout.barriersAt() + stageBarriersAt, stageBarrierBytes, bytes);
  }

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  /// Waits until what lay at `to` was read, and asks for boxes of 64 elements of a head:
  /// `lines` of them from `coordinates` on, which come behind the element's.
  void copy(StringRef what, Value map, Value barrier, Value phase, Value to, int64_t boxes,
            int64_t bytesOfBox, ArrayRef<Value> coordinates) {
    InlinePtx ptx(r, 0);
    std::string bar = ptx.input(barrier), at = ptx.input(to), from = ptx.input(map), rest;
    for (Value coordinate : coordinates)
      rest += ", " + ptx.input(toWord(r, coordinate));
    ptx.line(".reg .pred w_p;")
        .line(".reg .b32 w_parity, w_c;")
        .line(".reg .b64 w_to;")
        .line("xor.b32 w_parity, " + ptx.input(phase) + ", 1;");
    waitForPhase(ptx, what, bar + "+" + std::to_string(emptyAt), "w_parity");
    ptx.line("mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + bar + "], " +
             std::to_string(boxes * bytesOfBox) + ";");
    for (int64_t i = 0; i < boxes; ++i)
      ptx.line("add.u64 w_to, " + at + ", " + std::to_string(i * bytesOfBox) + ";")
          .line("mov.b32 w_c, " + std::to_string(i * lineHalves) + ";")
          .line("cp.async.bulk.tensor." + std::to_string(coordinates.size() + 1) +
                "d.shared::cluster.global.mbarrier::complete_tx::bytes [w_to], [" + from +
                ", {w_c" + rest + "}], [" + bar + "];");
    ptx.emit();
  }

  /// Where along a dimension of batches or heads an operand has what the tile reads; `dim` is
  /// counted from the last one of those.
  Value placeAlong(const AttentionOperand &from, int64_t fromLast, bool isQueries) {
    int64_t dim = rank - 3 - fromLast;
    if (dim < 0)
      return index(0);
    Value place = places[dim];
    if (!isQueries && groupHeads == 1)
      place = sourceIndex(from, dim, place);
    auto type = cast<RankedTensorType>(from.source.getType());
    for (auto [i, own] : llvm::enumerate(from.order))
      if (own == dim && type.getDimSize(i) == 1)
        place = index(0);
      else if (own == dim && type.isDynamicDim(i))
        place = r.minimum(place, r.sub(r.dim(from.source, i), index(1)));
    return place;
  }

  void copyTile(SmallVector<Value> &state) {
    copy("queries", maps[0], sharedAt(r, base, layout.barriersAt()), state[2],
         sharedAt(r, base, int64_t(0)), layout.sizeBoxes, tileRows * lineBytes,
         {index(0), firstRow, placeAlong(queries, 0, true), placeAlong(queries, 1, true)});
    state[2] = arith::XOrIOp::create(b, r.loc, state[2], word(r, 1));
    alongBlocks(state, {}, [&](Value first, Value stage, Value phase, SmallVector<Value> &) {
      copy("keys", maps[1], stageBarrier(stage, 0), phase, stageMemory(stage, 0), layout.sizeBoxes,
           layout.boxOfKeys(), {first, placeAlong(keys, 0, false), placeAlong(keys, 1, false)});
      copy("values", maps[2], stageBarrier(stage, valuesBarrierAt), phase,
           stageMemory(stage, layout.keyBytes()), layout.valueBoxes, layout.boxOfKeys(),
           {first, placeAlong(values, 0, false), placeAlong(values, 1, false)});
    });
  }

  //===--------------------------------------------------------------------===//
  // Products
  //===--------------------------------------------------------------------===//

  std::string instruction(int64_t width) const {
    std::string name = tensorCoreName(operand).str();
    return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(width) + "k16.f32." + name + "." +
           name;
  }

  void declare(InlinePtx &ptx, const std::string &laneIn) {
    ptx.line(".reg .pred w_p, w_more, w_lead;")
        .line(".reg .b64 w_left, w_right;")
        .line("setp.eq.u32 w_lead, " + laneIn + ", 0;");
  }
  void endProducts(InlinePtx &ptx, const std::string &barrier) {
    ptx.line("wgmma.commit_group.sync.aligned;")
        .line("wgmma.wait_group.sync.aligned 0;")
        .line("@w_lead mbarrier.arrive.shared::cta.b64 _, [" + barrier + "+" +
              std::to_string(emptyAt) + "];");
  }

  /// The group's 64 queries by a block of keys: for each eight keys four scores a lane.
  SmallVector<Value> scoresOf(Value stage, Value phase) {
    int64_t count = layout.keys / 2;
    InlinePtx ptx(r, count);
    std::string all;
    for (int64_t i = 0; i < count; ++i)
      all += (i ? ", " : "") + ptx.output(f32);
    std::string left = ptx.input(sharedAt(r, base, r.mul(own, index(boxBytes)))),
                right = ptx.input(stageMemory(stage, 0)),
                barrier = ptx.input(stageBarrier(stage, 0)), laneIn = ptx.input(toWord(r, lane));
    declare(ptx, laneIn);
    ptx.line("setp.ne.u32 w_more, " + laneIn + ", " + laneIn + ";");
    waitForPhase(ptx, "keys", barrier, ptx.input(phase));
    describeOperand(ptx, "w_left", left, 0);
    describeOperand(ptx, "w_right", right, 0);
    ptx.line("wgmma.fence.sync.aligned;");
    int64_t steps = llvm::divideCeil(size, depthStep), stepBytes = depthStep * 2,
            stepsOfBox = lineBytes / stepBytes;
    for (int64_t i = 0; i < steps; ++i) {
      ptx.line(instruction(layout.keys) + " {" + all + "}, w_left, w_right, w_more, 1, 1, 0, 0;");
      if (i == 0)
        ptx.line("setp.eq.u32 w_more, " + laneIn + ", " + laneIn + ";");
      if (i + 1 == steps)
        break;
      bool isLast = (i + 1) % stepsOfBox == 0;
      int64_t back = isLast ? (stepsOfBox - 1) * stepBytes : 0;
      auto advance = [&](const std::string &name, int64_t box) {
        int64_t bytes = isLast ? box - back : stepBytes;
        ptx.line("add.u64 " + name + ", " + name + ", " + std::to_string(bytes >> 4) + ";");
      };
      advance("w_left", tileRows * lineBytes);
      advance("w_right", layout.boxOfKeys());
    }
    endProducts(ptx, barrier);
    return ptx.emit();
  }

  /// sums += weights, from registers, by a block of values.
  void addValues(SmallVector<Value> &sums, ArrayRef<Value> weights, Value stage, Value phase) {
    InlinePtx ptx(r, int64_t(sums.size()));
    std::string all;
    for (auto [i, sum] : llvm::enumerate(sums))
      all += (i ? ", " : "") + ptx.update(sum);
    std::string right = ptx.input(stageMemory(stage, layout.keyBytes())),
                barrier = ptx.input(stageBarrier(stage, valuesBarrierAt)),
                laneIn = ptx.input(toWord(r, lane));
    SmallVector<std::string> words;
    for (Value weight : weights)
      words.push_back(ptx.input(weight));
    declare(ptx, laneIn);
    ptx.line("setp.eq.u32 w_more, " + laneIn + ", " + laneIn + ";");
    waitForPhase(ptx, "values", barrier, ptx.input(phase));
    describeOperand(ptx, "w_right", right, layout.boxOfKeys());
    ptx.line("wgmma.fence.sync.aligned;");
    std::string name = instruction(int64_t(sums.size()) * 2);
    for (int64_t i = 0; i < layout.keys / depthStep; ++i) {
      ptx.line(name + " {" + all + "}, {" + words[i * 4] + ", " + words[i * 4 + 1] + ", " +
               words[i * 4 + 2] + ", " + words[i * 4 + 3] + "}, w_right, w_more, 1, 1, 1;");
      if (i + 1 < layout.keys / depthStep)
        ptx.line("add.u64 w_right, w_right, " + std::to_string(depthStep * lineBytes >> 4) + ";");
    }
    endProducts(ptx, barrier);
    sums = ptx.emit();
  }

  /// Waits for the tile's queries, or says that the group has read them.
  void awaitQueries(Value phase) {
    InlinePtx ptx(r, 0);
    std::string at = ptx.input(sharedAt(r, base, layout.barriersAt()));
    ptx.line(".reg .pred w_p;");
    waitForPhase(ptx, "queries", at, ptx.input(phase));
    ptx.emit();
  }
  void releaseQueries() {
    InlinePtx ptx(r, 0);
    std::string at = ptx.input(sharedAt(r, base, layout.barriersAt()));
    ptx.line(".reg .pred w_lead;")
        .line("setp.eq.u32 w_lead, " + ptx.input(toWord(r, lane)) + ", 0;")
        .line("@w_lead mbarrier.arrive.shared::cta.b64 _, [" + at + "+" + std::to_string(emptyAt) +
              "];")
        .emit();
  }

  void attendTile(SmallVector<Value> &state) {
    Value warp = r.remainder(r.divide(thread, index(warpThreads)), index(4));
    ownWarp = r.add(r.mul(own, index(4)), warp);
    Value g = r.divide(lane, index(4)), t = r.remainder(lane, index(4));
    SmallVector<Row> rows;
    SmallVector<Value> carried(columns / 2, zero);
    for (int64_t i : {0, 8}) {
      rows.push_back(rowAt(r.add(r.mul(ownWarp, index(tensorCoreRows)), r.add(g, index(i)))));
      carried.append({rows.back().most, rows.back().sum});
    }
    awaitQueries(state[2]);
    state[2] = arith::XOrIOp::create(b, r.loc, state[2], word(r, 1));
    auto split = [&](SmallVector<Value> &all) {
      for (Row &row : llvm::reverse(rows)) {
        row.sum = all.pop_back_val();
        row.most = all.pop_back_val();
      }
    };
    double scale = queries.scale * keys.scale;
    SmallVector<Value> sums = alongBlocks(
        state, carried, [&](Value first, Value stage, Value phase, SmallVector<Value> &all) {
          split(all);
          SmallVector<Value> weights =
              weightsOf(scoresOf(stage, phase), scale, operand, first, t, rows, all);
          addValues(all, weights, stage, phase);
          for (const Row &row : rows)
            all.append({row.most, row.sum});
        });
    split(sums);
    releaseQueries();
    finish(rows, sums);
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// Neighbours that are stored together: of heads, which are whole vectors.
  int64_t lanesOfResult() const {
    int64_t widest = elementBytes(getElementTypeOrSelf(attention.root->getResult(0).getType()));
    return std::min<int64_t>(8, 16 / widest);
  }

  void finish(ArrayRef<Row> rows, SmallVector<Value> sums) {
    for (int64_t i : {0, 1}) {
      // One quotient a row: results are rounded to halves.
      Value inverse = arith::DivFOp::create(b, r.loc, number(1), divisorOf(rows[i], 4));
      for (int64_t j = 0; j < columns / tensorCoreColumns; ++j)
        for (int64_t c : {0, 1})
          sums[j * 4 + i * 2 + c] = multiply(sums[j * 4 + i * 2 + c], inverse);
    }
    Value staging =
        sharedAt(r, sharedAt(r, base, layout.stagedAt()), r.mul(ownWarp, index(stagedBytes)));
    auto place = [&](Value row, Value column) { return stagedPlace(r, staging, row, column); };
    // What follows reads the product alone.
    CudaKernel results = k;
    results.leaves.clear();
    for (int64_t first = 0; first < columns; first += stagedColumns) {
      int64_t width = std::min<int64_t>(stagedColumns, columns - first);
      meetWarp(r);
      stageSums(r, ArrayRef(sums).slice(first / 2, width / 2), r.divide(lane, index(4)),
                r.mul(r.remainder(lane, index(4)), index(2)), place);
      meetWarp(r);
      auto inTile = [&](Value row) { return r.add(r.mul(ownWarp, index(tensorCoreRows)), row); };
      auto exists = [&](Value row, Value) {
        return wholeRows ? yes : r.less(headAndQuery(inTile(row)).second, rowCount);
      };
      auto indices = [&](Value row, Value column) {
        return placeOf(placedRow(inTile(row)), r.add(column, index(first)));
      };
      storeStagedSums(results, attention.product, f32, attention.product.getAccumulator(),
                      {lane, warpThreads, tensorCoreRows, width, lanesOfResult(), place}, exists,
                      indices);
    }
  }

  const Layout layout;
  ValueRange maps;
  AttentionOperand queries, keys, values;
  Type operand;
  bool causal = false;
  SmallVector<Value> headSizes; ///< of batches and heads that share tiles
  SmallVector<Value> places;    ///< of the tile, along those
  Value lane, base, heads, rowTiles, tiles, own, ownWarp, end;
};

//===----------------------------------------------------------------------===//
// Which attentions
//===----------------------------------------------------------------------===//

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether groups of warps can compute the attention, and its blocks are worth it.
bool fits(const Attention &attention, Type operand, int64_t size, int64_t columns) {
  auto isOf = [&](Value value) { return getElementTypeOrSelf(value.getType()) == operand; };
  auto isHead = [](int64_t size) { return size >= 16 && size % 8 == 0 && size <= mostHeadSize; };
  DotGeneralOp scores = attention.scores, product = attention.product;
  AttentionOperand keys = attentionOperand(scores.getRhs()),
                   values = attentionOperand(product.getRhs());
  int64_t rank = typeOf(product).getRank();
  auto stretchesHeads = [&](const AttentionOperand &from) {
    return from.times == 1 || (rank >= 3 && from.repeated == rank - 3);
  };
  return isa<Float16Type, BFloat16Type>(operand) && rank <= 4 && isHead(size) && isHead(columns) &&
         isOf(keys.source) && isOf(values.source) && values.scale == 1 && stretchesHeads(keys) &&
         stretchesHeads(values) && attentionOperand(scores.getLhs()).times == 1 &&
         (isOf(product.getLhs()) || isOf(attention.root->getResult(0)));
}

/// How many query heads share a tile of queries.
int64_t sharedHeads(const Attention &attention) {
  DotGeneralOp scores = attention.scores, product = attention.product;
  AttentionOperand keys = attentionOperand(scores.getRhs()),
                   values = attentionOperand(product.getRhs());
  bool areGroups = keys.times > 1 && keys.times == values.times && tileRows % keys.times == 0;
  return areGroups ? keys.times : 1;
}

} // namespace

std::optional<WideKernel> weir::emitWideAttention(plan::KernelOp kernel, StringRef symbol,
                                                  gpu::GPUModuleOp module, SiteTable &sites) {
  std::optional<Attention> attention = attentionOf(kernel);
  if (!attention || kernel.getInPlaceAttr())
    return std::nullopt;
  auto results = kernel.getBody().front().getTerminator()->getOperands();
  if (results.size() != 1 || results.front() != attention->root->getResult(0))
    return std::nullopt;
  DotGeneralOp scores = attention->scores, product = attention->product;
  int64_t rank = typeOf(product).getRank(), size = typeOf(scores.getLhs()).getShape().back(),
          columns = typeOf(product).getShape().back();
  Type operand = getElementTypeOrSelf(attentionOperand(scores.getLhs()).source.getType());
  if (!fits(*attention, operand, size, columns))
    return std::nullopt;
  int64_t heads = sharedHeads(*attention), knownRows = typeOf(product).getDimSize(rank - 2),
          knownKeys = typeOf(product.getLhs()).getDimSize(rank - 1);
  if (!ShapedType::isDynamic(knownRows) && knownRows * heads < fewestRows)
    return std::nullopt;
  constexpr int64_t fewKeys = 64, manyKeys = 128;
  bool areFew = !ShapedType::isDynamic(knownKeys) && knownKeys <= fewKeys;
  Layout layout(areFew ? fewKeys : manyKeys, size, columns);
  WideKernel form;
  weir_cuda_wide_kernel &desc = form.desc;
  AttentionDescriber describer(kernel, rank);
  int64_t sizeDim = scores.getRhsContract()[0], keyDim = 2 * rank - 3 - sizeDim,
          valueDim = product.getRhsContract()[0], columnDim = 2 * rank - 3 - valueDim;
  if (!describer.describe(scores.getLhs(), rank - 2, rank - 1, heads, tileRows, desc.heads[0]) ||
      !describer.describe(scores.getRhs(), keyDim, sizeDim, 0, layout.keys, desc.heads[1]) ||
      !describer.describe(product.getRhs(), valueDim, columnDim, 0, layout.keys, desc.heads[2]))
    return std::nullopt;
  SmallVector<int64_t> batchDims, rowDims;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t own = attention->order ? attention->order.getPermutation()[i] : i;
    if (own < rank - 2)
      batchDims.push_back(i);
    else if (own == rank - 2)
      rowDims.push_back(i);
  }
  if (!describer.sizes.extent(results.front(), batchDims, desc.batches) ||
      !describer.sizes.extent(results.front(), rowDims, desc.rows))
    return std::nullopt;
  desc.batches.factor /= heads;
  form.name = symbol.str() + "_wide";
  Type pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  auto emit = [&](const CudaKernel &k, ValueRange maps) {
    // The step has checked that sizes go together.
    k.reader.quiet = true;
    WideForm(k, *attention, layout, heads, maps).emit();
    k.reader.quiet = false;
  };
  KernelForm second = {{pointer, pointer, pointer}, emit};
  LaunchShape shape = emitCudaKernel(kernel, form.name, module, sites, {}, &second);
  desc.size = sizeof(desc);
  desc.kind = WEIR_CUDA_WIDE_ATTENTION;
  desc.dtype = dtypeOf(operand);
  desc.threads = int32_t(shape.threads);
  desc.shared = int32_t(layout.shared());
  desc.tile_rows = int32_t(tileRows / heads);
  return form;
}
