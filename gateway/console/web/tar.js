// A tar archive (POSIX ustar) of text files. Names are short and plain, which the format needs.

const BLOCK = 512;
const encoder = new TextEncoder();

function header(name, size) {
  const block = new Uint8Array(BLOCK);
  const put = (text, at) => block.set(encoder.encode(text), at);
  const octal = (number, digits) => `${number.toString(8).padStart(digits, '0')}\0`;
  put(name, 0);
  put(octal(0o644, 7), 100);
  put(octal(0, 7), 108);
  put(octal(0, 7), 116);
  put(octal(size, 11), 124);
  put(octal(0, 11), 136);
  put('        ', 148); // The checksum counts itself as blanks.
  put('0', 156);
  put('ustar\x0000', 257);
  put(octal(block.reduce((sum, byte) => sum + byte, 0), 6), 148);
  return block;
}

/** `files` maps names of at most 100 bytes to texts. */
export function tar(files) {
  const blocks = [];
  for (const [name, text] of files) {
    const bytes = encoder.encode(text);
    const content = new Uint8Array(Math.ceil(bytes.length / BLOCK) * BLOCK);
    content.set(bytes);
    blocks.push(header(name, bytes.length), content);
  }
  blocks.push(new Uint8Array(2 * BLOCK));
  const all = new Uint8Array(blocks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const block of blocks) {
    all.set(block, at);
    at += block.length;
  }
  return all;
}
