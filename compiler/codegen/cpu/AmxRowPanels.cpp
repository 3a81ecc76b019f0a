//===- AmxRowPanels.cpp - products by rows at one distance -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/AmxRowPanels.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace weir;

FailureOr<PackedGemm> weir::packedGemmOf(plan::KernelOp kernel) {
  PackedGemm product;
  for (Operation &op : kernel.getBody().front())
    if (op.hasAttr(tileUnitAttribute))
      product.op = &op;
  // The packed weights lie behind what undoes the packing.
  Value right = product.op ? product.op->getOperand(1) : Value();
  for (Operation *def; right && (def = right.getDefiningOp());)
    right =
        isa<ReshapeOp, SliceOp, UnpackPanelsOp, TransposeOp>(def) ? def->getOperand(0) : Value();
  product.weights = dyn_cast_or_null<BlockArgument>(right);
  if (!product.weights || !isa<BlockArgument>(product.op->getOperand(0)))
    return kernel.emitError("products by rowPanels read packed weights and a buffer of rows");
  return product;
}

/// See AmxRowPanelEmitter::countsOn, for rows along dimensions from `first` to the last but one of
/// `target`. Elementwise operations alone follow the product.
static bool mayCountOn(KernelBuilder &r, plan::KernelOp kernel, Operation *anchor,
                       const KernelBuilder::Buffer &target, int64_t first) {
  ArrayRef<int64_t> shape = target.type.getShape();
  int64_t rank = shape.size();
  if (target.hasGaps() ||
      cast<RankedTensorType>(anchor->getResult(0).getType()).getShape() != shape)
    return false;
  // Numbers are places along the last of these dimensions. Of a size of 1 it would be one that
  // operands are stretched along, and each line would read what the first one does.
  if (shape[rank - 2] == 1 && rank - 2 > first)
    return false;
  auto liesAlike = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *def = value.getDefiningOp();
    if (def && def != anchor && !isa<ElementwiseOpInterface, ConstantOp>(def))
      return false; // its elements lie elsewhere
    auto own = cast<RankedTensorType>(value.getType());
    int64_t missing = rank - own.getRank();
    bool isWhole = missing <= first, isOne = true;
    for (int64_t i = first; i + 1 < rank; ++i) {
      int64_t size = i < missing ? 1 : own.getDimSize(i - missing);
      isWhole &= size == shape[i] && !ShapedType::isDynamic(size);
      isOne &= size == 1;
    }
    return isOne || (isWhole && (!argument || !r.bufferOf(argument).hasGaps()));
  };
  return llvm::all_of(kernel.getBody().front().without_terminator(), [&](Operation &op) {
    if (isa<ElementwiseOpInterface>(op))
      return llvm::all_of(op.getOperands(), liesAlike);
    return &op == anchor || isa<ConstantOp, ReshapeOp, SliceOp, UnpackPanelsOp, TransposeOp>(op);
  });
}

AmxRowPanelEmitter::AmxRowPanelEmitter(KernelBuilder &r, plan::KernelOp kernel,
                                       const PackedGemm &product, Type element)
    : r(r), b(r.b), kernel(kernel), anchor(product.op), weights(r.bufferOf(product.weights)),
      left(r.bufferOf(anchor->getOperand(0))),
      target(r.bufferOf(kernel.getBody().front().getTerminator()->getOperand(0))), element(element),
      elementBytes(element.getIntOrFloatBitWidth() / 8),
      parts(kernel.getSchedule()[plan::schedule::parts]) {
  panels = weights.pointer;
  leftRows = left.pointer;
  // What is not packed yet has a row for each element of the left operand's, or of the window.
  if (!kernel.getSchedule()[plan::schedule::copiesPanels])
    depth = weights.type.getNumElements() / (weights.type.getDimSize(0) * width);
  else if (isa<ConvOp>(anchor))
    depth = ShapedType::getNumElements(weights.type.getShape().drop_back());
  else
    depth = left.type.getShape().back();
  auto dot = dyn_cast<DotGeneralOp>(anchor);
  countsOn = mayCountOn(r, kernel, anchor, target, dot ? dot.getLhsBatch().size() : 1);
}

