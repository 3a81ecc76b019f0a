//===- CudaWideGemm.cpp - products by groups of warps ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A block has three groups of four warps. One thread of the first asks the copy engine
// for slices of both operands, each as deep as 128 bytes are (cp.async.bulk.tensor), into
// stages of shared memory; the other two groups multiply 64 rows of the tile each
// (wgmma), with sums in registers. Two barriers of a stage (mbarrier) say that its bytes
// have come, and that both groups have read them. As many blocks as the GPU has
// multiprocessors go along all tiles, each by a fixed rule, so that slices of the next
// tile come while the sums of one are stored.
//
// Lines of 128 bytes are turned as the engine does it (128-byte swizzle), so that the
// tensor cores read without conflicts of banks; rows and columns beyond the end are
// zeros that the engine writes. The loops that wait, multiply and copy are assembly as a
// whole: what lies between a wgmma and its wait must not touch sums, not even to move
// them.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaWideGemm.h"
#include "compiler/codegen/cuda/CudaGemm.h"
#include "compiler/codegen/cuda/CudaStagedSums.h"
#include "compiler/codegen/cuda/CudaWarpGroups.h"
#include "compiler/codegen/cuda/CudaWideOperands.h"
#include "compiler/emit/Program.h"
#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;
using namespace weir::warp_groups;

namespace {

constexpr int64_t barrierBytes = 16;
/// Multiprocessors of a large GPU.
constexpr int64_t enoughTiles = 132;
/// Tiles whose columns are walked along together: their right operands stay in the
/// second-level cache.
constexpr int64_t columnsTogether = 8;

struct Tile {
  int64_t columns, stages;

  constexpr int64_t leftBytes() const { return tileRows * lineBytes; }
  constexpr int64_t stageBytes() const { return leftBytes() + columns * lineBytes; }
  constexpr int64_t stagedAt() const { return stages * stageBytes(); }
  constexpr int64_t barriersAt() const { return stagedAt() + groups * 4 * stagedBytes; }
  constexpr int64_t shared() const { return barriersAt() + stages * barrierBytes; }
};
constexpr Tile wideTile = {256, 4}, narrowTile = {128, 5};
static_assert(wideTile.shared() <= mostShared && narrowTile.shared() <= mostShared);

class WideGemm {
public:
  WideGemm(const CudaKernel &k, const WideOperands &p, Tile tile, Type wide, Type result,
           ValueRange maps)
      : k(k), p(p), tile(tile), wide(wide), result(result), r(k.reader), b(r.b), target(k.first()),
        maps(maps) {}

  void emit() {
    r.loc = p.op->getLoc();
    shapeLaunch(k, int64_t(maps.size()));
    place();
    makeStageBarriers();
    inRoles(
        r, thread,
        [&] {
          alongTiles([&](ArrayRef<Value> tileAt, Value &stage, Value &phase) {
            copySlices(tileAt, stage, phase);
          });
        },
        [&](Value own) {
          alongTiles([&](ArrayRef<Value> tileAt, Value &stage, Value &phase) {
            SmallVector<Value> sums = multiplySlices(own, stage, phase);
            finish(tileAt, own, sums);
          });
        });
  }

private:
  Value index(int64_t value) { return r.constant(value); }
  Value toWord(Value value) { return warp_groups::toWord(r, value); }
  Value shared(int64_t bytes) { return sharedAt(r, base, bytes); }

