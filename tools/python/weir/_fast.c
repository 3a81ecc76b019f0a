//===- _fast.c - calls of entries without detours -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Entry.__call__ does for contiguous arrays of the right types, in C over the
// stable interface of Python 3.11: one file serves it and all later versions. Other
// arguments are NotImplemented, and the module in Python, which needs no compiler, takes
// them. It links nothing of weir: functions of the model's runtime are handed over as
// addresses.
//
//===----------------------------------------------------------------------===//

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "weir/weir.h"

#include <string.h>

#define MOST 16 ///< inputs or outputs of an entry that is called this way

typedef int32_t (*RunFunction)(weir_session *, int32_t, const weir_tensor *, int32_t, weir_tensor *,
                               int32_t, const weir_run_options *, weir_status *);
typedef void (*ReleaseFunction)(weir_session *, weir_tensor *);

typedef struct {
  PyObject_HEAD RunFunction run;
  ReleaseFunction release;
  weir_session *session;
  int32_t entry, inputs, outputs;
  int32_t types[MOST];    ///< of inputs, weir_dtype
  char formats[MOST][4];  ///< of inputs, as struct's
  PyObject *empty;        ///< numpy.empty
  PyObject *shapes[MOST]; ///< of outputs: a tuple where all sizes are fixed, or None
  PyObject *dtypes[MOST];
  PyObject *error;  ///< class, of (code, message)
  PyObject *result; ///< class of several outputs
} Caller;

/// Describes `array` in `tensor`. 0: it is none that can be read where it is.
static int describe(const Caller *self, int i, PyObject *array, Py_buffer *view,
                    weir_tensor *tensor) {
  if (PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
    PyErr_Clear();
    return 0;
  }
  const char *format = view->format ? view->format : "B";
  // Native order and size are what weir has; NumPy says so by no prefix.
  if (strcmp(format, self->formats[i]) != 0 || view->ndim > WEIR_MAX_RANK) {
    PyBuffer_Release(view);
    return 0;
  }
  tensor->data = view->buf;
  tensor->bytes = view->len;
  tensor->dtype = self->types[i];
  tensor->rank = view->ndim;
  for (int d = 0; d < view->ndim; ++d)
    tensor->dims[d] = view->shape[d];
  return 1;
}

/// A new array for an output, with its memory in `fetch`.
static PyObject *makeArray(const Caller *self, int i, PyObject *shape, weir_tensor *fetch) {
  PyObject *array =
      PyObject_CallFunctionObjArgs(self->empty, shape, self->dtypes[i], (PyObject *)NULL);
  Py_buffer view;
  if (!array)
    return NULL;
  if (PyObject_GetBuffer(array, &view, PyBUF_WRITABLE) < 0) {
    Py_DECREF(array);
    return NULL;
  }
  fetch->data = view.buf;
  fetch->bytes = view.len;
  // The array, which is referenced, keeps its memory.
  PyBuffer_Release(&view);
  return array;
}

/// An array with what the runtime has put in memory of its own, which is given back.
static PyObject *takeArray(const Caller *self, int i, weir_tensor *fetch) {
  PyObject *shape = PyTuple_New(fetch->rank);
  for (int d = 0; shape && d < fetch->rank; ++d) {
    PyObject *size = PyLong_FromLongLong(fetch->dims[d]);
    if (!size || PyTuple_SetItem(shape, d, size) < 0) {
      Py_DECREF(shape);
      return NULL;
    }
  }
  weir_tensor place;
  PyObject *array = shape ? makeArray(self, i, shape, &place) : NULL;
  Py_XDECREF(shape);
  if (array && fetch->bytes > 0)
    memcpy(place.data, fetch->data, (size_t)fetch->bytes);
  return array;
}

/// Runs with what is described. Null, with an error, where the status is none of OK.
static PyObject *runWith(const Caller *self, const weir_tensor *feeds) {
  weir_tensor fetches[MOST];
  PyObject *arrays[MOST] = {NULL};
  PyObject *outcome = NULL;
  weir_status status = WEIR_STATUS_INIT;
  int32_t code = WEIR_OK;
  int given = 1;
  for (int i = 0; i < self->outputs && given; ++i) {
    fetches[i].data = NULL;
    fetches[i].bytes = 0;
    if (self->shapes[i] != Py_None)
      given = (arrays[i] = makeArray(self, i, self->shapes[i], &fetches[i])) != NULL;
  }
  if (given) {
    Py_BEGIN_ALLOW_THREADS code = self->run(self->session, self->entry, feeds, self->inputs,
                                            fetches, self->outputs, NULL, &status);
    Py_END_ALLOW_THREADS if (code) {
      PyObject *error = PyObject_CallFunction(self->error, "is", (int)code, status.message);
      if (error)
        PyErr_SetObject(self->error, error);
      Py_XDECREF(error);
      given = 0;
    }
  }
  if (given) {
    for (int i = 0; i < self->outputs; ++i)
      if (!arrays[i]) {
        if (given)
          given = (arrays[i] = takeArray(self, i, &fetches[i])) != NULL;
        self->release(self->session, &fetches[i]);
      }
  }
  if (given && self->outputs == 1) {
    Py_INCREF(arrays[0]);
    outcome = arrays[0];
  } else if (given) {
    PyObject *all = PyTuple_New(self->outputs);
    for (int i = 0; all && i < self->outputs; ++i) {
      Py_INCREF(arrays[i]);
      PyTuple_SetItem(all, i, arrays[i]);
    }
    outcome = all ? PyObject_CallObject(self->result, all) : NULL;
    Py_XDECREF(all);
  }
  for (int i = 0; i < self->outputs; ++i)
    Py_XDECREF(arrays[i]);
  return outcome;
}