void AmxRowPanelEmitter::call(StringRef name, ValueRange arguments) {
  LLVM::CallIntrinsicOp::create(b, r.loc, b.getStringAttr(("llvm.x86." + name).str()), arguments);
}

Value AmxRowPanelEmitter::tile(int64_t number) {
  return LLVM::ConstantOp::create(b, r.loc, b.getI8Type(), b.getI8IntegerAttr(number));
}

Value AmxRowPanelEmitter::i64(int64_t value) {
  return LLVM::ConstantOp::create(b, r.loc, b.getI64Type(), b.getI64IntegerAttr(value));
}

Value AmxRowPanelEmitter::stackBytes(int64_t count) {
  return LLVM::AllocaOp::create(b, r.loc, LLVM::LLVMPointerType::get(b.getContext()), b.getI8Type(),
                                i64(count), /*alignment=*/64);
}

Value AmxRowPanelEmitter::byteAddress(Value pointer, Value byte) {
  return BufferAccess::address(r, pointer, b.getI8Type(), byte);
}

void AmxRowPanelEmitter::configureTiles(Value count, int64_t leftBytes, int64_t rightRows) {
  Value height = r.divide(r.add(count, r.constant(1)), r.constant(2));
  second = r.sub(count, height);
  uint8_t bytes[64] = {};
  bytes[0] = 1; // palette
  for (int64_t number = 0; number < 8; ++number) {
    bytes[16 + 2 * number] = number == 4 || number == 5 ? leftBytes : tileBytes;
    bytes[48 + number] = number < 6 ? 0 : rightRows;
  }
  if (!configuration)
    configuration = stackBytes(sizeof(bytes));
  constexpr size_t rowsAt = 48;
  for (size_t i = 0; i < sizeof(bytes); i += 8) {
    Value word = i64(llvm::support::endian::read64le(bytes + i));
    if (i == rowsAt) { // the first six tiles have `height` rows
      Value wide = arith::IndexCastOp::create(b, r.loc, b.getI64Type(), height);
      wide = arith::MulIOp::create(b, r.loc, wide, i64(0x010101010101));
      word = arith::OrIOp::create(b, r.loc, word, wide);
    }
    LLVM::StoreOp::create(b, r.loc, word, byteAddress(configuration, r.constant(i)));
  }
  call("ldtilecfg", {configuration});
}

void AmxRowPanelEmitter::clearTiles() {
  for (int64_t i = 0; i < 4; ++i)
    call("tilezero", {tile(i)});
}

void AmxRowPanelEmitter::multiplyTiles(StringRef product, const TileRows &rows, Value right) {
  constexpr int64_t panelBytes = 2 * tileBytes; // of a row of both tiles of columns
  auto load = [&](StringRef name, int64_t number, Value pointer, Value linear, int64_t pitch) {
    Value where = BufferAccess::address(r, pointer, element, linear);
    call(name, {tile(number), where, i64(pitch)});
  };
  auto loadRows = [&](int64_t number, Value first) {
    load(rows.isPassing ? "tileloaddt164" : "tileloadd64", number, rows.pointer, first,
         rows.pitch * elementBytes);
  };
  auto loadColumns = [&](int64_t number, Value first) {
    load("tileloadd64", number, panels, first, panelBytes);
  };
  loadRows(4, rows.first);
  loadColumns(6, right);
  call(product, {tile(0), tile(4), tile(6)});
  loadColumns(7, r.add(right, r.constant(tileBytes / elementBytes)));
  call(product, {tile(1), tile(4), tile(7)});
  loadRows(5, r.add(rows.first, rows.second));
  call(product, {tile(2), tile(5), tile(6)});
  call(product, {tile(3), tile(5), tile(7)});
}

