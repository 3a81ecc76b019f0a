//===- CudaKernel.cpp - kernels of GPUs ------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaKernel.h"
#include "compiler/codegen/cuda/CudaLineFold.h"
#include "compiler/codegen/cuda/CudaSort.h"
#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"
#include "weir/cuda.h"

using namespace mlir;
using namespace weir;

//===----------------------------------------------------------------------===//
// CudaReader
//===----------------------------------------------------------------------===//

void CudaReader::require(Operation *op, Value ok, StringRef message, int code, Value value0,
                         Value value1) {
  if (quiet || matchPattern(ok, m_One()))
    return;
  int site = sites.add(nodeName(op->getLoc()), op->getName().stripDialect(), message, code);
  OpBuilder::InsertionGuard guard(b);
  Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  Value bad = b.createOrFold<arith::XOrIOp>(loc, ok, yes);
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto widen = [&](Value value) -> Value {
    if (!value)
      return arith::ConstantIntOp::create(b, loc, i64, 0);
    if (value.getType().isIndex())
      return arith::IndexCastOp::create(b, loc, i64, value);
    if (value.getType().getIntOrFloatBitWidth() < 64)
      return arith::ExtSIOp::create(b, loc, i64, value);
    return value;
  };
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, i32, value);
  };
  auto field = [&](int64_t bytes) -> Value {
    return LLVM::GEPOp::create(b, loc, errorSlot.getType(), b.getI8Type(), errorSlot,
                               ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
  };
  auto branch = scf::IfOp::create(b, loc, bad, /*withElseRegion=*/false);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  // The first one wins; kernels run in the step's order.
  auto exchange = LLVM::AtomicCmpXchgOp::create(
      b, loc, field(offsetof(weir_cuda_error, taken)), number(0), number(1),
      LLVM::AtomicOrdering::monotonic, LLVM::AtomicOrdering::monotonic);
  Value won = LLVM::ExtractValueOp::create(b, loc, exchange, ArrayRef<int64_t>{1});
  auto record = scf::IfOp::create(b, loc, won, /*withElseRegion=*/false);
  b.setInsertionPointToStart(&record.getThenRegion().front());
  LLVM::StoreOp::create(b, loc, number(site), field(offsetof(weir_cuda_error, site)));
  LLVM::StoreOp::create(b, loc, widen(value0), field(offsetof(weir_cuda_error, value0)));
  LLVM::StoreOp::create(b, loc, widen(value1), field(offsetof(weir_cuda_error, value1)));
}

/// By way of 32 bits: what is small stays cheap to divide.
static Value smallIndex(OpBuilder &b, Location loc, Value id) {
  Value narrow = arith::IndexCastOp::create(b, loc, b.getI32Type(), id);
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), narrow);
}

Value CudaReader::threadId() {
  return smallIndex(b, loc, gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
}

Value CudaReader::blockId() {
  return smallIndex(b, loc, gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
}

void CudaReader::barrier() { gpu::BarrierOp::create(b, loc); }

SmallVector<Value> CudaReader::delinearize(Value linear, ValueRange dims) {
  SmallVector<Value> indices(dims.size());
  for (int64_t i = int64_t(dims.size()) - 1; i > 0; --i) {
    indices[i] = remainder(linear, dims[i]);
    linear = divide(linear, dims[i]);
  }
  if (!indices.empty())
    indices[0] = linear;
  return indices;
}

SmallVector<Value> CudaReader::axisBlocks(const LaunchShape &shape, ValueRange dims) {
  SmallVector<Value> counts;
  for (const LaunchShape::Axis &axis : shape.axes) {
    Value count = constant(1);
    for (int64_t dim : axis.dims)
      count = mul(count, dims[dim]);
    if (axis.divisor != 1)
      count = divide(add(count, constant(axis.divisor - 1)), constant(axis.divisor));
    counts.push_back(count);
  }
  return counts;
}

SmallVector<Value> weir::sizesAlong(const KernelBuilder::Buffer &buffer, ArrayRef<int64_t> dims) {
  SmallVector<Value> sizes;
  for (int64_t dim : dims)
    sizes.push_back(buffer.dims[dim]);
  return sizes;
}

void weir::setIndices(MutableArrayRef<Value> indices, ArrayRef<int64_t> dims, ValueRange values) {
  for (auto [dim, value] : llvm::zip(dims, values))
    indices[dim] = value;
}

void CudaReader::onlyIf(Value condition, function_ref<void()> then) {
  if (matchPattern(condition, m_One()))
    return then();
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  then();
}

Value CudaReader::shared(Type element, ArrayRef<int64_t> shape) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface{}, space);
  Value memory = function.addWorkgroupAttribution(type, loc);
  // Neighbours may be read as vectors.
  function.setWorkgroupAttributionAttr(function.getNumWorkgroupAttributions() - 1,
                                       LLVM::LLVMDialect::getAlignAttrName(),
                                       b.getI64IntegerAttr(16));
  return memory;
}