  void place() {
    rowSizes = sizesAlong(target, p.rowDims);
    columnSizes = sizesAlong(target, p.columnDims);
    batchSizes = sizesAlong(target, p.batchDims);
    rows = product(r, rowSizes);
    columns = product(r, columnSizes);
    knownRows = knownCount(target.type, p.rowDims);
    knownColumns = knownCount(target.type, p.columnDims);
    slices = toWord(sliceCount());
    rowTiles = ceilDivide(r, rows, index(tileRows));
    columnTiles = ceilDivide(r, columns, index(tile.columns));
    tiles = r.mul(r.mul(rowTiles, columnTiles), product(r, batchSizes));
    thread = r.threadId();
    lane = r.remainder(thread, index(warpThreads));
    base = dynamicShared(r);
  }
  int64_t sliceDepth() const { return isByteElement(p.left) ? lineBytes : lineBytes / 2; }
  Value sliceCount() {
    SmallVector<Value> sizes;
    if (auto conv = dyn_cast<ConvOp>(p.op)) {
      // Each place of the window has its channels to itself.
      ArrayRef<int64_t> filter = cast<RankedTensorType>(conv.getFilter().getType()).getShape();
      int64_t count = llvm::divideCeil(filter[filter.size() - 2], sliceDepth());
      for (int64_t size : filter.drop_back(2))
        count *= size;
      return index(count);
    }
    auto dot = cast<DotGeneralOp>(p.op);
    for (auto [i, j] : llvm::zip(dot.getLhsContract(), dot.getRhsContract()))
      sizes.push_back(r.minimum(r.dim(dot.getLhs(), i), r.dim(dot.getRhs(), j)));
    return ceilDivide(r, product(r, sizes), index(sliceDepth()));
  }

  /// A stage's first barrier is for its bytes, which one thread asks for, the second for
  /// the warps that have read them.
  void makeStageBarriers() {
    SmallVector<std::pair<int64_t, int64_t>> barriers;
    for (int64_t i = 0; i < tile.stages; ++i) {
      barriers.push_back({i * barrierBytes, 1});
      barriers.push_back({i * barrierBytes + 8, groups * 4});
    }
    makeBarriers(r, thread, shared(tile.barriersAt()), barriers);
  }

  /// Runs `step` for each of the block's tiles, with its batch, row and column, and the
  /// stage that comes next.
  void alongTiles(function_ref<void(ArrayRef<Value>, Value &, Value &)> step) {
    warp_groups::alongTiles(r, tiles, 2, [&](Value number, SmallVector<Value> &state) {
      step(tileAt(number), state[0], state[1]);
    });
  }

  /// Tiles follow each other down the rows of a few columns of tiles, then of the next ones.
  SmallVector<Value> tileAt(Value number) {
    Value ofBatch = r.mul(rowTiles, columnTiles);
    Value batch = r.divide(number, ofBatch), within = r.remainder(number, ofBatch);
    Value together = r.mul(rowTiles, index(columnsTogether));
    Value firstColumn = r.mul(r.divide(within, together), index(columnsTogether));
    Value width = r.minimum(r.sub(columnTiles, firstColumn), index(columnsTogether));
    within = r.remainder(within, together);
    Value row = r.divide(within, width), column = r.add(firstColumn, r.remainder(within, width));
    return {batch, r.mul(row, index(tileRows)), r.mul(column, index(tile.columns))};
  }

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  /// Begins a loop over the slices of the depth, in registers of these names: the stage's
  /// number and parity, its barriers' address.
  void beginSlices(InlinePtx &ptx, StringRef stage, StringRef phase, StringRef parity) {
    std::string bars = ptx.input(shared(tile.barriersAt()));
    ptx.label("slice")
        .line("mul.wide.u32 w_bar, " + stage.str() + ", " + std::to_string(barrierBytes) + ";")
        .line("add.u64 w_bar, w_bar, " + bars + ";")
        .line(parity.empty() ? "mov.b32 w_parity, " + phase.str() + ";"
                             : "xor.b32 w_parity, " + phase.str() + ", 1;");
    waitForPhase(ptx, "wait", "w_bar" + parity.str(), "w_parity");
  }
  void endSlices(InlinePtx &ptx, StringRef stage, StringRef phase) {
    std::string s = stage.str(), ph = phase.str();
    ptx.line("add.u32 " + s + ", " + s + ", 1;")
        .line("setp.eq.u32 w_p, " + s + ", " + std::to_string(tile.stages) + ";")
        .line("@w_p xor.b32 " + ph + ", " + ph + ", 1;")
        .line("@w_p mov.b32 " + s + ", 0;")
        .line("sub.u32 w_n, w_n, 1;")
        .line("setp.ne.u32 w_p, w_n, 0;")
        .branch("@w_p", "slice");
  }

