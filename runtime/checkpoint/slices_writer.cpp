//===- slices_writer.cpp - writing checkpoints of format V1 ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/slices_file.h"
#include "session/status.h"
#include "support/wire_format.h"

namespace weir::rt {

// SavedTensorSlices: 1: SavedTensorSliceMeta, 2: SavedSlice. Meta: 1: SavedSliceMeta…,
// 2: VersionDef (1: producer). SavedSliceMeta: 1: name, 2: shape, 3: type, 4: slice….
// SavedSlice: 1: name, 2: slice, 3: TensorProto.

int32_t SlicesWriter::open(const weir_string &name, weir_status *status) {
  path.clear();
  path << name << '\0';
  return path.failed() ? refuseMemory(status, "a checkpoint") : file.create(path.data(), status);
}

void SlicesWriter::endTensor() {
  if (lastHead.size() == 0)
    return;
  lastHead << lastSlices.view();
  writeBytes(meta, 1, lastHead.view());
  lastHead.clear();
  lastSlices.clear();
}

int32_t SlicesWriter::add(const weir_string &name, int32_t type, const StoredShape &shape,
                          const TensorSlice &slice, const void *data, weir_status *status) {
  const StoredType &info = storedType(type);
  if (info.field == 0) {
    StatusText(status, WEIR_UNIMPLEMENTED)
        << "the old format of checkpoints has no tensors of type " << info.name;
    return WEIR_UNIMPLEMENTED;
  }
  StoredShape sliced;
  if (int32_t code = slice.applyTo(shape, &sliced, status))
    return code;
  if (lastHead.size() == 0 || compareBytes(lastName.view(), name) != 0) {
    endTensor();
    lastName.clear();
    lastName << name;
    lastType = type;
    lastShape = shape;
    HeapText message;
    writeShape(message, shape);
    if (name.size > 0)
      writeBytes(lastHead, 1, name);
    writeBytes(lastHead, 2, message.view());
    writeNumber(lastHead, 3, uint64_t(type));
  } else if (type != lastType || !(shape == lastShape)) {
    StatusText out(status, WEIR_INTERNAL);
    out << "tensor ";
    out.quoted(name.data, name.size) << ": its slices say different types or shapes of the whole";
    return WEIR_INTERNAL;
  }
  HeapText box, body, key, message;
  writeSlice(box, slice);
  writeBytes(lastSlices, 4, box.view());
  int64_t count = sliced.count();
  constexpr int64_t mostBytes = (int64_t(1) << 31) - 1; // of a message
  int64_t bytes = count * info.bytes;
  if (type == storedString)
    for (int64_t i = 0; i < count; ++i)
      bytes += static_cast<const weir_string *>(data)[i].size + 6;
  if (count < 0 || bytes > mostBytes - name.size - 4096) {
    StatusText(status, WEIR_INVALID_ARGUMENT)
        << "a tensor of more than 2 GiB does not fit the old format of checkpoints";
    return WEIR_INVALID_ARGUMENT;
  }
  if (name.size > 0)
    writeBytes(body, 1, name);
  writeBytes(body, 2, box.view());
  HeapText elements;
  writeValues(elements, type, count, data);
  writeBytes(body, 3, elements.view());
  writeBytes(message, 2, body.view());
  writeSliceKey(key, name, slice);
  order.push(values.size());
  bool isGood = values.add(key.view(), message.view()) && !order.failed() && !key.failed() &&
                !elements.failed() && !body.failed() && !message.failed() && !box.failed() &&
                !lastHead.failed() && !lastSlices.failed();
  return isGood ? int32_t(WEIR_OK) : refuseMemory(status, "a checkpoint");
}

int32_t SlicesWriter::finish(weir_status *status) {
  endTensor();
  HeapText version, first;
  writeNumber(version, 1, 1);
  writeBytes(meta, 2, version.view());
  writeBytes(first, 1, meta.view());
  if (meta.failed() || first.failed())
    return refuseMemory(status, "a checkpoint");
  order.sort(
      [](const void *a, const void *b, void *self) {
        auto &list = *static_cast<const EntryList *>(self);
        int64_t i = *static_cast<const int64_t *>(a), k = *static_cast<const int64_t *>(b);
        int keys = compareBytes(list.key(i), list.key(k));
        return keys ? keys : i < k ? -1 : 1;
      },
      &values);
  TableWriter table(file);
  int32_t code = table.add({"", 0}, first.view(), status);
  for (int64_t i = 0; i < order.size() && !code; ++i)
    // Of a slice that was given twice the first is kept.
    if (i == 0 || compareBytes(values.key(order[i]), values.key(order[i - 1])) != 0)
      code = table.add(values.key(order[i]), values.value(order[i]), status);
  if (!code)
    code = table.finish(status);
  if (!code)
    code = file.commit(status);
  return code ? code : syncFolder(folderOf({path.data(), path.size() - 1}), status);
}

} // namespace weir::rt
