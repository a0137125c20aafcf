"""Compiled code of the host as a step of a JAX program on CPUs, on XLA's own buffers.

`jax.pure_callback` does the same with arrays that it makes of them, and copies the results, which takes about as long
as the verifier's own work. The structures are those of XLA's foreign function interface (`xla/ffi/api/c_api.h`, which
jaxlib ships), a binary interface that XLA keeps to for at least a year; it refuses a version that it does not know.
"""

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int, c_size_t, c_void_p
from threading import Lock
from typing import Any

import jax

from jaxenv.xla_buffers import words

_VERSION = 0, 3  # of the interface
_METADATA = 1
_INTERNAL = 13  # the code of an internal error
# Where things stand in the structure of a call, in words. Word for word, because `Structure` takes ten times as long.
_EXTENSION, _API, _GIVEN, _FOUND, _FRAME = 1, 2, 9, 14, 15


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


_HANDLER = ctypes.CFUNCTYPE(c_void_p, c_void_p)
_handlers: dict[str, Any] = {}  # XLA calls them until the process ends
_registering = Lock()  # two threads may trace at once


def register(name: str, function: Callable[[int, int], None]) -> None:
    """Let `jax.ffi.ffi_call(name, ...)` call a function on CPUs with the buffers given, which it must not change, and
    those to fill; `jaxenv.xla_buffers` reads them.

    Registering a name again does nothing. An exception ends the program that called.
    """

    def handle(address: int) -> int | None:
        frame = words(address, _FRAME)
        api = _Api.from_address(frame[_API])
        if frame[_EXTENSION]:
            extension = _Extension.from_address(frame[_EXTENSION])
            if extension.kind == _METADATA:
                version, theirs = extension.metadata.contents.version, api.version
                version.major, version.minor = min(_VERSION, (theirs.major, theirs.minor))
                return None
        try:
            function(frame[_GIVEN], frame[_FOUND])
        except BaseException as error:  # nothing may leave a function that C++ calls
            message = f"{name}: {type(error).__name__}: {error}".encode()
            wrong = _Error(ctypes.sizeof(_Error), None, message, _INTERNAL)
            made: int | None = api.create_error(ctypes.byref(wrong))
            return made
        return None

    with _registering:
        if name not in _handlers:
            _handlers[name] = _HANDLER(handle)
            capsule = jax.ffi.pycapsule(_handlers[name])  # type: ignore[no-untyped-call]
            jax.ffi.register_ffi_target(name, capsule, platform="cpu")