  void copySlices(ArrayRef<Value> tileAt, Value &stage, Value &phase) {
    Type t32 = b.getI32Type();
    InlinePtx ptx(r, 2);
    std::string s = ptx.output(t32), ph = ptx.output(t32);
    std::string from = ptx.input(base), batch = ptx.input(toWord(tileAt[0]));
    std::string row = ptx.input(toWord(tileAt[1])), column = ptx.input(toWord(tileAt[2]));
    ptx.line(".reg .pred w_p;")
        .line(".reg .b32 w_n, w_k, w_parity, w_free;")
        .line(".reg .b64 w_bar, w_to;")
        .line("mov.b32 " + s + ", " + ptx.input(stage) + ";")
        .line("mov.b32 " + ph + ", " + ptx.input(phase) + ";")
        .line("mov.b32 w_n, " + ptx.input(slices) + ";")
        .line("mov.b32 w_k, 0;");
    if (p.desc.window.is_used)
      return copyWindows(ptx, s, ph, tileAt, stage, phase, from, column);
    beginCopies(ptx, s, ph, from);
    copyBoxes(ptx, maps[0], p.desc.left, !p.desc.left.transposed, row, tileRows, 0, batch);
    copyBoxes(ptx, maps[1], p.desc.right, p.desc.right.transposed, column, tile.columns,
              tile.leftBytes(), batch);
    ptx.line("add.u32 w_k, w_k, " + std::to_string(sliceDepth()) + ";");
    endSlices(ptx, s, ph);
    SmallVector<Value> results = ptx.emit();
    stage = results[0];
    phase = results[1];
  }

  /// Waits for room, which there is at first: the phase before the first one counts as over.
  void beginCopies(InlinePtx &ptx, const std::string &s, const std::string &ph,
                   const std::string &from) {
    beginSlices(ptx, s, ph, "+8");
    ptx.line("mbarrier.arrive.expect_tx.shared::cta.b64 _, [w_bar], " +
             std::to_string(tile.stageBytes()) + ";")
        .line("mul.wide.u32 w_to, " + s + ", " + std::to_string(tile.stageBytes()) + ";")
        .line("add.u64 w_to, w_to, " + from + ";");
  }

  /// The slices of a convolution: channels of one place of the window after the other. The
  /// engine goes along positions by itself, from the tile's first on (im2col).
  void copyWindows(InlinePtx &ptx, const std::string &s, const std::string &ph,
                   ArrayRef<Value> tileAt, Value &stage, Value &phase, const std::string &from,
                   const std::string &column) {
    const weir_cuda_window &w = p.desc.window;
    SmallVector<Value> at = r.delinearize(tileAt[1], rowSizes); // image, row, column
    auto position = [&](int64_t i) {
      Value begin = r.sub(r.mul(at[1 + i], index(w.strides[i])), index(w.pads[i]));
      return ptx.input(toWord(begin));
    };
    std::string y = position(0), x = position(1), image = ptx.input(toWord(at[0]));
    std::string images = ptx.input(maps[0]), filter = ptx.input(maps[1]);
    auto number = [](int64_t value) { return std::to_string(value); };
    auto channels = cast<RankedTensorType>(cast<ConvOp>(p.op).getFilter().getType()).getDimSize(2);
    ptx.line(".reg .b32 w_place, w_column;")
        .line(".reg .b16 w_y, w_x;")
        .line("mov.b32 w_place, 0;")
        .line("mov.b32 w_column, 0;")
        .line("mov.b16 w_y, 0;")
        .line("mov.b16 w_x, 0;");
    beginCopies(ptx, s, ph, from);
    ptx.line("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
             "[w_to], [" +
             images + ", {w_k, " + x + ", " + y + ", " + image + "}], [w_bar], {w_x, w_y};");
    bool isAlong = p.desc.right.transposed; // of bytes, which were arranged so
    for (int64_t i = 0; i < (isAlong ? 1 : tile.columns / 64); ++i)
      ptx.line("add.u64 w_to, w_to, " + number(i == 0 ? tile.leftBytes() : boxBytes) + ";")
          .line("add.u32 w_free, " + column + ", " + number(i * 64) + ";")
          .line("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[w_to], [" +
                filter + (isAlong ? ", {w_k, w_free, w_place}" : ", {w_free, w_k, w_place}") +
                "], [w_bar];");
    // Behind the last channel comes the next place; behind a line's last, the next line.
    ptx.line("add.u32 w_k, w_k, " + number(sliceDepth()) + ";")
        .line("setp.ge.u32 w_p, w_k, " + number(channels) + ";")
        .line("@w_p mov.b32 w_k, 0;")
        .line("@w_p add.u32 w_place, w_place, 1;")
        .line("@w_p add.u32 w_column, w_column, 1;")
        .line("@w_p add.u16 w_x, w_x, " + number(w.dilations[1]) + ";")
        .line("setp.eq.u32 w_p, w_column, " + number(w.size[1]) + ";")
        .line("@w_p mov.b32 w_column, 0;")
        .line("@w_p mov.b16 w_x, 0;")
        .line("@w_p add.u16 w_y, w_y, " + number(w.dilations[0]) + ";");
    endSlices(ptx, s, ph);
    SmallVector<Value> results = ptx.emit();
    stage = results[0];
    phase = results[1];
  }

