//===- GemmInt8.cpp - products of bytes -----------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How rows and panels are gone through: see GemmInt8.h.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/GemmInt8.h"
#include "compiler/codegen/cpu/schedule/PackWeights.h"
#include "dialects/weir/Pch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weir;

void ByteEmitter::reserve() {
  scratch = stackBytes(most * width * 4);
  if (copies)
    panelOnStack = stackBytes(depth * width);
  if (isTiles)
    configuration = stackBytes(tileBytes);
  else if (isSigned && (!isPairs || ofMany == Form::Bounded))
    sumsOnStack = stackBytes(width * 4);
  if (!isPairs)
    columnSums = sumsOnStack;
  if (ofMany == Form::Paired && loops.size() > 1)
    leftAt = stackBytes(depth / quad * 8);
  if (ofMany == Form::Wide) {
    widePanel = stackBytes(2 * depth * width);
    wideRows = stackBytes(2 * depth * most);
  }
  if (ofMany == Form::Bounded) {
    bounded = stackBytes(depth * width);
    excess = stackBytes(depth * width);
    excessAt = stackBytes(depth / quad * (width / lanes) * 8);
    excessCounts = stackBytes(width / lanes * 8);
  }
}

int64_t ByteEmitter::joinedRows(int64_t lines, int64_t span, int64_t before) const {
  int64_t best = 0;
  for (int64_t rows = std::min(most, lines * span); rows > 0; --rows) {
    int64_t cost = stepsOf(lines * span, rows);
    if ((span % rows == 0 || rows % span == 0) && cost <= before) {
      before = cost - 1;
      best = rows;
    }
  }
  return best;
}

int64_t ByteEmitter::joinedRows(ConvOp conv) {
  int64_t lines = imageParts()[1];
  SmallVector<Value> sizes = imageSizes(target.dims);
  std::optional<int64_t> height = getConstantIntValue(sizes[1]),
                         span = getConstantIntValue(sizes[2]);
  RowPanel apart = stripOf(conv, r.constant(lines));
  std::optional<int64_t> positions = getConstantIntValue(apart.positions);
  if (isTiles || !height || !span || !positions || *height % lines)
    return 0;
  int64_t rows = rowsOfBlock(*positions), panels = isFlat(conv) ? 1 : lines;
  if (isFlat(conv) && *positions == lines * *span)
    return 0; // there is no border
  return joinedRows(lines, *span, panels * stepsOf(*positions, rows));
}

void ByteEmitter::choosePanel(Value column, Value packed) {
  bool isBounded = form == Form::Bounded;
  panels = isBounded ? bounded : copies ? panelOnStack : weights.pointer;
  panelBase = isBounded || copies ? r.constant(0) : r.mul(packed, r.constant(depth));
  if (form == Form::Paired) {
    Value number = r.divide(packed, r.constant(width));
    besides = r.bufferOf(kernel.getBody().getArguments().back()).pointer;
    beside = byteAddress(besides, r.mul(number, r.constant(besidePanels().pitch())));
    columnSums = isSigned ? byteAddress(beside, r.constant(besidePanels().sums())) : Value();
  }
  if (groups > 1)
    groupBase = r.mul(r.divide(column, r.constant(columns / groups)), r.constant(channels));
}

void ByteEmitter::preparePanel(Value column, Value packed, Value firstRow) {
  if (copies)
    copyPanel(firstRow, column);
  if (form == Form::Bounded)
    boundPanel(r.mul(packed, r.constant(depth)));
  else if (form == Form::Wide)
    widenPanel(panels, panelBase);
  else if (form == Form::Paired)
    notePlaces();
  else if (columnSums)
    sumColumns();
}