int64_t AmxRowPanelEmitter::runOf(ConvOp conv) {
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t channels = filter.getDimSize(filter.getRank() - 2);
  bool isWhole = ofImage(conv.getDilations()).second == 1 && conv.getGroups() == 1;
  return isWhole ? ofImage(filter.getShape().drop_back(2)).second * channels : channels;
}

SmallVector<SumLoop> AmxRowPanelEmitter::windowLoops(ConvOp conv, int64_t step) {
  auto filter = cast<RankedTensorType>(conv.getFilter().getType());
  int64_t pitch = left.type.getShape().back(), run = runOf(conv);
  int64_t channels = pitch / conv.getGroups();
  auto [down, along] = ofImage(conv.getDilations());
  auto [high, wide] = ofImage(filter.getShape().drop_back(2));
  SmallVector<SumLoop> loops;
  loops.push_back(
      {high, r.mul(r.constant(down * pitch), imageSizes(left.dims)[2]), wide * channels});
  if (run != wide * channels)
    loops.push_back({wide, r.constant(along * pitch), channels});
  loops.push_back({run / step, r.constant(step), step});
  return loops;
}

void AmxRowPanelEmitter::eachStep(ArrayRef<SumLoop> loops, Value at, Value row,
                                  function_ref<void(Value at, Value row)> body) {
  if (loops.empty())
    return body(at, row);
  const SumLoop &loop = loops.front();
  auto inside = [&](Value i) {
    eachStep(loops.drop_front(), r.add(at, r.mul(i, loop.left)),
             r.add(row, r.mul(i, r.constant(loop.rows))), body);
  };
  if (loop.count == 1)
    return inside(r.constant(0));
  emitStepLoop(r, r.constant(0), r.constant(loop.count), 1, inside);
}

void AmxRowPanelEmitter::sumTiles(StringRef product, ArrayRef<SumLoop> loops,
                                  const RowPanel &rowPanel, Value base, Value panelBase,
                                  function_ref<void(Value row)> beside) {
  eachStep(loops, base, r.constant(0), [&](Value at, Value row) {
    if (beside)
      beside(row);
    TileRows tiles{leftRows, at, rowPanel.pitch, r.mul(second, r.constant(rowPanel.pitch))};
    multiplyTiles(product, tiles, r.add(panelBase, r.mul(row, r.constant(width))));
  });
}

Value AmxRowPanelEmitter::noteOnStack() {
  Value note = stackBytes(8);
  LLVM::StoreOp::create(b, r.loc, i64(-1), note);
  return note;
}

void AmxRowPanelEmitter::unlessThere(Value note, Value number, function_ref<void()> make) {
  Type i64Type = b.getI64Type();
  Value there = LLVM::LoadOp::create(b, r.loc, i64Type, note);
  Value wanted = arith::IndexCastOp::create(b, r.loc, i64Type, number);
  Value isThere = arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::eq, there, wanted);
  emitEither(
      r, isThere, [] {},
      [&] {
        make();
        LLVM::StoreOp::create(b, r.loc, wanted, note);
      });
}

void AmxRowPanelEmitter::reserveRows(int64_t positions, int64_t step) {
  packedPositions = positions;
  packedStep = step;
  leftRows = stackBytes(positions * depth * elementBytes);
  packedBase = noteOnStack();
}

