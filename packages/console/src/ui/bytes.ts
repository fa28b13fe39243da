/** A hex dump shows at most this many bytes. */
export const maxDumpBytes = 16_384;
const lineBytes = 16;

/** Returns the bytes of a base64 string. Throws if it is not base64. */
export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Returns a hex dump. Each line has the offset, 16 bytes in hex, and the printable ASCII characters. */
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

/** Returns indented JSON; any other text unchanged. */
export function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
