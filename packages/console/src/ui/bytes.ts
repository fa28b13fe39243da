/** Bytes that a dump shows at most. */
export const maxDumpBytes = 16_384;
const lineBytes = 16;

/** Returns bytes given in base64. Throws if they are not. */
export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Returns a dump: the offset, sixteen bytes in hex, and the printable ASCII among them, line by line. */
export function hexDump(bytes: Uint8Array): string {
  const shown = bytes.subarray(0, maxDumpBytes);
  const lines: string[] = [];
  for (let offset = 0; offset < shown.length; offset += lineBytes) {
    const line = [...shown.subarray(offset, offset + lineBytes)];
    const hex = line.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = line.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${offset.toString(16).padStart(6, '0')}  ${hex.padEnd(lineBytes * 3 - 1)}  ${text}`);
  }
  return lines.join('\n');
}

/** Returns JSON with its members on lines of their own; other text as it is. */
export function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
