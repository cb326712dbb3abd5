"""
Write the encoder of e5-small as a compact network of 8 bits, with or without adapters merged into it.

The published graph spells attention and the activation out in forty nodes a layer; this one has ten, and
gives the same states to six digits before it is quantized. Weights get 7 bits and a scale per column, because
older x86 processors overflow on 8; before that, what is large in the activations is moved into the weights
(smoothing), which halves the error of quantizing. Measured in docs/lab/0036-reader.md. Only `models add` runs
this; it needs `onnx`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx

Floats: TypeAlias = NDArray[np.float32]
Weights: TypeAlias = Mapping[str, Floats]

LAYERS: Final = 12
ATTENTION_HEADS: Final = 12
WIDTH: Final = 384
NORM_EPSILON: Final = 1e-12
MEAN_LENGTH: Final = 8.0
"""Length that the mean of a text's states is given, so that products of two are not tiny beside a state."""
OPSET: Final = 18
IR_VERSION: Final = 10
WEIGHT_STEPS: Final = 63  # 7 bits with a sign
WORD_STEPS: Final = 127
FUSED: Final = "com.microsoft"
"""The domain of onnxruntime's own operators."""

MATRICES: Final = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
"""The matrices of a layer, in the order in which the published graph multiplies with them."""
PRODUCTS: Final = {
    "attend": MATRICES[:3],
    "mix": MATRICES[3:4],
    "widen": MATRICES[4:5],
    "narrow": MATRICES[5:],
}
"""The products of a layer; those of query, key and value are one."""
NORMS: Final = ("attention.output.LayerNorm", "output.LayerNorm")


def matrix_names() -> list[str]:
    """Return the names of all matrices of the layers, in the order of the published graph."""
    return [f"encoder.layer.{layer}.{name}" for layer in range(LAYERS) for name in MATRICES]


def read_weights(graph: Path) -> dict[str, Floats]:
    """Return every weight of the published graph by name; matrices are `[inputs, outputs]`."""
    import onnx  # noqa: PLC0415 - heavy and optional
    from onnx import numpy_helper  # noqa: PLC0415

    network: Any = onnx.load(str(graph))
    arrays = {one.name: numpy_helper.to_array(one) for one in network.graph.initializer}
    named = {name: array for name, array in arrays.items() if name.startswith(("embeddings.", "encoder."))}
    multiplied = [node.input[1] for node in network.graph.node if node.op_type == "MatMul"]
    matrices = [name for name in multiplied if name in arrays]
    for name, key in zip(matrix_names(), matrices, strict=True):
        named[f"{name}.weight"] = arrays[key]
    return {name: np.asarray(array, np.float32) for name, array in named.items()}


def merged(weights: Weights, adapters: Weights) -> dict[str, Floats]:
    """
    Return the weights with adapters in them.

    An adapter of a matrix is two thin ones, `….down` and `….up`, whose product is added to it; anything else
    takes the place of the weight of its name.
    """
    found = dict(weights)
    for name, array in adapters.items():
        stem, _, end = name.rpartition(".")
        if end == "up":
            found[f"{stem}.weight"] = weights[f"{stem}.weight"] + adapters[f"{stem}.down"] @ array
        elif end != "down":
            found[name] = array
    return found


def write_graph(
    weights: Weights, target: Path, *, smoothing: Mapping[str, Floats] | None = None, quantize: bool = True
) -> Path:
    """Write the network to a file and return its path; without `quantize` in 32 bits, to compare with."""
    import onnx  # noqa: PLC0415 - heavy and optional

    graph = _Graph(weights, smoothing or {}, is_quantized=quantize)
    onnx.save(graph.model(), str(target))
    return target


