// Makes a screenshot small: the 256 colours that say it best, and the strongest deflate. PNG in, PNG out.

import { deflateSync, inflateSync } from 'node:zlib';

const CRC = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) {
    n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  }
  return n >>> 0;
});

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  let c = 0xffffffff;
  for (const b of body) {
    c = CRC[(c ^ b) & 255] ^ (c >>> 8);
  }
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE((c ^ 0xffffffff) >>> 0, body.length + 4);
  return out;
}

// Pixels as 0xRRGGBB. What Chromium writes: 8 bits a channel, RGB or RGBA, not interlaced.
function decode(png) {
  let at = 8;
  let head;
  const parts = [];
  while (at < png.length) {
    const n = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + n);
    if (type === 'IHDR') {
      head = { w: data.readUInt32BE(0), h: data.readUInt32BE(4), bits: data[8], color: data[9], lace: data[12] };
    } else if (type === 'IDAT') {
      parts.push(data);
    }
    at += n + 12;
  }
  if (head.bits !== 8 || ![2, 6].includes(head.color) || head.lace) {
    throw new Error('not a PNG of a browser');
  }
  const raw = inflateSync(Buffer.concat(parts));
  const step = head.color === 6 ? 4 : 3;
  const row = head.w * step;
  const out = new Uint32Array(head.w * head.h);
  let above = Buffer.alloc(row);
  for (let y = 0; y < head.h; y++) {
    const filter = raw[y * (row + 1)];
    const line = Buffer.from(raw.subarray(y * (row + 1) + 1, (y + 1) * (row + 1)));
    for (let x = 0; x < row; x++) {
      const a = x >= step ? line[x - step] : 0;
      const b = above[x];
      const c = x >= step ? above[x - step] : 0;
      let p = 0;
      if (filter === 1) {
        p = a;
      } else if (filter === 2) {
        p = b;
      } else if (filter === 3) {
        p = (a + b) >> 1;
      } else if (filter === 4) {
        const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
        p = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      }
      line[x] = (line[x] + p) & 255;
    }
    for (let x = 0; x < head.w; x++) {
      out[y * head.w + x] = (line[x * step] << 16) | (line[x * step + 1] << 8) | line[x * step + 2];
    }
    above = line;
  }
  return { w: head.w, h: head.h, pixels: out };
}

const part = (c, i) => (c >> (16 - 8 * i)) & 255;

// The widest box, weighed by its pixels, is cut at its median until there are enough.
function palette(counts, most) {
  const boxOf = (list) => {
    let n = 0;
    let best = 0;
    let axis = 0;
    for (const [, k] of list) {
      n += k;
    }
    for (let i = 0; i < 3; i++) {
      let sum = 0;
      let square = 0;
      for (const [c, k] of list) {
        sum += part(c, i) * k;
        square += part(c, i) ** 2 * k;
      }
      const spread = square - (sum * sum) / n;
      if (spread > best) {
        best = spread;
        axis = i;
      }
    }
    return { list, n, axis, spread: Math.sqrt(best) };
  };
  const boxes = [boxOf([...counts])];
  while (boxes.length < most) {
    boxes.sort((a, b) => b.spread - a.spread);
    const box = boxes[0];
    if (!box || box.list.length < 2) {
      break;
    }
    box.list.sort((a, b) => part(a[0], box.axis) - part(b[0], box.axis));
    let seen = 0;
    let cut = 0;
    while (cut < box.list.length - 1 && seen < box.n / 2) {
      seen += box.list[cut++][1];
    }
    boxes.splice(0, 1, boxOf(box.list.slice(0, cut)), boxOf(box.list.slice(cut)));
  }
  // Each box gives its most frequent colour, so that large areas keep theirs exactly.
  return boxes.map((b) => b.list.reduce((x, y) => (y[1] > x[1] ? y : x))[0]);
}

export function small(png) {
  const { w, h, pixels } = decode(png);
  const counts = new Map();
  for (const p of pixels) {
    counts.set(p, (counts.get(p) ?? 0) + 1);
  }
  const colors = counts.size <= 256 ? [...counts.keys()] : palette(counts, 256);
  const near = new Map();
  const nearest = (c) => {
    let best = 0;
    let far = Infinity;
    colors.forEach((q, i) => {
      const d = (part(c, 0) - part(q, 0)) ** 2 + (part(c, 1) - part(q, 1)) ** 2 + (part(c, 2) - part(q, 2)) ** 2;
      if (d < far) {
        far = d;
        best = i;
      }
    });
    near.set(c, best);
    return best;
  };
  const raw = Buffer.alloc((w + 1) * h);
  for (let y = 0; y < h; y++) {
    for (let x = 0; x < w; x++) {
      const c = pixels[y * w + x];
      raw[y * (w + 1) + 1 + x] = near.get(c) ?? nearest(c);
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(w, 0);
  head.writeUInt32BE(h, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const table = Buffer.from(colors.flatMap((c) => [part(c, 0), part(c, 1), part(c, 2)]));
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk('IHDR', head), chunk('PLTE', table),
    chunk('IDAT', deflateSync(raw, { level: 9, memLevel: 9 })), chunk('IEND', Buffer.alloc(0)),
  ]);
}