void ByteEmitter::panel(const RowPanel &rowPanel, Value first, Value last, const PanelUse &use) {
  // To bound a panel, or to widen it, takes as long as some four rows: too long for a few.
  constexpr int64_t fewRows = 16;
  auto all = [&](Form chosen) {
    form = chosen;
    if (isPairs)
      columnSums = form == Form::Bounded && isSigned ? sumsOnStack : Value();
    choosePanel(use.column, use.packed);
    auto prepare = [&] { preparePanel(use.column, use.packed, use.firstRow); };
    if (!use.before || getConstantIntValue(use.before) == 0)
      prepare();
    else if (copies || form != Form::Plain || columnSums)
      emitEither(r, r.less(use.before, r.constant(1)), prepare, [] {});
    blocks(rowPanel, first, last, use.column);
  };
  if (ofMany == Form::Plain || ofMany == Form::Paired)
    return all(ofMany);
  if (std::optional<int64_t> rows = getConstantIntValue(use.rows))
    return all(*rows < fewRows ? Form::Plain : ofMany);
  emitEither(
      r, r.less(use.rows, r.constant(fewRows)), [&] { all(Form::Plain); }, [&] { all(ofMany); });
}

void ByteEmitter::eachPanel(Value part, function_ref<void(Value column, Value packed)> body) {
  if (!ofGroup) {
    Value column = r.mul(part, r.constant(width));
    return body(column, column);
  }
  int64_t whole = ofGroup / width * width;
  Value column = r.mul(part, r.constant(ofGroup));
  Value packed = r.mul(part, r.constant(llvm::alignTo(ofGroup, width)));
  present = width;
  emitStepLoop(r, r.constant(0), r.constant(whole), width,
               [&](Value offset) { body(r.add(column, offset), r.add(packed, offset)); });
  present = ofGroup - whole;
  body(r.add(column, r.constant(whole)), r.add(packed, r.constant(whole)));
}

Value ByteEmitter::offsetOf(const RowPanel &rowPanel, Value row) {
  Value pitch = r.constant(rowPanel.pitch);
  if (!rowPanel.span)
    return r.mul(row, pitch);
  Value span = r.constant(rowPanel.span);
  return r.add(r.mul(r.divide(row, span), r.constant(rowPanel.linePitch)),
               r.mul(r.remainder(row, span), pitch));
}

void ByteEmitter::block(const RowPanel &rowPanel, Value start, Value skip, Value rows,
                        Value column) {
  Value base = r.add(rowPanel.base, offsetOf(rowPanel, start));
  if (groupBase)
    base = r.add(base, groupBase);
  if (isTiles) {
    clearTiles();
    sumTiles(isSigned ? "tdpbssd" : "tdpbusd", loops, rowPanel, base, panelBase);
    storeTiles(scratch);
  } else {
    sumByVectors(rowPanel, base, *getConstantIntValue(rows));
  }
  finish(rowPanel, start, skip, rows, column);
}

void ByteEmitter::blocks(const RowPanel &rowPanel, Value first, Value last, Value column) {
  std::optional<int64_t> positions = getConstantIntValue(rowPanel.positions);
  // The last block begins earlier, and leaves out what others have.
  auto ofRows = [&](Value rows, Value from, Value to) {
    emitStepLoop(r, from, to, 1, [&](Value number) {
      Value wanted = r.mul(number, rows);
      sharer = r.sub(number, first);
      Value start = r.minimum(wanted, r.sub(rowPanel.positions, rows));
      block(rowPanel, start, r.sub(wanted, start), rows, column);
    });
  };
  sharers = 0;
  if (positions && !isTiles) {
    int64_t rows = rowPanel.span ? together : rowsOfBlock(*positions);
    if (std::optional<int64_t> count = getConstantIntValue(r.sub(last, first)))
      sharers = *count;
    int64_t rest = restOf(*positions, rows);
    if (!rest)
      return ofRows(r.constant(rows), first, last);
    Value whole = r.constant(*positions / rows);
    ofRows(r.constant(rows), first, r.minimum(last, whole));
    return emitStepLoop(r, r.maximum(first, whole), last, 1, [&](Value number) {
      sharer = r.sub(number, first);
      block(rowPanel, r.constant(*positions - rest), r.constant(0), r.constant(rest), column);
    });
  }
  if (positions)
    return ofRows(r.constant(std::min(*positions, most)), first, last);
  if (isTiles)
    return ofRows(r.minimum(rowPanel.positions, r.constant(most)), first, last);
  emitEither(
      r, r.less(rowPanel.positions, r.constant(most)),
      [&] {
        emitRowTiles(r, rowPanel.positions, most, [&](Value start, int64_t rows) {
          block(rowPanel, start, r.constant(0), r.constant(rows), column);
        });
      },
      [&] { ofRows(r.constant(most), first, last); });
}

