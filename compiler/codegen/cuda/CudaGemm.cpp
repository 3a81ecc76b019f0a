//===- CudaGemm.cpp - products and convolutions --------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tiles multiply: a product's operands by groups of dimensions, and a convolution as
// the product of its windows, laid out as lines, with the filter; the lines are never stored.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaGemm.h"
#include "compiler/codegen/cuda/CudaWideOperands.h"
#include "dialects/weir/Contraction.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/ShapeSupport.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace weir;
using namespace weir::shape;

namespace {

bool isTileable(Type wide) {
  return isa<IntegerType, FloatType>(wide) && !wide.isInteger(1) &&
         wide.getIntOrFloatBitWidth() >= 8;
}

/// What shared memory gets: sums' own type, or the operands' where tensor cores of any
/// architecture multiply them.
void takeTypes(GemmProblem &p, Type left, Type right) {
  p.leftType = left;
  p.rightType = right;
  p.operand = p.wide;
  if (!tensorCoresTake(left, right, p.wide))
    return;
  if (isa<Float16Type, BFloat16Type>(left))
    p.operand = left;
  else if (isa<FloatType>(left)) // f16 has all of their values
    p.operand = Float16Type::get(left.getContext());
  else if (isa<IntegerType>(left))
    p.operand = IntegerType::get(left.getContext(), 8);
}

/// An 8-bit float as f16, exactly: the upper half of one, or a number whose exponent has a bias
/// of 7 and not of 15.
Value halfOf(CudaReader &r, Value value, Type element) {
  OpBuilder &b = r.b;
  Type i16 = b.getI16Type(), f16 = b.getF16Type();
  auto word = [&](int64_t number) -> Value {
    return arith::ConstantIntOp::create(b, r.loc, i16, number);
  };
  Value byte = arith::BitcastOp::create(b, r.loc, b.getI8Type(), value),
        bits = arith::ExtUIOp::create(b, r.loc, i16, byte);
  if (isa<Float8E5M2Type>(element))
    return arith::BitcastOp::create(b, r.loc, f16,
                                    arith::ShLIOp::create(b, r.loc, bits, word(8)).getResult());
  Value sign = arith::ShLIOp::create(b, r.loc, arith::AndIOp::create(b, r.loc, bits, word(0x80)),
                                     word(8)),
        magnitude = arith::AndIOp::create(b, r.loc, bits, word(0x7f)),
        place = arith::ShLIOp::create(b, r.loc, magnitude, word(7));
  // Products by powers of two are exact, of the smallest numbers, too.
  Value small = arith::BitcastOp::create(b, r.loc, f16, place),
        wide = arith::ExtFOp::create(b, r.loc, b.getF32Type(), small),
        factor = arith::ConstantOp::create(b, r.loc, b.getF32FloatAttr(256)),
        made = arith::TruncFOp::create(b, r.loc, f16,
                                       arith::MulFOp::create(b, r.loc, wide, factor).getResult()),
        number = arith::BitcastOp::create(b, r.loc, i16, made);
  Value isNan = arith::CmpIOp::create(b, r.loc, arith::CmpIPredicate::eq, magnitude, word(0x7f));
  number = arith::SelectOp::create(b, r.loc, isNan, word(0x7e00), number);
  return arith::BitcastOp::create(b, r.loc, f16,
                                  arith::OrIOp::create(b, r.loc, number, sign).getResult());
}

/// An element as shared memory gets it: bytes as they are, all else as what is multiplied.
Value toOperand(CudaReader &r, ScalarBuilder &s, const GemmProblem &p, Value value, Type element) {
  if (p.operand.isInteger(8))
    return value;
  if (p.operand.isF16() && isByteElement(element))
    return halfOf(r, value, element);
  return s.cast(value, element, p.operand, false);
}

/// An operand of a product, by groups of dimensions.
struct DotOperand {
  Value tensor;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;

  DotOperand(Value tensor, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract)
      : tensor(tensor), batch(batch), contract(contract),
        free(freeDims(ranked(tensor).getRank(), batch, contract)) {}

