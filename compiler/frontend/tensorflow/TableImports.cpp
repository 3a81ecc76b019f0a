//===- TableImports.cpp - lookup tables -------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table is state of the session that the runtime's kernels keep under a name
// (runtime/include/weir/kernels.h). Its handle is that name: a tensor of one
// string, which flows through functions, branches and loops like any other.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"

#include "mlir/IR/Matchers.h"

#include <filesystem>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

std::optional<std::string> weir::tf::knownString(Value v) {
  DenseElementsAttr constant;
  if (v && matchPattern(v, m_Constant(&constant)) && isa<StringType>(constant.getElementType()) &&
      constant.getNumElements() == 1)
    return constant.getSplatValue<StringRef>().str();
  auto read = v ? v.getDefiningOp<VariableReadOp>() : VariableReadOp();
  auto variable = read ? read.getResource().getDefiningOp<VariableOp>() : VariableOp();
  if (!variable)
    return std::nullopt;
  for (Operation *op = read->getPrevNode(); op; op = op->getPrevNode()) {
    auto assign = dyn_cast<VariableAssignOp>(op);
    auto other = assign ? assign.getResource().getDefiningOp<VariableOp>() : VariableOp();
    if (other && other.getName() == variable.getName() &&
        other.getContainer() == variable.getContainer())
      return knownString(assign.getValue());
  }
  return std::nullopt;
}

/// Attributes that every kernel of tables begins with: the shape of a value.
static SmallVector<int64_t> tableAttributes(Ints valueShape) {
  SmallVector<int64_t> attributes{int64_t(valueShape.size())};
  attributes.append(valueShape.begin(), valueShape.end());
  return attributes;
}

/// The table that input 0 names.
struct TableAt {
  Value handle;
  bool isKnown = false; ///< which table it is
  TableInfo info;
};

static std::optional<TableAt> tableAt(NodeImport &n) {
  TableAt table;
  table.handle = n.in(0);
  if (!table.handle)
    return std::nullopt;
  if (!n.isString(table.handle)) {
    (void)n.unsupported("found an input 0 that is no table of this program");
    return std::nullopt;
  }
  if (std::optional<std::string> name = knownString(table.handle)) {
    auto it = n.g.tables.find(*name);
    if (it != n.g.tables.end()) {
      table.isKnown = true;
      table.info = it->second;
    }
  }
  return table;
}

/// Types that contradict those of the table, when it is known.
static LogicalResult checkTypes(NodeImport &n, const TableAt &table, Type key, Type value) {
  if (table.isKnown && ((key && key != table.info.key) || (value && value != table.info.value)))
    return n.invalid("found keys or values of other types than the table's");
  return success();
}

/// Whether a dense table's two reserved keys are known, and scalars.
static LogicalResult reserveKeys(NodeImport &n, TableInfo &info) {
  TypedAttr *reserved[] = {&info.emptyKey, &info.deletedKey};
  for (auto [i, key] : llvm::enumerate(reserved)) {
    if (i >= n.inputCount()) // the first version reserves one
      break;
    Value value = n.in(i);
    if (!value)
      return failure();
    auto constant = value.getDefiningOp<ConstantOp>();
    if (!constant)
      return n.g.report(
          n.node, "W0252",
          "expected constant reserved keys, got keys computed from the program's inputs");
    if (n.rank(value) != 0 || n.element(value) != info.key)
      return n.unsupported("expected scalar keys, got tensors");
    *key = cast<TypedAttr>(constant.getValue());
  }
  return success();
}

/// Takes the keys that a dense table reserves out of it: what is imported may mark
/// free places by them.
static void dropReserved(NodeImport &n, Value handle, const TableInfo &info) {
  for (TypedAttr reserved : {info.emptyKey, info.deletedKey})
    if (reserved)
      n.kernelCall("weir_kernel_table_remove", {}, {handle, n.constant(reserved)},
                   tableAttributes(info.shape), /*isPure=*/false);
}

