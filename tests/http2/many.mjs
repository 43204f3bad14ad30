// One connection, many watches, requests beside them, and the end of the server.
//   many.mjs URL CA CERT KEY WATCHES      prints a line for each step; "stop" on stdin is waited for before the end
import http2 from 'node:http2';
import { readFileSync } from 'node:fs';

const [url, ca, cert, key, count] = process.argv.slice(2);
const c = http2.connect(url, { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) });
c.on('error', (e) => console.log('error', e.code));
c.on('goaway', (code) => console.log('goaway', code));
c.on('close', () => console.log('closed'));
await new Promise((done) => c.once('remoteSettings', done));
console.log('alpn', c.alpnProtocol, 'streams', c.remoteSettings.maxConcurrentStreams);

function ask(path, method = 'GET', body) {
  return new Promise((done, fail) => {
    const r = c.request({ ':path': path, ':method': method, 'content-type': 'application/json' });
    let status, text = '';
    r.on('response', (h) => (status = h[':status']));
    r.setEncoding('utf8');
    r.on('data', (d) => (text += d));
    r.on('end', () => done({ status, text }));
    r.on('error', fail);
    r.end(body);
  });
}

const seen = new Set();
let ended = 0;
for (let i = 0; i < Number(count); i++) {
  const r = c.request({ ':path': '/api/v1/namespaces/default/configmaps?watch=true' });
  r.setEncoding('utf8');
  r.on('data', (d) => d.includes('"by-h2"') && seen.add(i));
  r.on('end', () => ended++);
  r.on('error', () => 0);
}
const made = await ask('/api/v1/namespaces/default/configmaps', 'POST',
  JSON.stringify({ metadata: { name: 'by-h2' }, data: { a: 'x'.repeat(900000) } }));
console.log('made', made.status);
const end = Date.now() + 30000;
while (seen.size < Number(count) && Date.now() < end) {
  await new Promise((r) => setTimeout(r, 20));
}
console.log('seen', seen.size);
const got = await ask('/api/v1/namespaces/default/configmaps/by-h2');
console.log('got', got.status, got.text.length > 900000);
process.stdin.once('data', () => 0);
await new Promise((r) => c.once('close', r));
console.log('ended', ended);
process.exit(0);