  SmallVector<Value> indices(ValueRange ofBatch, ValueRange ofFree, ValueRange ofContract) const {
    SmallVector<Value> at(ranked(tensor).getRank());
    setIndices(at, batch, ofBatch);
    setIndices(at, free, ofFree);
    setIndices(at, contract, ofContract);
    return at;
  }
};

/// Whether neighbours along the depth, else along free dimensions, lie next to each other
/// in whole chunks. Nothing: neither.
std::optional<bool> chunksAlongDepth(const DotOperand &operand) {
  if (!isa<BlockArgument>(operand.tensor))
    return std::nullopt;
  RankedTensorType type = ranked(operand.tensor);
  int64_t chunk = 16 / elementBytes(type.getElementType());
  for (bool along : {true, false}) {
    // Matrices of bytes are not turned as they are read.
    if (!along && isByteElement(type.getElementType()))
      continue;
    ArrayRef<int64_t> group = along ? operand.contract : operand.free;
    int64_t count = knownCount(type, group);
    if (count > 0 && count % chunk == 0 && isDenseAlong(type, group))
      return along;
  }
  return std::nullopt;
}

/// Where the element at `indices` of a buffer lies.
Value pointerTo(CudaReader &r, Value tensor, ValueRange indices) {
  const KernelBuilder::Buffer &buffer = r.bufferOf(tensor);
  return BufferAccess::address(r, buffer.pointer, getElementTypeOrSelf(tensor.getType()),
                               r.linearIndex(buffer, indices));
}

bool emitDot(const CudaKernel &k, DotGeneralOp dot) {
  CudaReader &r = k.reader;
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType()),
       rhs = cast<RankedTensorType>(dot.getRhs().getType());
  GemmProblem p;
  p.op = dot;
  p.result = dot.getAccumulator();
  p.wide = accumulatorType(p.result);
  if (!isTileable(p.wide))
    return false;
  takeTypes(p, lhs.getElementType(), rhs.getElementType());
  const DotOperand leftOperand(dot.getLhs(), dot.getLhsBatch(), dot.getLhsContract()),
      rightOperand(dot.getRhs(), dot.getRhsBatch(), dot.getRhsContract());
  int64_t next = 0;
  auto take = [&](SmallVector<int64_t> &dims, size_t count) {
    for (size_t i = 0; i < count; ++i)
      dims.push_back(next++);
  };
  take(p.batchDims, dot.getLhsBatch().size());
  take(p.rowDims, leftOperand.free.size());
  take(p.columnDims, rightOperand.free.size());
  // One row or column, or next to no depth, leaves tiles empty.
  auto result = cast<RankedTensorType>(dot.getType());
  p.knownDepth = knownCount(lhs, dot.getLhsContract());
  if (knownCount(result, p.rowDims) == 1 || knownCount(result, p.columnDims) == 1 ||
      (p.knownDepth >= 0 && p.knownDepth < 4))
    return false;
  r.loc = dot.getLoc();
  for (auto [i, j] : llvm::zip(dot.getLhsContract(), dot.getRhsContract()))
    p.depthSizes.push_back(r.minimum(r.dim(dot.getLhs(), i), r.dim(dot.getRhs(), j)));
  ScalarBuilder s(r, dot, p.wide);
  auto read = [&](const DotOperand &operand, ValueRange batch, ValueRange free, ValueRange place) {
    return toOperand(r, s, p, r.element(operand.tensor, operand.indices(batch, free, place)),
                     getElementTypeOrSelf(operand.tensor.getType()));
  };
  auto left = [&](ValueRange batch, ValueRange row, ValueRange place) {
    return read(leftOperand, batch, row, place);
  };
  auto right = [&](ValueRange batch, ValueRange place, ValueRange column) {
    return read(rightOperand, batch, column, place);
  };
  p.left = left;
  p.right = right;
  // 8-bit floats that lie in chunks are copied, and multiplied, as they are.
  bool isNarrow = p.operand.isF16() && isByteElement(lhs.getElementType()) &&
                  isByteElement(rhs.getElementType());
  if (isNarrow && chunksAlongDepth(leftOperand) && chunksAlongDepth(rightOperand))
    p.operand = IntegerType::get(dot.getContext(), 8);
  auto chunks = [&](const DotOperand &operand) -> std::optional<ChunkedOperand> {
    std::optional<bool> along = chunksAlongDepth(operand);
    // What is copied is multiplied as it is.
    bool isConverted =
        p.operand.isF16() && isByteElement(getElementTypeOrSelf(operand.tensor.getType()));
    if (!p.onTensorCores() || !along || isConverted)
      return std::nullopt;
    return ChunkedOperand{
        *along, [&](ValueRange batch, Value free, Value place) {
          const KernelBuilder::Buffer &buffer = r.bufferOf(operand.tensor);
          SmallVector<Value> ofFree = r.delinearize(free, sizesAlong(buffer, operand.free)),
                             ofDepth = r.delinearize(place, sizesAlong(buffer, operand.contract));
          return MatrixChunk{pointerTo(r, operand.tensor, operand.indices(batch, ofFree, ofDepth)),
                             Value()};
        }};
  };
  p.leftChunks = chunks(leftOperand);
  p.rightChunks = chunks(rightOperand);
  emitTiles(k, p);
  return true;
}

