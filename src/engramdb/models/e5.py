"""The e5-small model pack as an embedder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engramdb.errors import EmbedderUnavailable, ModelPackBroken
from engramdb.models.calibration import Calibration
from engramdb.models.wordpiece import bert_uncased
from engramdb.settings import forbid_telemetry
from engramdb.values.memory import EmbedderIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engramdb.models.packs import Pack

NAME: Final = "e5-small"
MODEL_FILE: Final = "model.onnx"
DIMENSION: Final = 384
MAX_TOKENS: Final = 512  # as many positions as the network has
BATCH: Final = 16  # texts are embedded singly; this only paces the caller

# The network was trained with these: leaving them out costs recall.
QUERY_PREFIX: Final = "query: "
DOCUMENT_PREFIX: Final = "passage: "

# Printed by `python -m evals.calibration --embedder e5-small`; to be fitted again with every new pack.
CALIBRATION: Final = Calibration(
    (
        (0.6948, 0.0),
        (0.7319, 0.1),
        (0.8105, 0.4),
        (0.8713, 0.6),
        (0.8967, 0.7),
        (0.9319, 0.85),
        (1.0, 1.0),
    )
)


class E5Embedder:
    """
    Text in, 384 numbers out, through an installed pack.

    Opening it reads nothing: the network is checked and loaded by the first call. Safe to share between
    threads; `threads` is how many processor cores one text may use.
    """

    def __init__(self, pack: Pack, *, threads: int = 1) -> None:
        self._pack = pack
        self._threads = threads
        self._loading = threading.Lock()
        self._network: E5Network | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """Name, dimension and revision as the pack's manifest gives them."""
        manifest = self._pack.manifest
        return EmbedderIdentity(name=manifest.name, dimension=manifest.dimension, revision=manifest.revision)

    @property
    def similarity_floor(self) -> float:
        """Unrelated texts lie between 0.66 and 0.79; docs/lab/0003-fusion.md."""
        return 0.75

    @property
    def similarity_ceiling(self) -> float:
        """Questions and their answers hardly come closer; docs/lab/0056-answers.md."""
        return 0.92

    @property
    def calibration(self) -> Calibration:
        """Fitted once and committed; docs/lab/0010-calibration.md."""
        return CALIBRATION

    @property
    def batch(self) -> int:
        """A few at once, so that the caller can show progress."""
        return BATCH

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length one per text that will be stored."""
        return self._embed(DOCUMENT_PREFIX, texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length one per question."""
        return self._embed(QUERY_PREFIX, texts)

    def _embed(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

        rows = np.empty((len(texts), self.identity.dimension), np.float32)
        for number, text in enumerate(texts):
            rows[number] = self._open().embed(prefix + text)
        return rows

    def _open(self) -> E5Network:
        if self._network is None:
            with self._loading:
                self._network = self._network or E5Network(self._pack.file(MODEL_FILE), threads=self._threads)
        return self._network


class E5Network:
    """The network itself, loaded from a file: one prefixed text in, one unit vector out."""

    def __init__(self, model: Path, *, threads: int = 1) -> None:
        self._session = open_session(model, threads=threads)

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the mean of the last hidden states, scaled to length one."""
        import numpy as np  # noqa: PLC0415 - most commands compute nothing

        tokens = np.array([bert_uncased().encode(text, most_tokens=MAX_TOKENS)], np.int64)
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
        states = self._session.run(["last_hidden_state"], inputs)[0]
        mean = states[0].mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)


def open_session(model: Path, *, threads: int, is_compact: bool = False) -> Any:
    """Return a network loaded by onnxruntime, on the processor; a compact one is run as it was written."""
    runtime = import_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    if is_compact:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4  # the library writes to stderr by itself; failures come as exceptions
    try:
        return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as exc:  # onnxruntime raises a dozen types with no common parent
        raise ModelPackBroken(f"the network in {model.name} cannot be loaded: {type(exc).__name__}") from exc


def import_runtime() -> Any:
    """Return onnxruntime, told first to collect nothing about this machine: by default it does, on import."""
    forbid_telemetry()
    try:
        import onnxruntime  # noqa: PLC0415 - heavy and optional
    except ImportError as exc:
        raise EmbedderUnavailable(
            "the model pack 'e5-small' needs onnxruntime, which is not installed",
            hint="pip install 'engramdb[models]'",
        ) from exc
    return onnxruntime