RowPanel AmxRowPanelEmitter::packWindows(ConvOp conv, const RowPanel &lines) {
  auto type = VectorType::get({packedStep}, element);
  // As sums read them: step by step.
  auto packStep = [&](Value at, Value row) {
    Value to = r.mul(row, r.constant(packedPositions));
    emitStepLoop(r, r.constant(0), r.constant(packedPositions / lines.span), 1, [&](Value y) {
      emitStepLoop(r, r.constant(0), r.constant(lines.span), 1, [&](Value x) {
        Value from = r.add(
            at, r.add(r.mul(y, r.constant(lines.linePitch)), r.mul(x, r.constant(lines.pitch))));
        Value position = r.add(r.mul(y, r.constant(lines.span)), x);
        Value source = BufferAccess::address(r, left.pointer, element, from);
        Value target = BufferAccess::address(r, leftRows, element,
                                             r.add(to, r.mul(position, r.constant(packedStep))));
        Value value = LLVM::LoadOp::create(b, r.loc, type, source, /*alignment=*/elementBytes);
        LLVM::StoreOp::create(b, r.loc, value, target, /*alignment=*/elementBytes);
      });
    });
  };
  unlessThere(packedBase, lines.base, [&] {
    eachStep(windowLoops(conv, packedStep), lines.base, r.constant(0), packStep);
  });
  RowPanel packed = lines;
  packed.span = packed.linePitch = 0;
  packed.pitch = packedStep;
  packed.base = r.constant(0);
  return packed;
}

void AmxRowPanelEmitter::fetchColumns(Value first, Value share, int64_t sharers) {
  constexpr int64_t muchOfTheCache = 1 << 18, lines = 32;
  if (weights.type.getNumElements() * elementBytes < muchOfTheCache || sharers < 2)
    return;
  int64_t shares = std::min<int64_t>(llvm::bit_floor((uint64_t)sharers), lines);
  int64_t each = lines / shares, line = tileBytes / elementBytes;
  first = r.add(first, r.mul(share, r.constant(each * line)));
  for (int64_t i = 0; i < each; ++i) {
    Value where =
        BufferAccess::address(r, weights.pointer, element, r.add(first, r.constant(i * line)));
    LLVM::Prefetch::create(b, r.loc, where, /*rw=*/0, /*hint=*/2, /*cache=*/1);
  }
}

int64_t AmxRowPanelEmitter::sharersOf(const RowPanel &rowPanel, int64_t height) {
  constexpr int64_t usual = 4;
  std::optional<int64_t> positions = getConstantIntValue(rowPanel.positions);
  return std::min<int64_t>(parts[0] / height,
                           positions ? llvm::divideCeil(*positions, height) : usual);
}

void AmxRowPanelEmitter::storeTiles(Value block) {
  constexpr int64_t rowBytes = 2 * tileBytes; // of a block's sums
  for (int64_t i = 0; i < 4; ++i) {
    Value offset = r.constant(i % 2 * tileBytes);
    if (i >= 2)
      offset = r.add(offset, r.mul(second, r.constant(rowBytes)));
    call("tilestored64", {tile(i), byteAddress(block, offset), i64(rowBytes)});
  }
}

RowPanel AmxRowPanelEmitter::stripOf(DotGeneralOp dot) {
  RowPanel rowPanel;
  rowPanel.positions = r.constant(1);
  for (Value size : ArrayRef(target.dims).drop_back().drop_front(dot.getLhsBatch().size()))
    rowPanel.positions = r.mul(rowPanel.positions, size);
  rowPanel.pitch = left.type.getShape().back();
  rowPanel.base = r.constant(0);
  return rowPanel;
}

SmallVector<Value> AmxRowPanelEmitter::imageSizes(ArrayRef<Value> dims) {
  SmallVector<Value> sizes(dims);
  if (sizes.size() == 3)
    sizes.insert(sizes.begin() + 1, r.constant(1));
  return sizes;
}

SmallVector<int64_t> AmxRowPanelEmitter::imageParts() {
  SmallVector<int64_t> sizes(parts);
  if (sizes.size() == 3)
    sizes.insert(sizes.begin() + 1, 1);
  return sizes;
}

bool AmxRowPanelEmitter::isFlat(ConvOp conv) {
  return llvm::all_of(conv.getStrides(), [](int64_t stride) { return stride == 1; });
}

RowPanel AmxRowPanelEmitter::stripOf(ConvOp conv, Value lines) {
  Value span = imageSizes(target.dims)[2], line = imageSizes(left.dims)[2];
  RowPanel rowPanel;
  rowPanel.positions = isFlat(conv) ? r.add(r.mul(r.sub(lines, r.constant(1)), line), span) : span;
  rowPanel.pitch = conv.getStrides().back() * left.type.getShape().back();
  return rowPanel;
}