/// A convolution as the product of its windows, a line each, with the filter (implicit GEMM).
class ImplicitGemm {
public:
  ImplicitGemm(const CudaKernel &k, ConvOp conv)
      : k(k), r(k.reader), conv(conv), input(cast<RankedTensorType>(conv.getInput().getType())),
        filter(cast<RankedTensorType>(conv.getFilter().getType())), last(conv.getChannelsLast()),
        rank(cast<RankedTensorType>(conv.getType()).getRank()), channel(last ? rank - 1 : 1),
        outer(last ? rank - 1 : 0),
        padded(llvm::any_of(conv.getPads(), [](int64_t pad) { return pad != 0; })) {
    p.op = conv;
    p.result = conv.getAccumulator();
    p.wide = accumulatorType(p.result);
    takeTypes(p, input.getElementType(), filter.getElementType());
  }

  /// False: it is not for tiles, and nothing is emitted but constants.
  bool emit() {
    if (!findDims())
      return false;
    ScalarBuilder s(r, conv, p.wide);
    Value zero = p.zero(r);
    auto left = [&](ValueRange, ValueRange row, ValueRange place) -> Value {
      SmallVector<Value> at;
      Value ok = inputAt(row, place, at);
      auto load = [&] {
        return toOperand(r, s, p, r.element(conv.getInput(), at), input.getElementType());
      };
      return padded ? emitIf(r, ok, load, [&] { return zero; }) : load();
    };
    auto right = [&](ValueRange, ValueRange place, ValueRange column) {
      return toOperand(r, s, p, r.element(conv.getFilter(), filterAt(place, column[0])),
                       filter.getElementType());
    };
    p.left = left;
    p.right = right;
    if (hasChunks())
      addChunks();
    emitTiles(k, p);
    return true;
  }

private:
  /// Rows are images and positions, columns output channels; the depth runs as the filter lies in
  /// memory. False: there is too little of it, or of columns.
  bool findDims() {
    if (conv.getGroups() != 1 || !isTileable(p.wide) || !filter.hasStaticShape())
      return false;
    p.columnDims = {channel};
    for (int64_t i = 0; i < rank; ++i)
      if (i != channel)
        p.rowDims.push_back(i);
    r.loc = conv.getLoc();
    for (int64_t i = 0; i < rank; ++i)
      if (i != outer)
        depthDims.push_back(i);
    for (int64_t dim : depthDims) {
      p.depthSizes.push_back(r.constant(filter.getDimSize(dim)));
      p.knownDepth *= filter.getDimSize(dim);
    }
    return p.knownDepth >= 4 && filter.getDimSize(outer) >= 4;
  }

