"""Fitted models in files that hold numbers and names, and no code."""

from __future__ import annotations

import json
import re
from dataclasses import is_dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from ..base.errors import BadData, GradoneError
from ..base.memory import human_bytes, require_memory
from ._registry import LEARNERS

SCHEMA = 1
"""Version of the form of the files."""
_DESCRIPTION = "description"
# The only modules whose classes a file may name, besides the learners themselves.
_MODULES = (
    "tables._feature.bounds",
    "tables._feature.calibration",
    "tables._feature.ensemble",
    "tables._feature.linear",
    "tables._feature.machine",
    "tables._feature.readouts",
    "tables._feature.rows",
    "tables._feature.screen",
    "tables._feature.smoother",
    "tables._feature.stack",
    "tables._feature.trees",
    "tables.tabular.encoding",
)
_FREE_BYTES, _MOST_PACKED = 1 << 26, 100  # of an archive: always unpacked; times its own size
_UNSAVED = ("_skl_callbacks", "_callback", "_sklearn", "_metadata_request")


def save_model(model: Any, path: str | Path) -> Path:
    """Write a fitted learner to a file.

    The file is an ``.npz`` archive of arrays and one JSON description with a schema number;
    :func:`load_model` gives back a model with the same predictions, bit for bit.

    Parameters
    ----------
    model : estimator
        Fitted to NumPy arrays.
    path : str or Path
        Where to write; ``.npz`` is appended if it is not there.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import gradone as gd
    >>> s = gd.Target("z1").sample(n=200, d=3, seed=0)
    >>> model = gd.learners.SIR(random_state=0).fit(s.X, s.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = gd.learners.save_model(model, f"{folder}/model")
    ...     again = gd.learners.load_model(file)
    >>> bool((again.transform(s.X) == model.transform(s.X)).all())
    True
    """
    from importlib.metadata import version

    path = Path(path)
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    writer = _Writer()
    description = {
        "schema": SCHEMA,
        "gradone": version("gradone"),
        "model": writer.written(model, "model"),
    }
    text = json.dumps(description, allow_nan=False).encode()
    np.savez_compressed(
        path, allow_pickle=False, **{_DESCRIPTION: np.frombuffer(text, np.uint8)}, **writer.arrays
    )
    return path


def load_model(path: str | Path) -> Any:
    """Read a model that :func:`save_model` or ``gradone fit`` wrote.

    Nothing in the file is run: arrays are read without pickle, classes are found in a fixed list,
    and objects are put together field by field, without a call. A file that names anything else
    is refused, whatever its bytes are, with one error; so is an archive that unpacks to more than
    100 times its size (and 64 MB).

    Parameters
    ----------
    path : str or Path
        The file.
    """
    path = Path(path)
    try:
        arrays = _unpacked(path)
        if _DESCRIPTION not in arrays:
            raise BadData(f"{path} is not a model of gradone: it has no description")
        description = json.loads(arrays.pop(_DESCRIPTION).tobytes())
        schema, model = description["schema"], description["model"]
        if schema != SCHEMA:
            raise BadData(
                f"the model in {path} has schema {schema!r}, this version of gradone reads {SCHEMA}"
            )
        return _Reader(arrays).read(model)
    except GradoneError:
        raise
    except FileNotFoundError:
        raise BadData(f"there is no model at {path}") from None
    except Exception as error:  # the bytes of a stranger can break a reader in any way
        problem = str(error) or type(error).__name__
        raise BadData(f"{path} is not a model of gradone, or is damaged: {problem}") from None


def _unpacked(path: Path) -> dict[str, np.ndarray]:
    """Arrays of an archive, which may not unpack to very much more than it is."""
    size = path.stat().st_size
    with ZipFile(path) as archive:
        parts = archive.infolist()
        needed = sum(part.file_size for part in parts)
        if needed > max(_FREE_BYTES, _MOST_PACKED * size):
            raise BadData(
                f"{path} has {human_bytes(size)} and would unpack to {human_bytes(needed)}: no "
                "model of gradone is packed so tightly"
            )
        require_memory(2 * needed, f"the model in {path}", "Load it on a larger machine.")
        return {part.filename.removesuffix(".npy"): _array(archive.read(part)) for part in parts}


