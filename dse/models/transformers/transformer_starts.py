"""Questions to start from about public decoders: Llama 2 of 7B parameters to train, Llama 3 of 70B to serve."""

from __future__ import annotations

from dse.models.shared.starts import Start

# arXiv 2307.09288, table 1 and section 2.2: steps of 4 million tokens, 2 trillion in all
TRAINING = Start(
    title="Fastest plan to train 7 billion parameters on 64 devices",
    minimize="time",
    machine='"dgx-h100-bf16"',
    given={
        "layers": "32",
        "hidden": "4096",
        "heads": "32",
        "kv_heads": "32",
        "ffn": "11008",
        "gated": '"on"',
        "vocabulary": "32000",
        "sequence": "4096",
        "global_batch": "1024",
        "tokens": "2e12",
        "sequence_parallel": '"on"',
        "zero": '"1"',
    },
    decide={
        "micro_batch": '{ divides = "global_batch", max = 8 }',
        "data_parallel": '{ divides = "global_batch" }',
        "tensor_parallel": '{ divides = ["heads", "kv_heads"] }',
        "pipeline_parallel": '{ divides = "layers" }',
        "recomputation": "{}",
    },
    limits={"devices": "{ max = 64 }"},
    kept={
        "time": '{ max = "90 day" }',
        "power": '{ max = "100 kW" }',
        "energy": '{ max = "200 MWh" }',
        "device_memory": '{ max = "80 GB" }',
        "model_flops_utilisation": "{ min = 0.3 }",
    },
    axis=("cluster", "limits.devices.max", "16", "1024", 7),
    uncertain={"machine.matrix_efficiency": "{ uniform = [0.5, 0.8] }"},
)
# arXiv 2407.21783, table 3
SERVING = Start(
    title="Machine, split and batch that serve 20 requests per second of 70 billion parameters with the least energy",
    minimize="energy_per_token",
    given={
        "layers": "80",
        "hidden": "8192",
        "heads": "64",
        "kv_heads": "8",
        "head_size": "128",
        "ffn": "28672",
        "gated": '"on"',
        "vocabulary": "128256",
        "prompt": "1000",
        "output": "250",
        "request_rate": '"20 1/s"',
    },
    decide={
        "machine": '{ values = ["a100-sxm-80gb-measured", "h100-sxm-measured"] }',
        "tensor_parallel": '{ divides = ["heads", "kv_heads"] }',
        "replicas": "{ max = 64 }",
        "batch": "{ powers_of = 2, max = 512 }",
    },
    limits={"time_to_first_token": '{ max = "1 s" }', "time_per_output_token": '{ max = "50 ms" }'},
    kept={
        "devices": "{ max = 128 }",
        "power": '{ max = "50 kW" }',
        "energy_per_token": '{ max = "20 J" }',
        "latency": '{ max = "20 s" }',
    },
    axis=("deadline", "limits.time_per_output_token.max", '"25 ms"', '"100 ms"', 5),
    uncertain={"request_rate": '{ loguniform = ["10 1/s", "40 1/s"] }'},
)