void AmxRowPanelEmitter::eachPart(
    DotGeneralOp dot, RowPanel rowPanel, int64_t height, Value begin, Value end,
    llvm::function_ref<void(const RowPanel &, Value first, Value last, Value panel)> body) {
  int64_t batch = dot.getLhsBatch().size(), rowDims = target.dims.size() - 1 - batch;
  SmallVector<Value> sizes(target.dims.begin(), target.dims.begin() + batch);
  sizes.append({rowPanel.positions, target.dims.back()});
  Value all = r.divide(r.add(rowPanel.positions, r.constant(height - 1)), r.constant(height));
  // Parts share out whole blocks; the last may have none.
  Value each = r.constant(llvm::divideCeil(parts[batch], height));
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, sizes, parts);
    rowPanel.matrix = r.constant(0);
    for (int64_t i = 0; i < batch; ++i)
      rowPanel.matrix = r.add(r.mul(rowPanel.matrix, target.dims[i]), at[i]);
    rowPanel.base = r.mul(rowPanel.matrix, r.mul(rowPanel.positions, r.constant(rowPanel.pitch)));
    auto place = [&](Value position) {
      SmallVector<Value> indices(at.begin(), at.begin() + batch), inside(rowDims, r.constant(0));
      if (countsOn) {
        inside.back() = position;
        llvm::append_range(indices, inside);
        return std::make_pair(indices, Value());
      }
      for (int64_t d = rowDims - 1; d > 0; --d) {
        inside[d] = r.remainder(position, target.dims[batch + d]);
        position = r.divide(position, target.dims[batch + d]);
      }
      inside[0] = position;
      llvm::append_range(indices, inside);
      return std::make_pair(indices, Value());
    };
    rowPanel.place = place;
    Value first = r.mul(at[batch], each);
    body(rowPanel, first, r.minimum(r.add(first, each), all), at[batch + 1]);
  });
}

void AmxRowPanelEmitter::eachPart(
    ConvOp conv, Value begin, Value end, bool joinsLines,
    llvm::function_ref<void(const RowPanel &, Value before, Value panel)> body) {
  SmallVector<Value> sizes = imageSizes(target.dims), image = imageSizes(left.dims);
  SmallVector<int64_t> parts = imageParts();
  Value span = sizes[2], line = image[2], height = sizes[1];
  bool isLine = target.dims.size() == 3;
  auto indicesOf = [&](Value number, Value y, Value x) {
    return isLine ? SmallVector<Value>{number, x} : SmallVector<Value>{number, y, x};
  };
  // Parts of a known number of lines are all alike.
  std::optional<int64_t> allLines = getConstantIntValue(height);
  bool isExact = allLines && *allLines % parts[1] == 0;
  emitStepLoop(r, begin, end, 1, [&](Value part) {
    SmallVector<Value> at = r.blockIndices(part, sizes, parts);
    Value firstLine = r.mul(at[1], r.constant(parts[1]));
    Value lines = r.constant(parts[1]);
    if (!isExact)
      lines = r.minimum(lines, r.sub(height, firstLine));
    RowPanel rowPanel = stripOf(conv, lines);
    auto lineIndex = [&](Value number) {
      Value from = r.add(r.mul(at[0], image[1]),
                         r.mul(number, r.constant(ofImage(conv.getStrides()).first)));
      return r.mul(from, r.mul(line, image[3]));
    };
    if (joinsLines) {
      auto place = [&](Value position) {
        if (countsOn)
          return std::make_pair(indicesOf(at[0], firstLine, position), Value());
        Value y = r.add(firstLine, r.divide(position, span));
        return std::make_pair(indicesOf(at[0], y, r.remainder(position, span)), Value());
      };
      rowPanel.span = *getConstantIntValue(span);
      rowPanel.linePitch = ofImage(conv.getStrides()).first * *getConstantIntValue(line) *
                           *getConstantIntValue(image[3]);
      rowPanel.positions = r.mul(lines, span);
      rowPanel.base = lineIndex(firstLine);
      rowPanel.place = place;
      body(rowPanel, r.constant(0), at[3]);
      return;
    }
    if (isFlat(conv)) {
      std::optional<int64_t> wide = getConstantIntValue(line);
      bool hasBorder = !wide || wide != getConstantIntValue(span);
      auto place = [&](Value position) {
        if (countsOn && !hasBorder)
          return std::make_pair(indicesOf(at[0], firstLine, position), Value());
        Value x = r.remainder(position, line);
        Value y = r.add(firstLine, r.divide(position, line));
        return std::make_pair(indicesOf(at[0], y, x), hasBorder ? r.less(x, span) : Value());
      };
      rowPanel.base = lineIndex(firstLine);
      rowPanel.place = place;
      rowPanel.hasGaps = hasBorder;
      body(rowPanel, r.constant(0), at[3]);
      return;
    }
    emitStepLoop(r, r.constant(0), lines, 1, [&](Value offset) {
      Value y = r.add(firstLine, offset);
      auto place = [&](Value position) {
        return std::make_pair(indicesOf(at[0], y, position), Value());
      };
      rowPanel.base = lineIndex(y);
      rowPanel.place = place;
      body(rowPanel, offset, at[3]);
    });
  });
}

