"""Compiled code of the host as a step of a JAX program on CPUs, on XLA's own buffers.

`jax.pure_callback` does the same with arrays that it makes of them, and copies the results, which takes about as long
as the verifier's own work. The structures are those of XLA's foreign function interface (`xla/ffi/api/c_api.h`, which
jaxlib ships), a binary interface that XLA keeps to for at least a year; it refuses a version that it does not know.
"""

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_size_t, c_void_p
from math import prod
from threading import Lock
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

HostFunction = Callable[[list[NDArray[Any]], list[NDArray[Any]]], None]

_VERSION = 0, 3  # of the interface
_METADATA = 1
_INTERNAL = 13  # the code of an internal error
_DTYPES = {
    code: np.dtype(kind)
    for code, kind in ((1, np.bool_), (2, np.int8), (4, np.int32), (6, np.uint8), (8, np.uint32), (11, np.float32))
}


class _Buffers(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("extension", c_void_p),
        ("size", c_int64),
        ("types", c_void_p),
        ("buffers", c_void_p),
    )


class _Version(Structure):
    _fields_ = (("struct_size", c_size_t), ("extension", c_void_p), ("major", c_int), ("minor", c_int))


class _Metadata(Structure):
    _fields_ = (("struct_size", c_size_t), ("version", _Version))


class _Extension(Structure):
    _fields_ = (("struct_size", c_size_t), ("kind", c_int), ("next", c_void_p), ("metadata", POINTER(_Metadata)))


class _Error(Structure):
    _fields_ = (("struct_size", c_size_t), ("extension", c_void_p), ("message", c_char_p), ("code", c_int))


class _Api(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("extension", c_void_p),
        ("version", _Version),
        ("internal", c_void_p),
        ("create_error", ctypes.CFUNCTYPE(c_void_p, POINTER(_Error))),
    )


class _Frame(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("extension", POINTER(_Extension)),
        ("api", POINTER(_Api)),
        ("context", c_void_p),
        ("stage", c_int),
        ("given", _Buffers),
        ("found", _Buffers),
    )


_READ, _WRITE = 0x100, 0x200
_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_memory.argtypes, _memory.restype = (c_void_p, ctypes.c_ssize_t, c_int), ctypes.py_object
_HANDLER = ctypes.CFUNCTYPE(c_void_p, POINTER(_Frame))
_handlers: dict[str, Any] = {}  # XLA calls them until the process ends
_registering = Lock()  # two threads may trace at once


def register(name: str, function: HostFunction) -> None:
    """Let `jax.ffi.ffi_call(name, ...)` call a function on CPUs with the arrays given, read-only, and those to fill.

    Registering a name again does nothing. An exception ends the program that called.
    """

    def handle(pointer: Any) -> int | None:
        frame = pointer.contents
        if frame.extension and frame.extension.contents.kind == _METADATA:
            version, theirs = frame.extension.contents.metadata.contents.version, frame.api.contents.version
            version.major, version.minor = min(_VERSION, (theirs.major, theirs.minor))
            return None
        try:
            function(_arrays(frame.given, _READ), _arrays(frame.found, _WRITE))
        except BaseException as error:  # nothing may leave a function that C++ calls
            message = f"{name}: {type(error).__name__}: {error}".encode()
            wrong = _Error(ctypes.sizeof(_Error), None, message, _INTERNAL)
            made: int | None = frame.api.contents.create_error(ctypes.byref(wrong))
            return made
        return None

    with _registering:
        if name not in _handlers:
            _handlers[name] = _HANDLER(handle)
            capsule = jax.ffi.pycapsule(_handlers[name])  # type: ignore[no-untyped-call]
            jax.ffi.register_ffi_target(name, capsule, platform="cpu")


def _arrays(buffers: _Buffers, flags: int) -> list[NDArray[Any]]:
    """Views of the buffers. Word for word, because `Structure` takes ten times as long."""
    views = []
    for address in _words(buffers.buffers, buffers.size):
        _, _, kind, data, rank, dims = _words(address, 6)  # of a structure: its size, extensions, dtype, and so on
        shape, dtype = _words(dims, rank), _DTYPES[kind & 0xFFFFFFFF]
        size = prod(shape) * dtype.itemsize
        views.append(
            np.frombuffer(_memory(data, size, flags), dtype).reshape(shape) if size else np.empty(shape, dtype)
        )
    return views


def _words(address: int, count: int) -> list[int]:
    return (c_int64 * count).from_address(address)[:] if count else []
