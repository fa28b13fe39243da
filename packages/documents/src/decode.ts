import { isUtf8 } from 'node:buffer';
import { TextDecoder } from '@exodus/bytes/encoding.js';
import { getBOMEncoding, labelToName } from '@exodus/bytes/encoding-lite.js';
import sniffHtmlEncoding from 'html-encoding-sniffer';
import { plainEncoding } from './encoding.ts';
import { Unreadable } from './pieces.ts';

/** Bytes in which a page may declare its encoding. The standard says 1,024, but browsers also find a later declaration while they parse. */
const maxPrescanBytes = 16_384;

/**
 * Decodes a web page as the HTML standard says. Its byte order mark, `charset` (the label in the HTTP header), its meta elements or its
 * XML declaration gives the encoding. An unknown label is ignored. Without any label, the bytes decide. Throws Unreadable.
 */
export function decodedPage(bytes: Buffer, charset?: string): string {
  const defaultEncoding = detectedEncoding(bytes) ?? 'windows-1252';
  const stated = charset === undefined ? {} : { transportLayerEncodingLabel: charset };
  return decoded(bytes, sniffHtmlEncoding(bytes, { ...stated, defaultEncoding, maxPrescanBytes }));
}

/** Decodes plain text. Its byte order mark decides the encoding, else `charset`, else its bytes. Throws Unreadable. */
export function decodedText(bytes: Buffer, charset = ''): string {
  const encoding = getBOMEncoding(bytes) ?? labelToName(charset) ?? detectedEncoding(bytes);
  if (!encoding) throw new Unreadable('It is not text in UTF-8, UTF-16 or windows-1252');
  return decoded(bytes, encoding);
}

/** Returns the encoding detected from the bytes, if any. */
const detectedEncoding = (bytes: Buffer) => plainEncoding(bytes) ?? (isUtf8(bytes) ? 'utf-8' : undefined);

/** Node's own decoder lacks characters of euc-kr, big5 and euc-jp that the Encoding standard has. */
function decoded(bytes: Buffer, encoding: string): string {
  try {
    return new TextDecoder(encoding).decode(bytes);
  } catch (cause) {
    throw new Unreadable('Its encoding is not supported', { cause });
  }
}
