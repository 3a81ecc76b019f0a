//===- checkpoint_restore.cpp - tensors out of checkpoints ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/slices_file.h"
#include "kernels/checkpoint_call.h"
#include "session/status.h"

using namespace weir::rt;

namespace {

/// One tensor on its way to a result.
struct Restored {
  int32_t type;
  StoredShape shape, sliced;
  TensorSlice slice;
};

char *makeContents(void *ctx, int64_t bytes) {
  return static_cast<char *>(weir_custom_alloc(static_cast<weir_context *>(ctx), bytes));
}

/// What of a stored tensor is wanted, once its type and shape are known.
int32_t wantedOf(const CheckpointCall &call, int64_t i, int32_t wanted, Restored &tensor,
                 weir_status *status) {
  char name[220];
  Text(name, sizeof(name))
      .append(call.names[i].data, call.names[i].size < 200 ? call.names[i].size : 200);
  if (tensor.type != wanted) {
    StatusText(status, WEIR_INVALID_ARGUMENT)
        << "tensor \"" << name << "\" is of type " << storedType(tensor.type).name
        << " in the checkpoint; the node wants " << storedType(wanted).name;
    return WEIR_INVALID_ARGUMENT;
  }
  StoredShape said = tensor.shape;
  if (int32_t code = partOfTensor(call, i, &said, &tensor.slice, &tensor.sliced, status))
    return code;
  if (said == tensor.shape)
    return WEIR_OK;
  StatusText(status, WEIR_INVALID_ARGUMENT)
      << "tensor \"" << name << "\" is of shape " << tensor.shape
      << " in the checkpoint; its specification of a slice says " << said;
  return WEIR_INVALID_ARGUMENT;
}

/// Checks that result `i` may have the tensor's shape; `code`: what it is otherwise.
int32_t checkShape(const CheckpointCall &call, int64_t i, int32_t code, const Restored &tensor,
                   const weir_tensor &result, weir_status *status) {
  const StoredShape &shape = tensor.sliced;
  bool fits = result.rank == shape.rank;
  for (int32_t d = 0; fits && d < shape.rank; ++d)
    fits = result.dims[d] < 0 || result.dims[d] == shape.dims[d];
  if (fits)
    return WEIR_OK;
  StatusText out(status, code);
  out << "tensor ";
  out.quoted(call.names[i].data, call.names[i].size)
      << " is of shape " << shape << " in the checkpoint; the program takes it as ";
  appendShape(out, result.rank, result.dims);
  return code;
}

/// Reads a tensor whose result cannot take it: what is damaged is said before what does not
/// fit. Returns a weir_code.
template <typename Format>
int32_t readAside(const weir_string &name, const Restored &tensor, const StringMemory &memory,
                  Format &format, weir_status *status) {
  if (int32_t code = format.check(name, tensor, status))
    return code;
  int64_t size =
      tensor.type == storedString ? int64_t(sizeof(weir_string)) : storedType(tensor.type).bytes;
  HeapList<char> elements;
  return elements.reserve(tensor.sliced.count() * size)
             ? format.read(name, tensor, elements.data(), memory, status)
             : int32_t(WEIR_OK);
}

/// What is common to both formats: finds every tensor, before memory is asked for, and
/// then reads each. Format has find(name, tensor, status), check() of what find() has found, and
/// read(name, tensor, to, memory, status).
template <typename Format>
int32_t restore(weir_context *ctx, const CheckpointCall &call, weir_tensor *results,
                const int64_t *attributes, Format &format) {
  HeapList<Restored> tensors;
  if (!tensors.reserve(call.count))
    return failMessage(ctx, WEIR_RESOURCE_EXHAUSTED, "no memory to restore tensors");
  tensors.resize(call.count);
  weir_status status = WEIR_STATUS_INIT;
  StringMemory memory{makeContents, ctx};
  int32_t code = WEIR_OK;
  for (int64_t i = 0; i < call.count && !code; ++i)
    code = format.find(call.names[i], tensors[i], &status);
  for (int64_t i = 0; i < call.count && !code; ++i) {
    code = wantedOf(call, i, int32_t(attributes[2 * i]), tensors[i], &status);
    if (code || !(code = checkShape(call, i, int32_t(attributes[2 * i + 1]), tensors[i], results[i],
                                    &status)))
      continue;
    weir_status damage = WEIR_STATUS_INIT;
    if (readAside(call.names[i], tensors[i], memory, format, &damage))
      return failStatus(ctx, damage);
  }
  for (int64_t i = 0; i < call.count && !code; ++i) {
    const StoredShape &shape = tensors[i].sliced;
    code = format.check(call.names[i], tensors[i], &status);
    if (!code && !shapeResult(ctx, results[i], shape.rank, shape.dims))
      return WEIR_RESOURCE_EXHAUSTED;
    if (!code)
      code = format.read(call.names[i], tensors[i], results[i].data, memory, &status);
  }
  return code ? failStatus(ctx, status) : int32_t(WEIR_OK);
}

struct NewFormat {
  BundleReader reader;
  BundleEntry entry;