SmallVector<Value> CudaReader::neighbours(const Buffer &buffer, Value linear, int64_t lanes) {
  Type element = buffer.type.getElementType(), storage = BufferAccess::storageType(element);
  auto vector = VectorType::get({lanes}, storage);
  Value all = LLVM::LoadOp::create(b, loc, vector,
                                   BufferAccess::address(*this, buffer.pointer, element, linear),
                                   unsigned(lanes * elementBytes(element)));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < lanes; ++i)
    elements.push_back(LLVM::ExtractElementOp::create(
        b, loc, all, LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(i))));
  return elements;
}

void CudaReader::readTogether(Value tensor, Value linear, int64_t lanes) {
  together[tensor] = neighbours(bufferOf(tensor), linear, lanes);
}

Value CudaReader::leafElement(Value tensor, ValueRange indices) {
  if (Value common = ofLine.lookup(tensor))
    return common;
  if (!indices.empty())
    if (Value stored = ahead.lookup({tensor, indices.back()}))
      return BufferAccess::fromStorage(*this, stored, getElementTypeOrSelf(tensor.getType()));
  if (auto it = together.find(tensor); lane >= 0 && it != together.end())
    return BufferAccess::fromStorage(*this, it->second[lane],
                                     getElementTypeOrSelf(tensor.getType()));
  return KernelBuilder::leafElement(tensor, indices);
}

Value CudaReader::leafDim(Value tensor, unsigned i) {
  if (!isOfLine(tensor))
    return KernelBuilder::leafDim(tensor, i);
  auto type = cast<RankedTensorType>(tensor.getType());
  return i + 1 == type.getRank() ? constant(1) : bufferOf(firstResult).dims[i];
}

void CudaReader::store(Value value, const Buffer &buffer, ValueRange indices) {
  if (lane < 0)
    return KernelBuilder::store(value, buffer, indices);
  auto &[where, values] = stored[buffer.pointer];
  where = buffer;
  values.push_back(BufferAccess::toStorage(*this, value, buffer.type.getElementType()));
}

void CudaReader::writeTogether(Value linear) {
  for (auto &[pointer, written] : stored) {
    auto &[buffer, values] = written;
    Type element = buffer.type.getElementType();
    auto vector = VectorType::get({int64_t(values.size())}, values[0].getType());
    Value all = LLVM::PoisonOp::create(b, loc, vector);
    for (auto [i, value] : llvm::enumerate(values))
      all = LLVM::InsertElementOp::create(
          b, loc, all, value,
          LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(i)));
    LLVM::StoreOp::create(b, loc, all, BufferAccess::address(*this, pointer, element, linear),
                          unsigned(values.size() * elementBytes(element)));
  }
  stored.clear();
  together.clear();
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void CudaKernel::emitResults(ValueRange indices, Operation *anchor, Value value) const {
  CudaReader &r = reader;
  if (anchor)
    r.setAnchor(anchor->getResult(0), value);
  for (Value result : results()) {
    auto opResult = cast<OpResult>(result);
    Value own = value;
    if (opResult.getOwner() != anchor) {
      auto op = cast<ElementalOpInterface>(opResult.getOwner());
      r.loc = op.getLoc();
      own = op.emitElement(r, opResult.getResultNumber(), indices);
    }
    r.store(own, r.bufferOf(result), indices);
  }
  if (anchor)
    r.setAnchor({}, {});
}