template <bool isMutable, bool hasShape, bool isDense = false>
static LogicalResult makeTable(NodeImport &n) {
  TableInfo info;
  info.key = n.elementAttr("key_dtype");
  info.value = n.elementAttr("value_dtype");
  if (!info.key || !info.value)
    return n.unsupported("found keys or values of a type that weir does not have");
  const AttrValue *shape = n.attr("value_shape");
  if (hasShape && shape && shape->shape && !shape->shape->unknownRank)
    info.shape.assign(shape->shape->dims.begin(), shape->shape->dims.end());
  if (llvm::any_of(info.shape, [](int64_t size) { return size < 0; }))
    return n.unsupported("found values whose shape is not known");
  if (isDense && failed(reserveKeys(n, info)))
    return failure();
  // Without a shared name a table is its node's.
  std::string name(isMutable ? "m" : "h");
  name += n.s("container");
  name += '\0';
  bool isShared = !n.s("shared_name").empty() || n.isSet("use_node_name_sharing");
  name += isShared ? 's' : 'n';
  name += n.s("shared_name").empty() ? n.g.nameOf(n.node) : std::string(n.s("shared_name"));
  n.g.tables[name] = info;
  Value handle = n.stringScalar(name);
  if (const TableEntries *entries =
          n.g.initialEntries ? n.g.initialEntries(name, n.node) : nullptr) {
    SmallVector<int64_t> attributes = tableAttributes(info.shape);
    attributes.push_back(3);
    // Dense tables are stored with keys of one element each.
    Value keys = n.reshape(n.constant(entries->keys), {-1});
    auto values = keys ? n.constant(entries->values) : Value();
    IntVector shape{keys ? n.sizes(keys)[0] : 0};
    shape.append(info.shape);
    if (!values || ShapedType::getNumElements(shape) != n.type(values).getNumElements())
      return n.invalid("found stored entries whose values are not one for each key");
    n.kernelCall("weir_kernel_table_insert", {}, {handle, keys, n.reshape(values, shape)},
                 attributes, /*isPure=*/false);
    dropReserved(n, handle, info);
  }
  return n.result(handle);
}

/// Ends a run that uses a key which a dense table reserves.
static void refuseReserved(NodeImport &n, const TableAt &table, Value keys) {
  for (auto [reserved, name] :
       {std::pair(table.info.emptyKey, "empty_key"), {table.info.deletedKey, "deleted_key"}}) {
    if (!reserved)
      continue;
    Value key = n.constant(reserved);
    Value isFree =
        n.op<NotOp>(n.isString(keys) ? n.equalStrings(keys, key) : n.compare("eq", keys, key));
    if (!isFree)
      continue;
    Value areAll = n.reduce(isFree, "all", axesFrom(0, n.rank(keys)), false);
    AssertOp::create(
        n.b, n.loc, TokenType::get(n.b.getContext()), areAll,
        n.b.getStringAttr("Using the " + Twine(name) + " as a table key is not allowed"),
        n.number(3), ValueRange()); // WEIR_INVALID_ARGUMENT
  }
}

static LogicalResult find(NodeImport &n) {
  std::optional<TableAt> table = tableAt(n);
  Value keys = n.in(1), other = n.in(2);
  if (!table || !keys || !other || failed(checkTypes(n, *table, n.element(keys), n.element(other))))
    return failure();
  refuseReserved(n, *table, keys);
  // Of a table that only the run knows, the default tells the values' shape.
  SmallVector<int64_t> values = table->info.shape;
  if (!table->isKnown && n.isStatic(other))
    values.assign(n.sizes(other).begin(), n.sizes(other).end());
  SmallVector<int64_t> shape(n.sizes(keys));
  shape.append(values.begin(), values.end());
  Operation *made =
      n.kernelCall("weir_kernel_table_find", {RankedTensorType::get(shape, n.element(other))},
                   {table->handle, keys, other}, tableAttributes(values), /*isPure=*/false);
  return n.result(made->getResult(0));
}

static LogicalResult insertEntries(NodeImport &n, const TableAt &table, Value keys, Value values,
                                   bool areAll) {
  if (!keys || !values || failed(checkTypes(n, table, n.element(keys), n.element(values))))
    return failure();
  if (!areAll)
    refuseReserved(n, table, keys);
  else if (table.info.emptyKey && n.rank(keys) == 2)
    keys = n.reshape(keys, {-1}); // of one element each
  SmallVector<int64_t> shape = table.info.shape;
  if (!table.isKnown && n.rank(values) > n.rank(keys)) {
    Ints rest = n.sizes(values).drop_front(n.rank(keys));
    shape.assign(rest.begin(), rest.end());
  }
  SmallVector<int64_t> attributes = tableAttributes(shape);
  attributes.push_back(areAll);
  n.kernelCall("weir_kernel_table_insert", {}, {table.handle, keys, values}, attributes,
               /*isPure=*/false);
  if (areAll)
    dropReserved(n, table.handle, table.info);
  return success();
}