  /// Asks for one operand's slice: all lines along the depth at once, or 64 rows (columns) at
  /// a time.
  void copyBoxes(InlinePtx &ptx, Value map, const weir_cuda_matrix &matrix, bool alongDepth,
                 const std::string &free, int64_t count, int64_t offset, const std::string &batch) {
    bool isOne = matrix.batch.factor == 0;
    std::string which = isOne ? ptx.input(word(r, 0)) : batch, at = ptx.input(map);
    int64_t boxes = alongDepth ? 1 : count / 64;
    for (int64_t i = 0; i < boxes; ++i) {
      int64_t more = i == 0 ? offset : boxBytes;
      if (more)
        ptx.line("add.u64 w_to, w_to, " + std::to_string(more) + ";");
      ptx.line("add.u32 w_free, " + free + ", " + std::to_string(i * 64) + ";")
          .line("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[w_to], [" +
                at + ", {" + (alongDepth ? "w_k, w_free" : "w_free, w_k") + ", " + which +
                "}], [w_bar];");
    }
    if (int64_t back = offset + (boxes - 1) * boxBytes)
      ptx.line("sub.u64 w_to, w_to, " + std::to_string(back) + ";");
  }

  //===--------------------------------------------------------------------===//
  // Products
  //===--------------------------------------------------------------------===//

  std::string instruction() const {
    bool isInteger = isa<IntegerType>(p.left);
    return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(tile.columns) + "k" +
           std::to_string(isByteElement(p.left) ? 32 : 16) + (isInteger ? ".s32." : ".f32.") +
           tensorCoreName(p.left).str() + "." + tensorCoreName(p.right).str();
  }

  SmallVector<Value> multiplySlices(Value group, Value &stage, Value &phase) {
    Type t32 = b.getI32Type();
    int64_t sums = tile.columns / 2;
    InlinePtx ptx(r, sums + 2);
    std::string all;
    for (int64_t i = 0; i < sums; ++i)
      all += (i ? ", " : "") + ptx.output(wide);
    std::string s = ptx.output(t32), ph = ptx.output(t32);
    Value leftAt = sharedAt(r, base, r.mul(group, index(boxBytes)));
    std::string left = ptx.input(leftAt), right = ptx.input(shared(tile.leftBytes()));
    std::string laneIn = ptx.input(toWord(lane));
    ptx.line(".reg .pred w_p, w_more, w_lead, w_behind;")
        .line(".reg .b32 w_n, w_parity;")
        .line(".reg .b64 w_bar, w_before, w_at, w_left, w_right;")
        .line("mov.b32 " + s + ", " + ptx.input(stage) + ";")
        .line("mov.b32 " + ph + ", " + ptx.input(phase) + ";")
        .line("mov.b32 w_n, " + ptx.input(slices) + ";")
        .line("mov.b64 w_before, 0;")
        .line("setp.eq.u32 w_lead, " + laneIn + ", 0;")
        .line("setp.ne.u32 w_more, " + laneIn + ", " + laneIn + ";")
        .line("setp.ne.u32 w_behind, " + laneIn + ", " + laneIn + ";");
    beginSlices(ptx, s, ph, "");
    ptx.line("mul.wide.u32 w_at, " + s + ", " + std::to_string(tile.stageBytes()) + ";");
    auto describe = [&](const std::string &name, const std::string &from, bool liesAcross) {
      ptx.line("add.u64 " + name + ", w_at, " + from + ";");
      describeOperand(ptx, name, name, liesAcross ? boxBytes : 0);
    };
    describe("w_left", left, p.desc.left.transposed);
    describe("w_right", right, !p.desc.right.transposed);
    multiplySlice(ptx, all, laneIn);
    // The slice before was read: one thread of each warp says so.
    ptx.line("wgmma.wait_group.sync.aligned 1;")
        .line("@w_behind mbarrier.arrive.shared::cta.b64 _, [w_before+8];")
        .line("mov.b64 w_before, w_bar;")
        .line("and.pred w_behind, w_lead, w_lead;");
    endSlices(ptx, s, ph);
    ptx.line("wgmma.wait_group.sync.aligned 0;")
        .line("@w_behind mbarrier.arrive.shared::cta.b64 _, [w_before+8];");
    SmallVector<Value> results = ptx.emit();
    stage = results[sums];
    phase = results[sums + 1];
    results.resize(sums);
    return results;
  }