/// The costly operation that others follow at the result's own index.
static ElementalOpInterface anchorOf(const CudaKernel &k) {
  ElementalOpInterface anchor;
  for (Operation *op : k.operations)
    if (auto elemental = dyn_cast<ElementalOpInterface>(op))
      if (elemental.isElementExpensive() && elemental != k.results().front().getDefiningOp())
        anchor = elemental;
  return anchor;
}

static void emitOne(const CudaKernel &k, ElementalOpInterface anchor, ValueRange indices) {
  if (!anchor)
    return k.emitResults(indices);
  k.reader.loc = anchor.getLoc();
  Value value = anchor.emitElement(k.reader, 0, indices);
  k.emitResults(indices, anchor, value);
}

int64_t weir::vectorLanes(const CudaKernel &k) {
  int64_t widest = 1;
  auto take = [&](Value value) {
    widest = std::max(widest, elementBytes(getElementTypeOrSelf(value.getType())));
  };
  llvm::for_each(k.leaves, take);
  llvm::for_each(k.results(), take);
  return std::clamp<int64_t>(16 / widest, 1, 8);
}

int64_t weir::lanesOf(const CudaKernel &k, bool flat, Operation *anchor) {
  int64_t lanes = vectorLanes(k);
  auto type = k.first().type;
  for (Value result : k.results())
    if (isa<ComplexType>(getElementTypeOrSelf(result.getType())) ||
        cast<RankedTensorType>(result.getType()).getShape() != type.getShape())
      return 1;
  for (Operation *op : k.operations)
    if (op != anchor && !isa<ElementwiseOpInterface, ConstantOp>(op))
      return 1;
  if (flat)
    return lanes;
  while (lanes > 1 && (type.getRank() == 0 || type.isDynamicDim(type.getRank() - 1) ||
                       type.getShape().back() % lanes))
    lanes /= 2;
  return lanes;
}

/// Whether every operand has its element where the result has, or only one: then
/// a number is place enough.
static bool isFlat(const CudaKernel &k) {
  if (!k.kernel.getSchedule().has(plan::schedule::parts))
    return true;
  // Open sizes: one operand alone cannot be stretched.
  auto shape = k.first().type.getShape();
  for (Operation *op : k.operations) {
    auto constant = dyn_cast<ConstantOp>(op);
    auto elements = constant ? dyn_cast<ElementsAttr>(constant.getValue()) : ElementsAttr();
    if (elements && elements.isSplat())
      continue;
    if (!isa<ElementwiseOpInterface>(op) ||
        cast<RankedTensorType>(op->getResult(0).getType()).getShape() != shape)
      return false;
  }
  int64_t whole = 0;
  for (Value leaf : k.leaves) {
    auto type = cast<RankedTensorType>(leaf.getType());
    if (type.hasStaticShape() && type.getNumElements() == 1)
      continue;
    if (type.getShape() != shape || ++whole > 1)
      return false;
  }
  return whole == 1;
}

/// Where the elements of an operand begin that a thread's neighbours read, one
/// each; null: they do not lie next to each other. `at`: the first one's place
/// in the result.
static Value neighboursOf(const CudaKernel &k, Value leaf, bool flat, Value begin,
                          ArrayRef<Value> at) {
  CudaReader &r = k.reader;
  auto type = cast<RankedTensorType>(leaf.getType());
  if (isa<ComplexType>(type.getElementType()))
    return {};
  if (flat)
    return type.hasStaticShape() && type.getNumElements() == 1 ? Value() : begin;
  return neighboursIn(r, leaf, k.first().type, at);
}

