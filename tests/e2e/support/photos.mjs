// Pictures as cameras make them: too large for four of them to fit into one event.

import { createHash } from 'node:crypto';
import zlib from 'node:zlib';

function chunk(type, data) {
    const body = Buffer.concat([Buffer.from(type), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
}

const table = Array.from({ length: 256 }, (_, n) => {
    let crc = n;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    return crc;
});

function crc32(bytes) {
    let crc = ~0;
    for (const byte of bytes) crc = (crc >>> 8) ^ table[(crc ^ byte) & 0xff];
    return ~crc >>> 0;
}

/// A PNG of 3 MB that a browser shows; another one for each `seed`.
export function photo(seed) {
    const [width, height] = [1000, 1000];
    const header = Buffer.alloc(13);
    header.writeUInt32BE(width, 0);
    header.writeUInt32BE(height, 4);
    header.set([8, 2], 8); // 8 bits, red green blue
    const rows = Buffer.alloc(height * (1 + width * 3));
    for (let at = 0, value = seed; at < rows.length; at += 1) {
        value = (Math.imul(value, 1_103_515_245) + 12_345) >>> 0;
        rows[at] = at % (1 + width * 3) === 0 ? 0 : value >>> 24;
    }
    const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const pixels = zlib.deflateSync(rows, { level: 0 });
    const bytes = Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]);
    return { base64: bytes.toString('base64'), sha256: createHash('sha256').update(bytes).digest('hex') };
}

/// The content of a user message that shows it.
export function contentWith(text, { base64 }) {
    return [{ type: 'text', text }, { type: 'image', source: { type: 'data', value: base64, mimeType: 'image/png' } }];
}