def _array(raw: bytes) -> np.ndarray:
    """Array from the bytes of an ``.npy`` file; what its header claims is not believed."""
    file = BytesIO(raw)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[np.lib.format.read_magic(file)]
    shape, fortran, dtype = read_header(file)
    if dtype.hasobject:
        raise ValueError("an array holds Python objects")
    flat = np.frombuffer(raw, dtype, offset=file.tell()).copy()
    return flat.reshape(shape, order="F" if fortran else "C")


class _Writer:
    """Objects as JSON, with their arrays aside."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, str] = {}

    def written(self, value: Any, where: str) -> Any:
        """JSON of a value; `where` it is found, for an error."""
        if value is None or isinstance(value, bool | int | str) and type(value) in _PLAIN:
            return value
        if type(value) is float:
            return {"float": value.hex()}
        if isinstance(value, np.random.Generator):
            return None  # its state belongs to the fit, which is over
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        if isinstance(value, np.ndarray):
            if value.dtype.kind == "O":
                items = [self.written(item, where) for item in value.ravel().tolist()]
                return {"objects": items, "shape": list(value.shape)}
            return {"array": self._array(value)}
        if isinstance(value, dict):
            pairs = value.items()
            return {"dict": [[self.written(k, where), self.written(v, where)] for k, v in pairs]}
        if type(value) in (list, tuple):
            kind = type(value).__name__
            return {kind: [self.written(item, f"{where}[{i}]") for i, item in enumerate(value)]}
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        name = _name_of(type(value))
        if name is None:
            raise BadData(f"{where} is a {type(value).__name__}, which cannot be saved")
        fields = {
            key: self.written(item, f"{where}.{key}")
            for key, item in vars(value).items()
            if not key.startswith(_UNSAVED)
        }
        return {"class": name, "fields": fields}

    def _array(self, value: np.ndarray) -> str:
        # An array that several objects share is written once.
        name = self._names.setdefault(id(value), f"array{len(self.arrays)}")
        self.arrays[name] = value
        return name


_PLAIN = (bool, int, str)


class _Reader:
    """Objects from JSON; they are not called into being, only filled."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._arrays = arrays

    def read(self, node: Any) -> Any:
        """The value that was written."""
        if not isinstance(node, dict):
            if node is not None and type(node) not in _PLAIN:
                raise TypeError(f"unexpected {type(node).__name__}")
            return node
        match node:
            case {"float": str(text)}:
                return float.fromhex(text)
            case {"scalar": str(name)}:
                return self._arrays[name][()]
            case {"array": str(name)}:
                return self._arrays[name]
            case {"objects": list(items), "shape": list(shape)}:
                found = np.empty(len(items), dtype=object)
                found[:] = [self.read(item) for item in items]
                return found.reshape(shape)
            case {"dict": list(pairs)}:
                return {self.read(key): self.read(value) for key, value in pairs}
            case {"list": list(items)}:
                return [self.read(item) for item in items]
            case {"tuple": list(items)}:
                return tuple(self.read(item) for item in items)
            case {"class": str(name), "fields": dict(fields)}:
                made: Any = object.__new__(_class_of(name))
                for key, value in fields.items():
                    if key.startswith("__"):
                        raise KeyError(key)
                    object.__setattr__(made, key, self.read(value))
                return made
        raise KeyError(f"unexpected {sorted(node)}")


def _name_of(cls: type) -> str | None:
    """Name of a class in files, None if it has no place there."""
    learner = getattr(cls, "name", None)
    if isinstance(learner, str) and learner in LEARNERS and LEARNERS[learner] is cls:
        return learner
    room, _, module = cls.__module__.partition(".learners.")
    if room == "gradone" and module in _MODULES and is_dataclass(cls):
        return f"{module}:{cls.__name__}"
    return None


def _class_of(name: str) -> type:
    if name in LEARNERS:
        found: type = LEARNERS[name]
        return found
    module, _, word = name.partition(":")
    if module in _MODULES and re.fullmatch(r"[A-Z]\w*", word, re.ASCII):
        found = getattr(import_module(f"gradone.learners.{module}"), word, object)
        if isinstance(found, type) and _name_of(found) == name:
            return found
    raise BadData(f"a model cannot be made of {name!r}: this version of gradone has no such part")