Value weir::neighboursIn(CudaReader &r, Value leaf, RankedTensorType over, ArrayRef<Value> at) {
  auto type = cast<RankedTensorType>(leaf.getType());
  int64_t rank = type.getRank(), missing = over.getRank() - rank;
  if (isa<ComplexType>(type.getElementType()) || rank == 0 || missing < 0 ||
      type.isDynamicDim(rank - 1) || type.getShape().back() != over.getShape().back() ||
      type.getShape().back() == 1)
    return {};
  SmallVector<Value> own;
  for (int64_t i = 0; i < rank; ++i) {
    Value index = type.getDimSize(i) == 1 ? r.constant(0) : at[i + missing];
    // An open size may turn out to be one, and is stretched then.
    if (type.isDynamicDim(i))
      index = arith::SelectOp::create(r.b, r.loc, r.equal(r.dim(leaf, i), r.constant(1)),
                                      r.constant(0), index);
    own.push_back(index);
  }
  return r.linearIndex(r.bufferOf(leaf), own);
}

void weir::emitNeighbours(const CudaKernel &k, ArrayRef<Value> at, int64_t lanes, Operation *anchor,
                          function_ref<Value(int64_t)> value) {
  CudaReader &r = k.reader;
  if (lanes == 1)
    return k.emitResults(at, anchor, value(0));
  for (Value leaf : k.leaves)
    if (Value linear = neighboursOf(k, leaf, /*flat=*/false, {}, at))
      r.readTogether(leaf, linear, lanes);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    r.setLane(lane);
    SmallVector<Value> own(at);
    own.back() = r.add(at.back(), r.constant(lane));
    k.emitResults(own, anchor, value(lane));
  }
  r.setLane(-1);
  r.writeTogether(r.linearIndex(k.first(), at));
}

BlockArgument weir::grownOperand(plan::KernelOp kernel) {
  auto results = kernel.getBody().front().getTerminator()->getOperands();
  auto concat = results.front().getDefiningOp<ConcatOp>();
  if (!concat || results.size() != 1 || kernel.getInPlaceAttr())
    return {};
  auto operand = dyn_cast<BlockArgument>(concat.getInputs().front());
  auto type = cast<RankedTensorType>(concat.getType());
  bool isFirst = llvm::all_of(type.getShape().take_front(size_t(concat.getAxis())),
                              [](int64_t size) { return size == 1; });
  return operand && operand.hasOneUse() && isFirst ? operand : BlockArgument();
}

/// Whether elements lie there already, of which the last is in front of `end`: those of the operand
/// that the result begins with. Null: none do.
static Value liesThere(const CudaKernel &k, Value end) {
  BlockArgument operand = grownOperand(k.kernel);
  if (!operand)
    return {};
  CudaReader &r = k.reader;
  const KernelBuilder::Buffer own = r.bufferOf(operand);
  Value count = r.constant(1);
  for (Value dim : own.dims)
    count = r.mul(count, dim);
  Value isOver =
      LLVM::ICmpOp::create(r.b, r.loc, LLVM::ICmpPredicate::eq, own.pointer, k.first().pointer);
  return r.logicalAnd(isOver, r.less(end, r.add(count, r.constant(1))));
}