class _Graph:
    """Collects nodes and constants."""

    def __init__(self, weights: Weights, smoothing: Mapping[str, Floats], *, is_quantized: bool) -> None:
        self._weights = weights
        self._smoothing = smoothing
        self._is_quantized = is_quantized
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> onnx.ModelProto:
        """Return the whole network: token ids and positions in, one state per token out."""
        from onnx import TensorProto, helper  # noqa: PLC0415

        x = self._embeddings()
        for layer in range(LAYERS):
            x = self._layer(x, layer)
        self._node("Identity", [x], "states")
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, [1, "n"]) for name in ("tokens", "places")
        ]
        output = helper.make_tensor_value_info("states", TensorProto.FLOAT, [1, "n", WIDTH])
        graph = helper.make_graph(self._nodes, "encoder", inputs, [output], self._constants)
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
        model = helper.make_model(graph, opset_imports=domains, producer_name="engramdb")
        model.ir_version = IR_VERSION
        return model

    def _embeddings(self) -> str:
        types = self._weights["embeddings.token_type_embeddings.weight"][0]
        positions = self._weights["embeddings.position_embeddings.weight"] + types
        places = self._node("Gather", [self._constant("positions", positions), "places"], "placed")
        return self._norm(self._words(), places, "embeddings.LayerNorm", "embedded")

    def _words(self) -> str:
        """Look the words up; quantized row by row, since frequent words are much shorter than rare ones."""
        from onnx import TensorProto  # noqa: PLC0415

        table = self._weights["embeddings.word_embeddings.weight"]
        if not self._is_quantized:
            return self._node("Gather", [self._constant("words", table), "tokens"], "looked_up")
        scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-8) / WORD_STEPS
        rows = self._constant("words", np.round(table / scale).astype(np.int8))
        scales = self._constant("word_scales", scale.astype(np.float32))
        gathered = self._node("Gather", [rows, "tokens"], "rows")
        wide = self._node("Cast", [gathered], "wide_rows", to=TensorProto.FLOAT)
        return self._node("Mul", [wide, self._node("Gather", [scales, "tokens"], "row_scales")], "looked_up")

    def _layer(self, x: str, layer: int) -> str:
        prefix = f"encoder.layer.{layer}."
        together = self._product(x, layer, "attend")
        parts = [f"{layer}.{name}" for name in ("query", "key", "value")]
        self._node("Split", [together], *parts, axis=2, num_outputs=3)
        attended = self._node(
            "MultiHeadAttention", parts, f"{layer}.attended", domain=FUSED, num_heads=ATTENTION_HEADS
        )
        mixed = self._product(attended, layer, "mix")
        x = self._norm(x, mixed, prefix + NORMS[0], f"{layer}.between")
        active = self._node("Gelu", [self._product(x, layer, "widen")], f"{layer}.active", domain=FUSED)
        return self._norm(x, self._product(active, layer, "narrow"), prefix + NORMS[1], f"{layer}.done")

    def _product(self, x: str, layer: int, product: str) -> str:
        name = f"{layer}.{product}"
        parts = [f"encoder.layer.{layer}.{one}" for one in PRODUCTS[product]]
        matrix = np.concatenate([self._weights[f"{one}.weight"] for one in parts], axis=1)
        biases = np.concatenate([self._weights[f"{one}.bias"] for one in parts])
        if product == "attend" and self._is_quantized and f"{layer}.mix" in self._smoothing:
            # Attention is linear in the values, so their columns can be smoothed for the next product.
            values = np.ones(len(biases), np.float32)
            values[2 * WIDTH :] = 1 / self._smoothing[f"{layer}.mix"]
            matrix, biases = matrix * values, biases * values
        bias = self._constant(f"{name}.bias", biases)
        if not self._is_quantized:
            plain = self._node("MatMul", [x, self._constant(f"{name}.matrix", matrix)], f"{name}.product")
            return self._node("Add", [plain, bias], f"{name}.out")
        if name in self._smoothing:
            smooth = self._smoothing[name].astype(np.float32)
            matrix = matrix * smooth[:, None]
            if product != "mix":  # what it multiplies with comes smoothed out of the attention
                x = self._node("Mul", [x, self._constant(f"{name}.smooth", 1 / smooth)], f"{name}.smoothed")
        scale = np.maximum(np.abs(matrix).max(axis=0), 1e-8) / WEIGHT_STEPS
        quantized = [
            self._constant(f"{name}.matrix", np.round(matrix / scale).astype(np.int8)),
            self._constant(f"{name}.scale", scale.astype(np.float32)),
            self._constant(f"{name}.zero", np.zeros(matrix.shape[1], np.int8)),
        ]
        return self._node("DynamicQuantizeMatMul", [x, *quantized, bias], f"{name}.out", domain=FUSED)

    def _norm(self, x: str, added: str, name: str, out: str) -> str:
        gain, bias = (
            self._constant(f"{name}.{one}", self._weights[f"{name}.{one}"]) for one in ("weight", "bias")
        )
        total = self._node("Add", [x, added], f"{out}.sum")  # the fused operator is five times slower
        return self._node("LayerNormalization", [total, gain, bias], out, epsilon=NORM_EPSILON)

    def _node(self, operator: str, inputs: list[str], *outputs: str, domain: str = "", **fields: Any) -> str:
        from onnx import helper  # noqa: PLC0415

        self._nodes.append(helper.make_node(operator, inputs, list(outputs), domain=domain, **fields))
        return outputs[0]

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        from onnx import numpy_helper  # noqa: PLC0415

        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name
