import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { ApiError } from '@customer-platform/contracts/core';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { withTimeout } from '../../values/with-timeout.ts';

/** A form as it came: its parts by their names, each a text or a `File`, or why it is none. */
export interface ReceivedForm {
  parts: Record<string, unknown>;
  /** Of the parts, whatever their order and the boundary between them: the same form has the same one. */
  fingerprint: Buffer;
  error?: ApiError;
}

/** Bounds of a form, which is meant for a file and a few fields. */
const limits = { parts: 20, files: 1, fieldSize: 65_536, headerPairs: 20, headerSize: 8_192 };

/** Bytes of a part that wait in the parser: more than come in one piece. It never ends where the last piece of a part that it passes over is larger. */
const fileHwm = 33_554_432;
/** Time that the parser has for what it was given: it takes some milliseconds, and a permit is not held for one that never ends. */
const parserMs = 10_000;

/** Storage of a form's file: one of `smallBytes` or fewer has a buffer of its own, a larger one that which `large` returns. */
export interface FileSpace {
  smallBytes: number;
  large(): Buffer;
}

/**
 * Reads a multipart/form-data body as it comes; a file in it is in memory once, and its bytes are there as long as its space is. What is
 * wrong with the form is in its `error`: only what `chunks` throws is thrown.
 */
export async function readForm(
  chunks: AsyncIterable<Buffer>,
  contentType: string | undefined,
  space: FileSpace,
): Promise<ReceivedForm> {
  const form = new FormReader(contentType, space);
  for await (const chunk of chunks) await form.take(chunk);
  return await form.end();
}

class FormReader {
  readonly #space: FileSpace;
  readonly #parser: BusboyInstance | undefined;
  readonly #parts: Record<string, unknown> = {};
  readonly #fingerprints: string[] = [];
  /** Of a form that cannot be read. */
  readonly #hashOfBytes = createHash('sha256');
  readonly #finished = Promise.withResolvers<void>();
  #file: string | undefined;
  #error: ApiError | undefined;

  constructor(contentType: string | undefined, space: FileSpace) {
    this.#space = space;
    this.#parser = this.#start(contentType);
  }

  async take(chunk: Buffer): Promise<void> {
    this.#hashOfBytes.update(chunk);
    if (this.#error || !this.#parser || this.#parser.write(chunk)) return;
    await this.#parsed(Promise.race([once(this.#parser, 'drain'), this.#finished.promise]));
  }

  async end(): Promise<ReceivedForm> {
    if (!this.#error) this.#parser?.end();
    await this.#parsed(this.#finished.promise);
    if (this.#error) return { parts: {}, fingerprint: this.#hashOfBytes.digest(), error: this.#error };
    const fingerprint = createHash('sha256').update(this.#fingerprints.sort().join('\n')).digest();
    return { parts: this.#parts, fingerprint };
  }

  async #parsed(work: Promise<unknown>): Promise<void> {
    await withTimeout(parserMs, work).catch((cause: unknown) => this.#fail(notAForm(cause)));
  }

  #start(contentType: string | undefined): BusboyInstance | undefined {
    try {
      if (!/^multipart\/form-data\s*;/i.test(contentType ?? '')) throw notAForm();
      return new Busboy({ headers: { 'content-type': contentType! }, preservePath: true, limits, fileHwm })
        .on('file', (name, stream, fileName) => this.#takeFile(name, stream, fileName))
        .on('field', (name, value, _, isCut) => {
          if (isCut) this.#refuse(name, `must be at most ${limits.fieldSize} bytes`);
          else this.#add(name, value, Buffer.from(value));
        })
        .on('partsLimit', () => this.#fail(tooManyParts()))
        .on('filesLimit', () => this.#refuse(this.#file!, 'must be given once'))
        .on('error', (cause: unknown) => this.#fail(notAForm(cause)))
        .on('finish', () => this.#finished.resolve());
    } catch (cause) {
      this.#fail(cause instanceof ApiError ? cause : notAForm(cause));
      return undefined;
    }
  }

  #takeFile(name: string, stream: BusboyFileStream, fileName: string): void {
    this.#file = name;
    const { smallBytes } = this.#space;
    let bytes: Buffer = Buffer.allocUnsafe(smallBytes);
    let length = 0;
    stream.on('data', (chunk: Buffer) => {
      if (length <= smallBytes && length + chunk.length > smallBytes) {
        const small = bytes.subarray(0, length);
        bytes = this.#space.large();
        small.copy(bytes);
      }
      length += chunk.copy(bytes, length);
    });
    stream.on('end', () => {
      const file = bytes.subarray(0, length);
      this.#add(name, new ReceivedFile(file, fileName ?? ''), file);
    });
    stream.on('error', (cause) => this.#fail(notAForm(cause)));
  }

  #add(name: string, value: string | File, bytes: Buffer): void {
    if (this.#error) return;
    const fileName = typeof value === 'string' ? null : value.name;
    const digest = createHash('sha256').update(bytes).digest('hex');
    this.#fingerprints.push(JSON.stringify([name, fileName, digest]));
    if (Object.hasOwn(this.#parts, name)) this.#refuse(name, 'must be given once');
    else Object.defineProperty(this.#parts, name, { value, enumerable: true });
  }

  #refuse(name: string, rule: string): void {
    this.#fail(new ApiError('invalid_request', `${name} ${rule}`, { field: name }));
  }

  /** The first thing that is wrong counts; nothing more is parsed. */
  #fail(error: ApiError): void {
    this.#error ??= error;
    this.#parser?.destroy();
    this.#finished.resolve();
  }
}

/** A file whose bytes are those that came, not a copy of them. */
class ReceivedFile extends File {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, name: string) {
    super([], name);
    this.#bytes = bytes;
    Object.defineProperty(this, 'size', { value: bytes.length });
  }

  override async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes as Buffer<ArrayBuffer>;
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(this.#bytes).buffer;
  }
}

function tooManyParts(): ApiError {
  const message = `body must have at most ${limits.parts} parts`;
  return new ApiError('invalid_request', message, { field: 'body' });
}

function notAForm(cause?: unknown): ApiError {
  const message =
    'body must be multipart/form-data, complete, with its boundary in Content-Type and without Content-Encoding';
  return new ApiError('invalid_request', message, { field: 'body', cause });
}