void weir::emitElements(const CudaKernel &k) {
  CudaReader &r = k.reader;
  const KernelBuilder::Buffer first = k.first();
  int64_t rank = first.type.getRank();
  bool flat = isFlat(k);
  int64_t lanes = lanesOf(k, flat);
  ElementalOpInterface anchor = anchorOf(k);
  // Few elements are spread over more blocks.
  bool isStatic = first.type.hasStaticShape();
  int64_t known = isStatic ? first.type.getNumElements() : -1;
  // Nor has a thread many of few where functions take turns in it.
  constexpr int64_t enoughThreads = 132 * 1024;
  bool callsFunctions = llvm::any_of(
      k.operations, [](Operation *op) { return op->hasTrait<traits::CallsFunction>(); });
  while (callsFunctions && isStatic && lanes > 2 && known / lanes < enoughThreads)
    lanes /= 2;
  k.shape.threads = isStatic && known / lanes <= 256 * 132 ? 128 : 256;
  LaunchShape::Axis all;
  for (int64_t i = 0; i < rank; ++i)
    all.dims.push_back(i);
  all.divisor = k.shape.threads * lanes;
  k.shape.axes = {all};

  Value count = r.constant(1);
  for (Value dim : first.dims)
    count = r.mul(count, dim);
  Value thread = r.add(r.mul(r.blockId(), r.constant(k.shape.threads)), r.threadId());
  Value begin = r.mul(thread, r.constant(lanes));
  if (Value there = liesThere(k, r.add(begin, r.constant(lanes)))) {
    Value yes = arith::ConstantOp::create(r.b, r.loc, r.b.getBoolAttr(true));
    auto branch = scf::IfOp::create(r.b, r.loc, arith::XOrIOp::create(r.b, r.loc, there, yes),
                                    /*withElseRegion=*/false);
    r.b.setInsertionPointToStart(&branch.getThenRegion().front());
  }
  auto emitAt = [&](Value linear) {
    if (flat) {
      r.setFlatIndex(linear);
      emitOne(k, anchor, SmallVector<Value>(rank, r.constant(0)));
      r.setFlatIndex({});
      return;
    }
    emitOne(k, anchor, r.delinearize(linear, first.dims));
  };
  auto emitBulk = [&] {
    if (lanes == 1)
      return emitAt(begin);
    SmallVector<Value> at = flat ? SmallVector<Value>() : r.delinearize(begin, first.dims);
    for (Value leaf : k.leaves)
      if (Value linear = neighboursOf(k, leaf, flat, begin, at))
        r.readTogether(leaf, linear, lanes);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      r.setLane(lane);
      if (flat) {
        emitAt(r.add(begin, r.constant(lane)));
        continue;
      }
      SmallVector<Value> own(at);
      own.back() = r.add(at.back(), r.constant(lane));
      emitOne(k, anchor, own);
    }
    r.setLane(-1);
    r.writeTogether(begin);
  };
  if (lanes == 1 || (known >= 0 && known % lanes == 0)) {
    r.onlyIf(r.less(begin, count), emitBulk);
    return;
  }
  // Whole vectors have no tests inside; what is left is one thread's.
  Value whole = r.less(r.add(begin, r.constant(lanes - 1)), count);
  auto branch = scf::IfOp::create(r.b, r.loc, whole, /*withElseRegion=*/true);
  r.b.setInsertionPointToStart(&branch.getThenRegion().front());
  emitBulk();
  r.b.setInsertionPointToStart(&branch.getElseRegion().front());
  auto rest = scf::ForOp::create(r.b, r.loc, begin, count, r.constant(1));
  r.b.setInsertionPointToStart(rest.getBody());
  emitAt(rest.getInductionVar());
  r.b.setInsertionPointAfter(branch);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Collects what `k`'s results are computed from.
static void collect(CudaKernel &k) {
  llvm::SetVector<Value> wanted;
  wanted.insert(k.results().begin(), k.results().end());
  for (size_t i = 0; i < wanted.size(); ++i)
    if (Operation *op = wanted[i].getDefiningOp(); op && wanted[i] != k.reader.known)
      wanted.insert(op->operand_begin(), op->operand_end());
  for (BlockArgument argument : k.body().getArguments())
    if (wanted.contains(argument))
      k.leaves.push_back(argument);
  if (k.reader.known)
    k.leaves.push_back(k.reader.known);
  for (Operation &op : k.body().without_terminator())
    if (llvm::any_of(op.getResults(), [&](Value result) {
          return result != k.reader.known && wanted.contains(result);
        }))
      k.operations.push_back(&op);
}

