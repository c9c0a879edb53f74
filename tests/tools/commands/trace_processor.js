// trace_processor.js FOLDER: Perfetto's trace processor, the WebAssembly module in FOLDER that its page runs in a
// worker of a browser, here in node. Its messages (TraceProcessorRpcStream) come in on stdin and go out on stdout.
'use strict';
const fs = require('fs'), path = require('path');
const folder = process.argv[2];
const worker = { location: { href: 'http://localhost/' } };
const quiet = { log() {}, warn() {}, error() {} };
class Request { // it asks for the module's own bytes, and waits for them
    open(method, url) { this.file = path.join(folder, path.basename(url)); }
    send() { this.response = new Uint8Array(fs.readFileSync(this.file)); }
}

// The names that tell it what it runs in: a worker, not node.
const around = {
    self: worker, location: worker.location, WorkerGlobalScope() {}, importScripts() {}, process: undefined,
    window: undefined, XMLHttpRequest: Request, console: quiet,
};
new Function(...Object.keys(around), fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'))(
    ...Object.values(around));

const answer = (bytes) => { // all of it, also to a pipe that is full
    for (let at = 0; at < bytes.length;) {
        try {
            at += fs.writeSync(1, bytes, at);
        } catch (e) {
            if (e.code !== 'EAGAIN') throw e;
        }
    }
};
const port = { postMessage: answer };
worker.onmessage({ data: port });
let before = Promise.resolve();
process.stdin.on('data', (chunk) => {
    before = before.then(() => port.onmessage({ data: new Uint8Array(chunk) }));
});