static PyObject *call(PyObject *object, PyObject *arguments, PyObject *names) {
  const Caller *self = (const Caller *)object;
  if ((names && PyDict_Size(names) > 0) || PyTuple_Size(arguments) != self->inputs) {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
  }
  weir_tensor feeds[MOST];
  Py_buffer views[MOST];
  int taken = 0;
  while (taken < self->inputs &&
         describe(self, taken, PyTuple_GetItem(arguments, taken), &views[taken], &feeds[taken]))
    ++taken;
  PyObject *outcome = NULL;
  if (taken == self->inputs) {
    outcome = runWith(self, feeds);
  } else {
    Py_INCREF(Py_NotImplemented);
    outcome = Py_NotImplemented;
  }
  while (taken > 0)
    PyBuffer_Release(&views[--taken]);
  return outcome;
}

/// Caller(run, release, session, entry, inputs, outputs, empty, error, result): inputs are
/// tuples (dtype, format), outputs (shape or None, dtype); addresses are numbers.
static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  (void)names;
  unsigned long long run, release, session;
  int entry;
  PyObject *inputs, *outputs, *empty, *error, *result;
  if (!PyArg_ParseTuple(arguments, "KKKiO!O!OOO", &run, &release, &session, &entry, &PyTuple_Type,
                        &inputs, &PyTuple_Type, &outputs, &empty, &error, &result))
    return NULL;
  if (PyTuple_Size(inputs) > MOST || PyTuple_Size(outputs) > MOST)
    return PyErr_Format(PyExc_ValueError, "more than %d inputs or outputs", MOST);
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Caller *self = (Caller *)allocate(type, 0);
  if (!self)
    return NULL;
  self->run = (RunFunction)(uintptr_t)run;
  self->release = (ReleaseFunction)(uintptr_t)release;
  self->session = (weir_session *)(uintptr_t)session;
  self->entry = entry;
  for (Py_ssize_t i = 0; i < PyTuple_Size(inputs); ++i, ++self->inputs) {
    const char *format;
    if (!PyArg_ParseTuple(PyTuple_GetItem(inputs, i), "is", &self->types[i], &format)) {
      Py_DECREF(self);
      return NULL;
    }
    strncpy(self->formats[i], format, sizeof(self->formats[i]) - 1);
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(outputs); ++i, ++self->outputs) {
    PyObject *shape, *dtype;
    if (!PyArg_ParseTuple(PyTuple_GetItem(outputs, i), "OO", &shape, &dtype)) {
      Py_DECREF(self);
      return NULL;
    }
    Py_INCREF(shape);
    Py_INCREF(dtype);
    self->shapes[i] = shape;
    self->dtypes[i] = dtype;
  }
  Py_INCREF(empty);
  Py_INCREF(error);
  Py_INCREF(result);
  self->empty = empty;
  self->error = error;
  self->result = result;
  return (PyObject *)self;
}

static void destroy(PyObject *object) {
  Caller *self = (Caller *)object;
  PyTypeObject *type = Py_TYPE(object);
  for (int i = 0; i < self->outputs; ++i) {
    Py_XDECREF(self->shapes[i]);
    Py_XDECREF(self->dtypes[i]);
  }
  Py_XDECREF(self->empty);
  Py_XDECREF(self->error);
  Py_XDECREF(self->result);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyType_Slot slots[] = {{Py_tp_new, (void *)make},
                              {Py_tp_call, (void *)call},
                              {Py_tp_dealloc, (void *)destroy},
                              {0, NULL}};
static PyType_Spec spec = {"weir._fast.Caller", sizeof(Caller), 0, Py_TPFLAGS_DEFAULT, slots};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "weir._fast", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fast(void) {
  PyObject *made = PyModule_Create(&module);
  PyObject *type = made ? PyType_FromSpec(&spec) : NULL;
  if (!type || PyModule_AddObject(made, "Caller", type) < 0) {
    Py_XDECREF(type);
    Py_XDECREF(made);
    return NULL;
  }
  return made;
}
