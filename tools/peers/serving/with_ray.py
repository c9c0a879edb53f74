"""with_ray.py: Ray Serve with dynamic batching, as its documentation shows it.

    MODEL=b0.onnx THREADS=2 PORT=8000 python3 with_ray.py
"""
import asyncio
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import ray
from ray import serve
from starlette.requests import Request

import embedder


@serve.deployment(num_replicas=int(os.environ.get("REPLICAS", "1")), max_ongoing_requests=64,
                  ray_actor_options={"num_cpus": 1})
class Embedder:
    def __init__(self):
        self.session = embedder.open_session()
        self.decoders = ThreadPoolExecutor(2)

    @serve.batch(max_batch_size=8, batch_wait_timeout_s=0.005)
    async def embed(self, bodies):
        loop = asyncio.get_running_loop()
        images = await asyncio.gather(*(loop.run_in_executor(self.decoders, embedder.prepare, b) for b in bodies))
        rows = await loop.run_in_executor(self.decoders, embedder.embed, self.session, images)
        return [{"embeddings": [row.tolist()]} for row in rows]

    async def __call__(self, request: Request):
        return await self.embed(await request.body())


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    serve.start(http_options={"host": "127.0.0.1", "port": int(os.environ["PORT"])})
    serve.run(Embedder.bind(), route_prefix="/embed")
    print("ready", flush=True)
    signal.sigwait([signal.SIGTERM, signal.SIGINT])
    serve.shutdown()
    ray.shutdown()
