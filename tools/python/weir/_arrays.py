# ===- _arrays.py - tensors of the runtime as arrays --------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Between weir_tensor and NumPy, without copies where types allow."""

from __future__ import annotations

import ctypes
from typing import Any, List, Sequence

import numpy as np

from ._abi import Code, Error, WeirString, WeirTensor

STRING, SEQUENCE = 8, 64
_NAMES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 8: "string",
          9: "bool", 10: "f16", 11: "f64", 12: "u32", 13: "u64", 14: "c64", 15: "c128",
          16: "bf16", 17: "f8e4m3fn", 18: "f8e4m3fnuz", 19: "f8e5m2", 20: "f8e5m2fnuz",
          21: "u4", 22: "i4", 23: "f4e2m1", 24: "f8e8m0", 25: "u2", 26: "i2", 64: "tensor"}
_NUMPY = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2",
          11: "f8", 12: "u4", 13: "u8", 14: "c8", 15: "c16"}
_FEW = {16: ("bfloat16", "u2"), 17: ("float8_e4m3fn", "u1"), 18: ("float8_e4m3fnuz", "u1"),
        19: ("float8_e5m2", "u1"), 20: ("float8_e5m2fnuz", "u1"), 21: ("uint4", "u1"),
        22: ("int4", "i1"), 23: ("float4_e2m1fn", "u1"), 24: ("float8_e8m0fnu", "u1"),
        25: ("uint2", "u1"), 26: ("int2", "i1")}


def dtype_name(number: int) -> str:
    return _NAMES.get(number, "?")


def numpy_dtype(number: int) -> np.dtype:
    """Elements as NumPy has them; those of types that it lacks as ml_dtypes has them where it
    is installed, else as their bits. Strings are objects (bytes)."""
    if number in _NUMPY:
        return np.dtype(_NUMPY[number])
    if number in _FEW:
        name, bits = _FEW[number]
        try:
            import ml_dtypes
            return np.dtype(getattr(ml_dtypes, name))
        except (ImportError, AttributeError):
            return np.dtype(bits)
    return np.dtype(object)


def as_array(value: Any, dtype: np.dtype, what: str) -> np.ndarray:
    """`value` as a contiguous array of that type: itself or its memory (DLPack) where it is
    one. Numbers and lists are converted; an array of another type is an error."""
    if not isinstance(value, np.ndarray):
        if hasattr(value, "__dlpack__"):
            value = np.from_dlpack(value)
        else:
            value = np.asarray(value, dtype=dtype)
    if value.dtype != dtype:
        bits = value.dtype.itemsize == dtype.itemsize and value.dtype.kind in "uV"
        if not (bits and dtype.kind == "V"):
            raise Error(Code.INVALID_ARGUMENT, f"{what}: expected elements of {dtype}, got "
                                               f"{value.dtype}; convert with astype")
        value = value.view(dtype)
    return value if value.flags.c_contiguous else np.ascontiguousarray(value)


def fill(tensor: WeirTensor, value: Any, number: int, what: str, kept: List[Any]) -> None:
    """Describes `value` in `tensor`; what that points to is added to `kept`."""
    tensor.dtype = number
    if number == SEQUENCE:
        _fill_sequence(tensor, value, what, kept)
        return
    if number == STRING:
        array = np.asarray(value, dtype=object)
        texts = [one.encode() if isinstance(one, str) else bytes(one) for one in array.ravel()]
        elements = (WeirString * max(1, len(texts)))()
        for element, text in zip(elements, texts):
            element.data = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)
            element.size = len(text)
        kept.append((texts, elements))
        tensor.data, tensor.bytes = ctypes.addressof(elements), 16 * len(texts)
    else:
        array = as_array(value, numpy_dtype(number), what)
        kept.append(array)
        tensor.data, tensor.bytes = array.ctypes.data, array.nbytes
    _fill_shape(tensor, array.shape, what)


def _fill_shape(tensor: WeirTensor, shape: Sequence[int], what: str) -> None:
    if len(shape) > 16:
        raise Error(Code.INVALID_ARGUMENT, f"{what}: expected at most 16 dimensions, got {len(shape)}")
    tensor.rank = len(shape)
    tensor.dims[:len(shape)] = shape


def _fill_sequence(tensor: WeirTensor, values: Sequence[Any], what: str, kept: List[Any]) -> None:
    parts = (WeirTensor * max(1, len(values)))()
    pointers = (ctypes.c_void_p * max(1, len(values)))()
    numbers = {numpy_dtype(n): n for n in list(_FEW) + list(_NUMPY)}
    for i, value in enumerate(values):
        if isinstance(value, (list, tuple)):
            number = SEQUENCE
        else:
            value = np.asarray(value)
            number = numbers.get(value.dtype, STRING)
        fill(parts[i], value, number, f"{what}[{i}]", kept)
        pointers[i] = ctypes.addressof(parts[i])
    kept.append((parts, pointers))
    tensor.data, tensor.bytes = ctypes.addressof(pointers), 8 * len(values)
    _fill_shape(tensor, (len(values),), what)


def taken(tensor: WeirTensor) -> Any:
    """A copy of what the runtime described."""
    shape = tuple(tensor.dims[:tensor.rank])
    count = int(np.prod(shape, dtype=np.int64))
    if tensor.dtype == SEQUENCE:
        pointers = (ctypes.POINTER(WeirTensor) * count).from_address(tensor.data) if count else []
        return [taken(pointer.contents) for pointer in pointers]
    if tensor.dtype == STRING:
        array = np.empty(count, dtype=object)
        elements = (WeirString * count).from_address(tensor.data) if count else []
        for i, element in enumerate(elements):
            array[i] = ctypes.string_at(element.data, element.size) if element.size else b""
        return array.reshape(shape)
    dtype = numpy_dtype(tensor.dtype)
    if count == 0:
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(tensor.data)
    return np.frombuffer(memory, dtype).reshape(shape).copy()