void ByteEmitter::finishPacked(const RowPanel &rowPanel, Value start, Value skip, Value rows,
                               Value column, int64_t count, const RoundedByte &result) {
  VectorReader reader(r, lanes);
  reader.followWords();
  // A vector has the bytes of two rows or of one. Of an odd number of rows the last comes twice.
  int64_t together = 4 * lanes / width;
  Value last = r.sub(rows, r.constant(1));
  emitStepLoop(r, skip, rows, together, [&](Value row) {
    SmallVector<Value> words, targets;
    for (int64_t i = 0; i < together; ++i) {
      Value own = i == 0 ? row : r.minimum(r.add(row, r.constant(i)), last);
      SmallVector<Value> indices = rowPanel.place(r.add(start, own)).first;
      indices.push_back(column);
      targets.push_back(byteAddress(target.pointer, r.linearIndex(target, indices)));
      for (int64_t v = 0; v * lanes < width; ++v) {
        int64_t left = count - v * lanes;
        if (left <= 0) {
          words.push_back(words.back());
          continue;
        }
        Value offset = r.constant(v * lanes), mask;
        if (left < lanes)
          mask = vector::CreateMaskOp::create(b, r.loc, VectorType::get({lanes}, b.getI1Type()),
                                              r.constant(left));
        Value sum = r.add(r.mul(own, r.constant(width)), offset);
        indices.back() = r.add(column, offset);
        reader.setLanes(indices.back(), mask);
        reader.setAnchor(anchor->getResult(0), loadWords(scratch, r.mul(sum, r.constant(4))));
        words.push_back(nearestWords(
            b, r.loc, reader.broadcast(reader.element(result.real, indices)), result.isInWords));
      }
    }
    for (auto [bytes, pointer] : llvm::zip_equal(
             packedRows(b, r.loc, words, together, result.zero, result.isUnsigned), targets))
      storeBytes(bytes, pointer, count);
  });
}

void ByteEmitter::storeBytes(Value row, Value pointer, int64_t count) {
  int64_t done = 0;
  for (int64_t each = width; each >= quad; each /= 2) {
    if (count - done < each)
      continue;
    Value piece = row;
    if (each < width)
      piece =
          vector::ExtractStridedSliceOp::create(b, r.loc, row, {done / quad}, {each / quad}, {1});
    LLVM::StoreOp::create(b, r.loc, piece, byteAddress(pointer, r.constant(done)), /*alignment=*/1);
    done += each;
  }
}

void ByteEmitter::finish(const RowPanel &rowPanel, Value start, Value skip, Value rows,
                         Value column) {
  auto sums = [&](VectorReader &, Value from) {
    return loadWords(scratch, r.mul(from, r.constant(4)));
  };
  std::optional<RoundedByte> rounded =
      roundedByteOf(kernel.getBody().front().getTerminator()->getOperand(0));
  auto finishColumns = [&](Value count) {
    std::optional<int64_t> known = getConstantIntValue(count);
    if (rounded && !rowPanel.hasGaps && 4 * lanes >= width && known && *known % quad == 0)
      return finishPacked(rowPanel, start, skip, rows, column, *known, *rounded);
    finishRows(rowPanel, start, skip, rows, column, count, lanes, sums);
  };
  if (ofGroup)
    return finishColumns(r.constant(present));
  ofPresent(column, finishColumns);
}

