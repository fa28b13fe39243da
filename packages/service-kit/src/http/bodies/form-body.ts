import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { ApiError } from '@customer-platform/contracts/core';
import { Busboy } from '@fastify/busboy';

/** A received form: its parts by name, each a string or a `File`, or the error that makes it invalid. */
export interface ReceivedForm {
  parts: Record<string, unknown>;
  /** Hash of the parts, independent of their order and the boundary, so that equal forms have equal hashes. */
  fingerprint: Buffer;
  error?: ApiError;
}

/** Limits of a form, which holds a file and a few fields. */
const limits = { parts: 20, files: 1, fieldSize: 65_536, headerPairs: 20, headerSize: 8_192 };

/** Bytes passed to the parser at a time, so that it stops early on a form with too many parts. */
const pieceBytes = 65_536;
/** Bytes of a part that the parser buffers. The parser never ends if the last piece of a skipped part is larger. */
const fileHwm = 2 * pieceBytes;
/** Deadline of the parser, which usually takes milliseconds, in case it never ends. */
const parserMs = 10_000;

/** Reads a multipart/form-data body. Never throws; reports a fault in `error`. */
export async function readForm(body: Buffer, contentType = ''): Promise<ReceivedForm> {
  const parts: Record<string, unknown> = {};
  const prints: string[] = [];
  try {
    if (!/^multipart\/form-data\s*;/i.test(contentType)) throw notAForm();
    const parser = new Busboy({ headers: { 'content-type': contentType }, preservePath: true, limits, fileHwm });
    const refuse = (name: string, rule: string) =>
      parser.destroy(new ApiError('invalid_request', `${name} ${rule}`, { field: name }));
    const add = (name: string, value: string | File, bytes: Buffer) => {
      const fileName = typeof value === 'string' ? null : value.name;
      prints.push(JSON.stringify([name, fileName, sha256(bytes).toString('hex')]));
      if (Object.hasOwn(parts, name)) refuse(name, 'must be given once');
      else Object.defineProperty(parts, name, { value, enumerable: true });
    };
    let lastFile = '';
    parser
      .on('file', (name, stream, fileName) => {
        lastFile = name;
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const bytes = Buffer.concat(chunks);
          add(name, new File([bytes], fileName ?? ''), bytes);
        });
        stream.on('error', (error) => parser.destroy(error));
      })
      .on('field', (name, value, _, isCut) => {
        if (isCut) refuse(name, `must be at most ${limits.fieldSize} bytes`);
        else add(name, value, Buffer.from(value));
      })
      .on('partsLimit', () => refuse('body', `must have at most ${limits.parts} parts`))
      .on('filesLimit', () => refuse(lastFile, 'must be given once'));
    await pipeline(piecesOf(body), parser, { signal: AbortSignal.timeout(parserMs) });
    return { parts, fingerprint: sha256(prints.sort().join('\n')) };
  } catch (cause) {
    const error = cause instanceof ApiError ? cause : notAForm(cause);
    return { parts: {}, fingerprint: sha256(body), error };
  }
}

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += pieceBytes) yield body.subarray(at, at + pieceBytes);
}

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest();

function notAForm(cause?: unknown): ApiError {
  const message = 'body must be multipart/form-data, complete, with its boundary in Content-Type';
  return new ApiError('invalid_request', message, { field: 'body', cause });
}