/// Emits a kernel, or leaves it alone and says so.
using Strategy = bool (*)(const CudaKernel &k);

/// In the order in which kernels are offered to them. What none takes goes element by element.
static constexpr Strategy strategies[] = {
    emitScatter,      emitSort,          emitAttention, emitTranspose, emitGemm,
    emitRowReduction, emitRowReductions, emitArgReduce, emitScan,
};

LaunchShape weir::emitCudaKernel(plan::KernelOp kernel, StringRef symbol, gpu::GPUModuleOp module,
                                 SiteTable &sites, Value known, const KernelForm *form,
                                 int64_t mostThreads) {
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  OpBuilder b(context);
  b.setInsertionPointToEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(context);
  Block &source = kernel.getBody().front();
  auto results = source.getTerminator()->getOperands();
  SmallVector<Value> tensors(source.getArguments().begin(), source.getArguments().end());
  tensors.append(results.begin(), results.end());
  SmallVector<Type> types(1 + tensors.size(), pointer);
  for (Value tensor : tensors)
    types.append(cast<RankedTensorType>(tensor.getType()).getNumDynamicDims(), b.getI64Type());
  if (known)
    types.push_back(pointer);
  if (form)
    llvm::append_range(types, form->parameters);

  auto function = gpu::GPUFuncOp::create(b, loc, symbol, b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!known || i != source.getNumArguments())
      function.setArgAttr(i + 1, "llvm.noalias", b.getUnitAttr());
    function.setArgAttr(i + 1, "llvm.align", b.getI64IntegerAttr(16));
    if (i < source.getNumArguments())
      function.setArgAttr(i + 1, "llvm.readonly", b.getUnitAttr());
  }
  Block *entry = &function.getBody().front();
  b.setInsertionPointToStart(entry);
  CudaReader reader(b, loc, sites);
  reader.function = function;
  reader.firstResult = results.front();
  reader.errorSlot = entry->getArgument(0);
  unsigned next = 1 + tensors.size();
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    KernelBuilder::Buffer buffer;
    std::optional<unsigned> over = kernel.overwriterOf(unsigned(i));
    buffer.pointer = entry->getArgument((over ? source.getNumArguments() + *over : i) + 1);
    buffer.type = cast<RankedTensorType>(tensor.getType());
    for (int64_t size : buffer.type.getShape())
      buffer.dims.push_back(
          ShapedType::isDynamic(size)
              ? arith::IndexCastOp::create(b, loc, b.getIndexType(), entry->getArgument(next++))
                    .getResult()
              : reader.constant(size));
    reader.bind(tensor, buffer);
  }
  LaunchShape shape;
  shape.mostThreads = mostThreads;
  CudaKernel k{reader, kernel, shape, {}, {}};
  if (known) {
    KernelBuilder::Buffer buffer;
    buffer.pointer = entry->getArguments().back();
    buffer.type = cast<RankedTensorType>(known.getType());
    for (int64_t i = 0; i < buffer.type.getRank(); ++i)
      buffer.dims.push_back(reader.dim(known, i));
    function.setArgAttr(types.size() - 1, "llvm.align", b.getI64IntegerAttr(16));
    reader.bind(known, buffer);
    reader.known = known;
  }
  collect(k);
  if (form)
    form->emit(k, entry->getArguments().take_back(form->parameters.size()));
  else if (known || llvm::none_of(strategies, [&](Strategy emit) { return emit(k); }))
    emitElements(k);
  b.setInsertionPointToEnd(entry);
  gpu::ReturnOp::create(b, loc);
  function.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(shape.threads), 1, 1}));
  return shape;
}
