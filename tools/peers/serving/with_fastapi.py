"""with_fastapi.py: the server that most people write: FastAPI, an image decoded and computed in the thread pool.

    MODEL=b0.onnx THREADS=1 uvicorn with_fastapi:app --workers 2
"""
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool

import embedder

app = FastAPI()
session = embedder.open_session()


def answer(body):
    return {"embeddings": embedder.embed(session, [embedder.prepare(body)]).tolist()}


@app.post("/embed")
async def embed(request: Request):
    return await run_in_threadpool(answer, await request.body())
