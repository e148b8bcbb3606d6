"""Writes pytorch_*.safetensors: weights, inputs and results of PyTorch's networks, which pytorch_spec.lua compares.

    python3 tests/stdlib/pytorch_cases.py

Run it again after a change of the networks; the tests themselves need no Python. `write` follows the README of the
safetensors package, and so needs only PyTorch (Debian: python3-torch). pytorch_saved.safetensors is the file that
net:save must write; this script checks that load_state_dict accepts it."""

import json
import pathlib
import struct

import torch
from torch import nn

here = pathlib.Path(__file__).parent

# From the largest alignment to the smallest, the order of tensors in files of the package.
TYPES = [
    (torch.int64, "I64"), (torch.float64, "F64"), (torch.float32, "F32"), (torch.int32, "I32"),
    (torch.bfloat16, "BF16"), (torch.float16, "F16"), (torch.int16, "I16"), (torch.int8, "I8"),
    (torch.uint8, "U8"), (torch.bool, "BOOL"),
]


def raw_bytes(t):
    t = t.detach().contiguous()
    if t.dtype == torch.bfloat16:
        return t.view(torch.int16).numpy().tobytes()
    return t.numpy().tobytes()


def write(name, tensors, metadata=None):
    order = [dtype for dtype, _ in TYPES]
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for key in sorted(tensors, key=lambda key: (order.index(tensors[key].dtype), key)):
        t, begin = tensors[key], len(data)
        data += raw_bytes(t)
        header[key] = {"dtype": dict(TYPES)[t.dtype], "shape": list(t.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    (here / name).write_bytes(struct.pack("<Q", len(text)) + text + data)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 4, (3, 2), groups=2)
        self.bn1 = nn.BatchNorm2d(4)
        self.fc1 = nn.Linear(16, 5)
        self.bn2 = nn.BatchNorm1d(5)
        self.fc2 = nn.Linear(5, 4)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.flatten(nn.functional.max_pool2d(x, 2), 1)
        return self.fc2(torch.tanh(self.bn2(self.fc1(x))))


def without_counts(state):
    return {key: t for key, t in state.items() if not key.endswith("num_batches_tracked")}


torch.manual_seed(7)
net = Net()
x = torch.randn(6, 2, 7, 6)
for _ in range(3):
    net(torch.randn(32, 2, 7, 6) * 2 + 1)  # running statistics
net.eval()
y = net(x)
write("pytorch_net.safetensors", net.state_dict(), {"format": "pt"})

saved = without_counts(net.state_dict())
write("pytorch_saved.safetensors", saved, {"actorhost.dropout.batches": "0", "format": "pt"})
other = Net()
other.load_state_dict(saved)
assert torch.equal(other.eval()(x), y)

chain = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
x3 = torch.randn(5, 3)
write("pytorch_sequential.safetensors", chain.state_dict(), {"format": "pt"})
write("pytorch_results.safetensors", {"net.x": x, "net.y": y, "sequential.x": x3, "sequential.y": chain(x3)})

values = torch.tensor([0.0, 1.0, -2.5, 100.0])
write("pytorch_types.safetensors", {
    "größe": torch.tensor(3.5),
    "empty": torch.zeros(2, 0, 3),
    "f64": values.double(), "f32": values, "f16": values.half(), "bf16": values.bfloat16(),
    "i64": torch.tensor([-(2**62), 5]), "i32": torch.tensor([-(2**31), 5], dtype=torch.int32),
    "i16": torch.tensor([-(2**15), 5], dtype=torch.int16), "i8": torch.tensor([-128, 5], dtype=torch.int8),
    "u8": torch.tensor([255, 5], dtype=torch.uint8), "bool": torch.tensor([True, False]),
}, {"by": "PyTorch", "a": "b"})
