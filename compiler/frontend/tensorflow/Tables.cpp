//===- Tables.cpp - lookup tables and their files --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Tables.h"

#include "dialects/weir/Weir.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

/// The values of one column, as they come.
class Column {
public:
  Column(Type type, int64_t index, int64_t offset) : type(type), index(index), offset(offset) {}

  bool add(StringRef line, int64_t number, ArrayRef<StringRef> fields, std::string &error) {
    if (index == -1) {
      numbers.push_back(number + offset);
      return true;
    }
    StringRef text = index == -2 ? line : fields[index];
    if (isa<StringType>(type)) {
      strings.push_back(text);
      return true;
    }
    bool isGood;
    if (isa<FloatType>(type)) {
      double value = 0;
      isGood = !text.trim().getAsDouble(value);
      reals.push_back(value);
    } else {
      int64_t value = 0;
      isGood = !text.trim().getAsInteger(10, value);
      numbers.push_back(value);
    }
    if (!isGood)
      error =
          "line " + std::to_string(number + 1) + " has \"" + text.str() + "\", which is no number";
    return isGood;
  }

  DenseElementsAttr finish(int64_t count) const {
    auto shape = RankedTensorType::get({count}, type);
    if (isa<StringType>(type))
      return DenseElementsAttr::get(shape, ArrayRef<StringRef>(strings));
    SmallVector<Attribute> values;
    for (double real : reals)
      values.push_back(FloatAttr::get(type, real));
    for (int64_t number : numbers)
      values.push_back(isa<FloatType>(type) ? Attribute(FloatAttr::get(type, double(number)))
                                            : Attribute(IntegerAttr::get(
                                                  type, APInt(type.getIntOrFloatBitWidth(),
                                                              uint64_t(number), false, true))));
    return DenseElementsAttr::get(shape, values);
  }

  Type type;
  int64_t index, offset;

private:
  SmallVector<StringRef> strings;
  SmallVector<int64_t> numbers;
  SmallVector<double> reals;
};

} // namespace

bool weir::tf::readTableFile(const TableFile &file, Type keyType, Type valueType,
                             TableEntries &entries, std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(file.path);
  if (!buffer) {
    error = "cannot be read: " + buffer.getError().message();
    return false;
  }
  Column keys(keyType, file.keyColumn, file.offset),
      values(valueType, file.valueColumn, file.offset);
  constexpr int64_t most = int64_t(1) << 62; // sums with a line's number fit
  if (std::max(file.keyColumn, file.valueColumn) >= most || file.offset >= most ||
      file.offset <= -most) {
    error = "is to give columns or line numbers that 64 bits do not hold";
    return false;
  }
  int64_t columns = std::max(file.keyColumn, file.valueColumn) + 1;
  for (const Column *column : {&keys, &values}) {
    bool isString = isa<StringType>(column->type);
    if (!isString && !column->type.isIntOrFloat()) {
      error = "is to give neither strings nor numbers";
      return false;
    }
    if (column->index < -2 || (column->index == -2 && !isString) ||
        (column->index == -1 && (isString || isa<FloatType>(column->type)))) {
      error = "is to give line numbers as strings or floats, or lines as numbers";
      return false;
    }
  }
  int64_t count = 0;
  StringRef rest = (*buffer)->getBuffer();
  while (!rest.empty() && (file.size < 0 || count < file.size)) {
    auto [line, after] = rest.split('\n');
    rest = after;
    // Lines of other systems end with a carriage return, too.
    line.consume_back("\r");
    if (line.empty()) {
      error = "line " + std::to_string(count + 1) + " is empty";
      return false;
    }
    SmallVector<StringRef> fields;
    if (columns > 0) {
      line.split(fields, file.delimiter);
      if (int64_t(fields.size()) < columns) {
        error = "line " + std::to_string(count + 1) + " has " + std::to_string(fields.size()) +
                " columns of " + std::to_string(columns);
        return false;
      }
    }
    if (!keys.add(line, count, fields, error) || !values.add(line, count, fields, error))
      return false;
    ++count;
  }
  if (file.size >= 0 && count < file.size) {
    error = "has " + std::to_string(count) + " lines of " + std::to_string(file.size);
    return false;
  }
  entries = {keys.finish(count), values.finish(count)};
  return true;
}
