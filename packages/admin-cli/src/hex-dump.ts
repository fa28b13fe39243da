const perLine = 16;

/** Returns the lines of a hex dump as xxd prints it: offset, sixteen bytes in pairs, and what of them is ASCII. */
export function hexDump(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let offset = 0; offset < bytes.length; offset += perLine) {
    const line = bytes.subarray(offset, offset + perLine);
    const pairs = line.toString('hex').match(/.{1,4}/g) ?? [];
    const characters = Array.from(line, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'));
    const position = offset.toString(16).padStart(8, '0');
    lines.push(`${position}: ${pairs.join(' ').padEnd(39)}  ${characters.join('')}`);
  }
  return lines;
}