template <bool areAll> static LogicalResult insert(NodeImport &n) {
  std::optional<TableAt> table = tableAt(n);
  if (!table)
    return failure();
  return insertEntries(n, *table, n.in(1), n.in(2), areAll);
}

static LogicalResult fromTextFile(NodeImport &n) {
  std::optional<TableAt> table = tableAt(n);
  Value name = n.in(1);
  if (!table || !name)
    return failure();
  std::optional<std::string> path = knownString(name);
  if (!path)
    return n.g.report(n.node, "W0252",
                      "expected a constant file name, got one computed from the program's inputs");
  if (!table->isKnown)
    return n.unsupported("found a table that only the run knows");
  // As the graph says, or beside it.
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::path(*path).is_relative() && !fs::exists(*path, ignored))
    path = (fs::path(n.g.file).parent_path() / *path).string();
  TableFile file{*path,
                 std::string(n.s("delimiter")),
                 n.i("key_index"),
                 n.i("value_index"),
                 n.i("vocab_size"),
                 n.i("offset")};
  if (file.delimiter.size() != 1)
    return n.invalid("found a delimiter that is not one character");
  TableEntries entries;
  std::string error;
  if (!readTableFile(file, table->info.key, table->info.value, entries, error))
    return n.g.report(n.node, "W0218", "found file \"" + *path + "\", which " + error);
  return insertEntries(n, *table, n.constant(entries.keys), n.constant(entries.values), true);
}

static LogicalResult remove(NodeImport &n) {
  std::optional<TableAt> table = tableAt(n);
  Value keys = n.in(1);
  if (!table || !keys || failed(checkTypes(n, *table, n.element(keys), {})))
    return failure();
  refuseReserved(n, *table, keys);
  n.kernelCall("weir_kernel_table_remove", {}, {table->handle, keys},
               tableAttributes(table->info.shape),
               /*isPure=*/false);
  return success();
}

static LogicalResult size(NodeImport &n) {
  std::optional<TableAt> table = tableAt(n);
  if (!table)
    return failure();
  Operation *made =
      n.kernelCall("weir_kernel_table_size", {RankedTensorType::get({}, n.b.getI64Type())},
                   {table->handle}, tableAttributes(table->info.shape),
                   /*isPure=*/false);
  return n.result(made->getResult(0));
}

static LogicalResult exportEntries(NodeImport &n) {
  std::optional<TableAt> table = tableAt(n);
  Type key = n.elementAttr("Tkeys"), value = n.elementAttr("Tvalues");
  if (!table || !key || !value || failed(checkTypes(n, *table, key, value)))
    return failure();
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  auto keys = RankedTensorType::get(shape, key);
  shape.append(table->info.shape.begin(), table->info.shape.end());
  Operation *made =
      n.kernelCall("weir_kernel_table_export", {keys, RankedTensorType::get(shape, value)},
                   {table->handle}, tableAttributes(table->info.shape),
                   /*isPure=*/false);
  return n.results({made->getResult(0), made->getResult(1)});
}

ArrayRef<OpImport> weir::tf::tableImports() {
  static const OpImport rows[] = {
      {"AnonymousHashTable", makeTable<false, false>},
      {"AnonymousMutableDenseHashTable", makeTable<true, true, true>},
      {"AnonymousMutableHashTable", makeTable<true, false>},
      {"AnonymousMutableHashTableOfTensors", makeTable<true, true>},
      {"HashTable", makeTable<false, false>},
      {"HashTableV2", makeTable<false, false>},
      {"InitializeTable", insert<true>},
      {"InitializeTableFromTextFile", fromTextFile},
      {"InitializeTableFromTextFileV2", fromTextFile},
      {"InitializeTableV2", insert<true>},
      {"LookupTableExport", exportEntries},
      {"LookupTableExportV2", exportEntries},
      {"LookupTableFind", find},
      {"LookupTableFindV2", find},
      {"LookupTableImport", insert<true>},
      {"LookupTableImportV2", insert<true>},
      {"LookupTableInsert", insert<false>},
      {"LookupTableInsertV2", insert<false>},
      {"LookupTableRemoveV2", remove},
      {"LookupTableSize", size},
      {"LookupTableSizeV2", size},
      {"MutableDenseHashTable", makeTable<true, true, true>},
      {"MutableDenseHashTableV2", makeTable<true, true, true>},
      {"MutableHashTable", makeTable<true, false>},
      {"MutableHashTableOfTensors", makeTable<true, true>},
      {"MutableHashTableOfTensorsV2", makeTable<true, true>},
      {"MutableHashTableV2", makeTable<true, false>},
  };
  return rows;
}