void AmxRowPanelEmitter::ofPresent(Value column, function_ref<void(Value present)> body) {
  int64_t columns = target.type.getShape().back();
  bool isOpen = ShapedType::isDynamic(columns);
  if (!isOpen && columns % width == 0)
    return body(r.constant(width));
  if (!isOpen && columns < width)
    return body(r.constant(columns));
  Value all = target.dims.back();
  Value rest = isOpen ? r.sub(all, column) : r.constant(columns % width);
  emitEither(
      r, r.less(all, r.add(column, r.constant(width))), [&] { body(rest); },
      [&] { body(r.constant(width)); });
}

void AmxRowPanelEmitter::finishRows(const RowPanel &rowPanel, Value start, Value from, Value to,
                                    Value column, Value present, int64_t lanes,
                                    llvm::function_ref<Value(VectorReader &, Value)> sums,
                                    Value isStreamed) {
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  VectorReader reader(r, lanes);
  if (getElementTypeOrSelf(anchor->getResult(0).getType()).isInteger(32))
    reader.followWords();
  emitStepLoop(r, from, to, 1, [&](Value row) {
    OpBuilder::InsertionGuard guard(b);
    auto [indices, exists] = rowPanel.place(r.add(start, row));
    if (exists) {
      auto branch = scf::IfOp::create(b, r.loc, exists, /*withElseRegion=*/false);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
    }
    indices.push_back(Value());
    std::optional<int64_t> known = getConstantIntValue(present);
    for (int64_t v = 0; v * lanes < known.value_or(width); ++v) {
      Value mask;
      if (!known || *known < (v + 1) * lanes)
        mask = vector::CreateMaskOp::create(b, r.loc, VectorType::get({lanes}, b.getI1Type()),
                                            r.sub(present, r.constant(v * lanes)));
      Value sum = r.add(r.mul(row, r.constant(width)), r.constant(v * lanes));
      indices.back() = r.add(column, r.constant(v * lanes));
      reader.setLanes(indices.back(), mask);
      reader.setAnchor(anchor->getResult(0), sums(reader, sum));
      Value value = reader.element(result, indices);
      Value linear = r.linearIndex(target, indices);
      Type element = target.type.getElementType();
      auto store = [&] { reader.store(value, target.pointer, element, linear); };
      if (!isStreamed || mask)
        store();
      else
        emitEither(
            r, isStreamed, [&] { reader.stream(value, target.pointer, element, linear); }, store);
    }
  });
}