  void multiplySlice(InlinePtx &ptx, const std::string &all, const std::string &lane) {
    bool leftAcross = p.desc.left.transposed, rightAcross = !p.desc.right.transposed;
    constexpr int64_t steps = lineBytes / 32;
    // Along the depth a step is 32 bytes of a line; across, 16 lines.
    int64_t leftStep = leftAcross ? 16 * lineBytes : 32,
            rightStep = rightAcross ? 16 * lineBytes : 32;
    std::string tail = isa<IntegerType>(p.left) ? "" : ", 1, 1";
    if (!isByteElement(p.left))
      tail += std::string(leftAcross ? ", 1" : ", 0") + (rightAcross ? ", 1" : ", 0");
    ptx.line("wgmma.fence.sync.aligned;");
    for (int64_t i = 0; i < steps; ++i) {
      ptx.line(instruction() + " {" + all + "}, w_left, w_right, w_more" + tail + ";");
      if (i == 0)
        ptx.line("setp.eq.u32 w_more, " + lane + ", " + lane + ";");
      if (i + 1 < steps)
        ptx.line("add.u64 w_left, w_left, " + std::to_string(leftStep >> 4) + ";")
            .line("add.u64 w_right, w_right, " + std::to_string(rightStep >> 4) + ";");
    }
    ptx.line("wgmma.commit_group.sync.aligned;");
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// A warp has 16 rows of its group's sums: they go through memory of its own, 64 columns
  /// at a time, so that what follows is computed on neighbours, in vectors.
  void finish(ArrayRef<Value> tileAt, Value group, ArrayRef<Value> sums) {
    Value warp = r.remainder(r.divide(thread, index(warpThreads)), index(4));
    Value number = r.add(r.mul(group, index(4)), warp);
    staging = sharedAt(r, shared(tile.stagedAt()), r.mul(number, index(stagedBytes)));
    SmallVector<Value> batch = r.delinearize(tileAt[0], batchSizes);
    Value firstRow = r.add(tileAt[1], r.mul(number, index(tensorCoreRows)));
    auto place = [&](Value row, Value column) { return stagedPlace(r, staging, row, column); };
    for (int64_t first = 0; first < tile.columns; first += stagedColumns) {
      meetWarp(r);
      // PTX ISA, wgmma's accumulators.
      stageSums(r, sums.slice(first / 2, stagedColumns / 2), r.divide(lane, index(4)),
                r.mul(r.remainder(lane, index(4)), index(2)), place);
      meetWarp(r);
      store(batch, firstRow, r.add(tileAt[2], index(first)));
    }
  }

  void store(ArrayRef<Value> batch, Value firstRow, Value firstColumn) {
    auto globalRow = [&](Value row) { return r.add(firstRow, row); };
    auto place = [&](Value row, Value column) { return stagedPlace(r, staging, row, column); };
    bool wholeRows = knownRows >= 0 && knownRows % tileRows == 0,
         wholeColumns = knownColumns >= 0 && knownColumns % tile.columns == 0;
    MatrixResult to = {p.op,
                       wide,
                       result,
                       p.batchDims,
                       p.rowDims,
                       p.columnDims,
                       llvm::to_vector(batch),
                       rowSizes,
                       columnSizes,
                       wholeRows ? Value() : rows,
                       wholeColumns ? Value() : columns};
    storeStagedSums(k, to, {lane, warpThreads, tensorCoreRows, stagedColumns, 1, place}, globalRow,
                    firstColumn);
  }

  const CudaKernel &k;
  const WideOperands &p;
  const Tile tile;
  Type wide, result;
  CudaReader &r;
  OpBuilder &b;
  const KernelBuilder::Buffer target;
  ValueRange maps;
  int64_t knownRows = -1, knownColumns = -1;
  SmallVector<Value> batchSizes, rowSizes, columnSizes;
  Value rows, columns, slices, rowTiles, columnTiles, tiles, thread, lane, base, staging;
};

/// Nothing: none fits, or tiles would be too few for a GPU to be busy.
std::optional<Tile> tileFor(const WideOperands &p, RankedTensorType type) {
  int64_t batches = knownCount(type, p.batchDims), rows = knownCount(type, p.rowDims),
          columns = knownCount(type, p.columnDims);
  if ((columns >= 0 && columns < 64) || (rows >= 0 && rows < 64))
    return std::nullopt;
  if (batches < 0 || rows < 0 || columns < 0)
    return narrowTile;
  // What parts of a GPU have, too.
  constexpr int64_t fewTiles = 8;
  auto tilesOf = [&](const Tile &tile) {
    return batches * llvm::divideCeil(rows, tileRows) * llvm::divideCeil(columns, tile.columns);
  };
  if (tilesOf(narrowTile) < fewTiles)
    return std::nullopt;
  return tilesOf(wideTile) >= enoughTiles ? wideTile : narrowTile;
}

/// The engine reads lines that begin at whole chunks of 16 bytes. What is open is looked at
/// by the runtime.
bool isAligned(const weir_extent &extent, int64_t elementBytes) {
  return extent.open[0] >= 0 || extent.factor * elementBytes % 16 == 0;
}

} // namespace

std::optional<WideKernel> weir::emitWideProduct(plan::KernelOp kernel, StringRef symbol,
                                                gpu::GPUModuleOp module, SiteTable &sites) {
  std::optional<WideOperands> p = wideOperandsOf(kernel);
  if (!p || !resultsLieAs(kernel, p->op))
    return std::nullopt;
  Type result = getElementTypeOrSelf(p->op->getResult(0).getType());
  if (auto dot = dyn_cast<DotGeneralOp>(p->op))
    result = dot.getAccumulator();
  else if (auto conv = dyn_cast<ConvOp>(p->op))
    result = conv.getAccumulator();
  Type wide = accumulatorType(result);
  if (!tensorCoresTake(p->left, p->right, wide))
    return std::nullopt;
  const weir_cuda_matrix &left = p->desc.left, &right = p->desc.right;
  int64_t elementBytes = isByteElement(p->left) ? 1 : 2;
  // Of bytes tensor cores read lines along the depth alone.
  if (isByteElement(p->left) && (left.transposed || !right.transposed))
    return std::nullopt;
  for (const weir_cuda_matrix *matrix : {&left, &right})
    if (!isAligned(matrix->line, elementBytes) || !isAligned(matrix->batch, elementBytes))
      return std::nullopt;
  std::optional<Tile> tile = tileFor(*p, cast<RankedTensorType>(p->op->getResult(0).getType()));
  if (!tile)
    return std::nullopt;
  WideKernel form;
  form.name = symbol.str() + "_wide";
  if (auto conv = dyn_cast<ConvOp>(p->op); conv && p->desc.window.is_used && right.transposed)
    form.filter = cast<RankedTensorType>(conv.getFilter().getType());
  Type pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  auto emit = [&](const CudaKernel &k, ValueRange maps) {
    WideGemm(k, *p, *tile, wide, result, maps).emit();
  };
  KernelForm second = {{pointer, pointer}, emit};
  LaunchShape shape = emitCudaKernel(kernel, form.name, module, sites, {}, &second);
  weir_cuda_wide_kernel &desc = form.desc = p->desc;
  desc.size = sizeof(desc);
  desc.dtype = dtypeOf(p->left);
  desc.threads = int32_t(shape.threads);
  desc.shared = int32_t(tile->shared());
  desc.tile_rows = int32_t(tileRows);
  desc.tile_columns = int32_t(tile->columns);
  return form;
}