  /// The input's indices for a position of the result and a place in the window, and
  /// whether that is inside.
  Value inputAt(ValueRange row, ValueRange place, SmallVector<Value> &at) {
    int64_t firstSpatial = last ? 1 : 2, firstWindow = last ? 0 : 2, inner = last ? rank - 2 : 1;
    at.resize(rank);
    Value ok = arith::ConstantOp::create(r.b, r.loc, r.b.getBoolAttr(true));
    auto placeOf = [&](int64_t dim) {
      return place[llvm::find(depthDims, dim) - depthDims.begin()];
    };
    at[0] = row[0];
    at[channel] = placeOf(inner);
    for (int64_t i = 0; i < rank - 2; ++i) {
      // A row is an image and a position: the channel is not among its dimensions.
      Value index = r.add(r.mul(row[1 + i], r.constant(conv.getStrides()[i])),
                          r.mul(placeOf(firstWindow + i), r.constant(conv.getDilations()[i])));
      if (padded) {
        index = r.sub(index, r.constant(conv.getPads()[2 * i]));
        Value inside = r.logicalAnd(r.less(r.constant(-1), index),
                                    r.less(index, r.dim(conv.getInput(), firstSpatial + i)));
        ok = r.logicalAnd(ok, inside);
      }
      at[firstSpatial + i] = index;
    }
    return ok;
  }

  SmallVector<Value> filterAt(ValueRange place, Value column) {
    SmallVector<Value> at(rank);
    setIndices(at, depthDims, place);
    at[outer] = column;
    return at;
  }

  /// Chunks are of neighbouring channels; matrices of bytes are not turned as they are read.
  bool hasChunks() {
    return last && p.onTensorCores() && !isByteElement(input.getElementType()) &&
           isa<BlockArgument>(conv.getInput()) && isa<BlockArgument>(conv.getFilter()) &&
           !input.isDynamicDim(channel) && input.getDimSize(channel) % 8 == 0 &&
           filter.getDimSize(outer) % 8 == 0;
  }

  void addChunks() {
    p.leftChunks = ChunkedOperand{
        true, [&](ValueRange, Value free, Value place) {
          SmallVector<Value> row = r.delinearize(free, sizesAlong(k.first(), p.rowDims)),
                             inWindow = r.delinearize(place, p.depthSizes), at;
          Value ok = inputAt(row, inWindow, at);
          Value pointer = pointerTo(r, conv.getInput(), at);
          if (!padded)
            return MatrixChunk{pointer, Value()};
          // What is not read is an address that could be.
          pointer =
              arith::SelectOp::create(r.b, r.loc, ok, pointer, r.bufferOf(conv.getInput()).pointer);
          return MatrixChunk{pointer, ok};
        }};
    p.rightChunks = ChunkedOperand{
        false, [&](ValueRange, Value free, Value place) {
          return MatrixChunk{
              pointerTo(r, conv.getFilter(), filterAt(r.delinearize(place, p.depthSizes), free)),
              Value()};
        }};
  }

  const CudaKernel &k;
  CudaReader &r;
  ConvOp conv;
  RankedTensorType input, filter;
  bool last;                    ///< channels are
  int64_t rank, channel, outer; ///< the result's channels, and the filter's dimension of them
  bool padded;
  SmallVector<int64_t> depthDims; ///< of the filter
  GemmProblem p;
};

} // namespace

Operation *weir::onlyProduct(plan::KernelOp kernel) {
  Operation *anchor = nullptr;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (isa<DotGeneralOp, ConvOp>(op)) {
      if (anchor)
        return nullptr;
      anchor = &op;
    }
  return anchor;
}

bool weir::resultsLieAs(plan::KernelOp kernel, Operation *product) {
  auto own = cast<RankedTensorType>(product->getResult(0).getType());
  return llvm::all_of(kernel.getBody().front().getTerminator()->getOperands(), [&](Value result) {
    return cast<RankedTensorType>(result.getType()).getShape() == own.getShape();
  });
}

bool weir::emitGemm(const CudaKernel &k) {
  Operation *anchor = onlyProduct(k.kernel);
  if (!anchor || !resultsLieAs(k.kernel, anchor))
    return false;
  if (auto dot = dyn_cast<DotGeneralOp>(anchor))
    return emitSkinnyGemm(k, dot) || emitDot(k, dot);
  return ImplicitGemm(k, cast<ConvOp>(anchor)).emit();
}