  int32_t find(const weir_string &name, Restored &tensor, weir_status *status) {
    int32_t code = reader.find(name, &entry, status);
    tensor.type = entry.type;
    tensor.shape = entry.shape;
    return code;
  }
  int32_t check(const weir_string &name, const Restored &tensor, weir_status *status) {
    int32_t code = reader.find(name, &entry, status);
    return code ? code : reader.checkSize(name, entry, tensor.sliced.count(), status);
  }
  /// Behind check() of the same tensor.
  int32_t read(const weir_string &name, const Restored &tensor, void *to,
               const StringMemory &memory, weir_status *status) {
    bool isAll = tensor.slice == TensorSlice::whole(tensor.shape.rank);
    return reader.read(name, entry, isAll ? nullptr : &tensor.slice, to, memory,
                       /*asTensorFlow=*/true, status);
  }
};

struct OldFormat {
  SlicesReader reader;

  int32_t find(const weir_string &name, Restored &tensor, weir_status *status) {
    return reader.find(name, &tensor.type, &tensor.shape, status);
  }
  /// A file of this format says how much it has only where it is read.
  int32_t check(const weir_string &, const Restored &tensor, weir_status *status) {
    constexpr int64_t most = int64_t(1) << 31; // of a message
    if (tensor.sliced.count() < most)
      return WEIR_OK;
    StatusText(status, WEIR_INVALID_ARGUMENT) << "a tensor claims more than 2^31 elements";
    return WEIR_INVALID_ARGUMENT;
  }
  int32_t read(const weir_string &name, const Restored &tensor, void *to,
               const StringMemory &memory, weir_status *status) {
    return tensor.sliced.count() == 0 ? int32_t(WEIR_OK)
                                      : reader.read(name, tensor.slice, to, memory, status);
  }
};

} // namespace

int32_t weir_kernel_restore(weir_context *ctx, const weir_tensor *operands, int32_t operand_count,
                            weir_tensor *results, int32_t result_count, const int64_t *attributes) {
  CheckpointCall call;
  if (int32_t code = readCall(ctx, operands, operand_count > 2, result_count, &call))
    return code;
  weir_status status = WEIR_STATUS_INIT;
  // What is not there in the new format may be there in the old one.
  bool isOld = attributes[0] != 0 || !BundleReader::exists(call.prefix);
  if (isOld) {
    OldFormat format;
    if (int32_t code = format.reader.open(call.prefix, &status); code)
      return failStatus(ctx, status);
    return restore(ctx, call, results, attributes + 1, format);
  }
  NewFormat format;
  if (int32_t code = format.reader.open(call.prefix, &status); code)
    return failStatus(ctx, status);
  return restore(ctx, call, results, attributes + 1, format);
}