void ByteEmitter::product(DotGeneralOp dot, Value begin, Value end) {
  step = isTiles ? quadStep(depth) : quad;
  loops.push_back({depth / step, r.constant(step), step});
  reserve();
  RowPanel whole = stripOf(dot);
  Value rows = r.minimum(whole.positions, r.constant(most));
  if (std::optional<int64_t> known = getConstantIntValue(whole.positions); known && !isTiles)
    rows = r.constant(rowsOfBlock(*known));
  if (isTiles)
    configureTiles(rows, step, step / quad);
  int64_t height = getConstantIntValue(rows).value_or(most);
  eachPart(dot, whole, height, begin, end,
           [&](const RowPanel &rowPanel, Value first, Value last, Value number) {
             Value column = r.mul(number, r.constant(width));
             panel(rowPanel, first, last,
                   {column, column, r.mul(rowPanel.matrix, r.constant(depth)), rowPanel.positions});
           });
  release();
}

void ByteEmitter::convolution(ConvOp conv, Value begin, Value end) {
  groups = conv.getGroups();
  channels = left.type.getShape().back() / groups;
  ofGroup = columnsOfLooseGroup(conv);
  step = isTiles ? quadStep(runOf(conv)) : quad;
  int64_t lines = imageParts()[1];
  RowPanel whole = stripOf(conv, r.constant(lines));
  if (packs) {
    whole.positions = r.mul(r.constant(lines), imageSizes(target.dims)[2]);
    reserveRows(*getConstantIntValue(whole.positions), step);
    loops.push_back(packedLoop());
  } else {
    loops = windowLoops(conv, step);
  }
  reserve();
  auto configure = [&](const RowPanel &rowPanel) {
    configureTiles(r.minimum(rowPanel.positions, r.constant(most)), step, step / quad);
  };
  std::optional<int64_t> height = getConstantIntValue(imageSizes(target.dims)[1]);
  bool isOpen =
      !getConstantIntValue(whole.positions) || (isFlat(conv) && (!height || *height % lines));
  if (isTiles && !isOpen)
    configure(whole);
  together = joinedRows(conv);
  auto ofPart = [&](const RowPanel &rowPanel, Value before, Value part) {
    Value last = r.constant(0), rows = rowPanel.positions;
    if (!isFlat(conv) && !together && !packs)
      rows = r.mul(rows, r.constant(lines));
    if (std::optional<int64_t> positions = getConstantIntValue(rowPanel.positions))
      last = r.constant(
          llvm::divideCeil(*positions, rowPanel.span ? together : std::min(*positions, most)));
    else
      last = r.divide(r.add(rowPanel.positions, r.constant(most - 1)), r.constant(most));
    if (isTiles && isOpen)
      configure(rowPanel);
    // Of several panels none stays where it is until the next line.
    if (ofGroup)
      before = Value();
    eachPanel(part, [&](Value column, Value packed) {
      panel(rowPanel, r.constant(0), last, {column, packed, r.constant(0), rows, before});
    });
  };
  eachPart(conv, begin, end, together != 0 || packs,
           [&](const RowPanel &rowPanel, Value before, Value part) {
             ofPart(packs ? packWindows(conv, rowPanel) : rowPanel, before, part);
           });
  release();
}

LogicalResult weir::emitGemmInt8(KernelBuilder &r, plan::KernelOp kernel, Value begin, Value end) {
  auto packed = packedGemmOf(kernel);
  if (failed(packed))
    return failure();
  ByteEmitter emitter(r, kernel, *packed);
  if (auto dot = dyn_cast<DotGeneralOp>(packed->op))
    emitter.product(dot, begin, end);
  else
    emitter.convolution(cast<ConvOp>(packed->op), begin, end);
  return success();
}
