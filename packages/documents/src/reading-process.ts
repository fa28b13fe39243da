import { readFileSync } from 'node:fs';
import { type Child, startChild } from './child-program.ts';

/** All that a process says at once: what is kept of a document, as JSON. */
const maxSaidBytes = 16 * 1_048_576;
/** Small enough that a file on its way to the process is never in this one whole. */
const frameBytes = 1_048_576;

/** A process that ended, by itself or by others. */
export class ProcessEnded extends Error {}

interface Listener {
  resolve(said: unknown): void;
  reject(error: Error): void;
}

/** One process that reads documents: takes frames and says JSON in frames, as `extract-child.ts` says. Whatever it says is only data. */
export class ReadingProcess {
  readonly #child: Child;
  #listener: Listener | undefined;
  #hasEnded = false;
  #parts: Buffer[] = [];
  #size = 0;
  /** Milliseconds that it has spent on documents. */
  usedMs = 0;

  constructor(program?: readonly string[]) {
    this.#child = startChild(program);
    const { stdin, stdout } = this.#child;
    this.#child.once('error', () => this.#end()).once('exit', () => this.#end());
    stdout.on('data', (part: Buffer) => this.#take(part)).once('close', () => this.#end());
    // Nothing waits for a process that is not worth another's life.
    this.#child.unref();
    for (const pipe of [stdin, stdout]) (pipe as unknown as { unref?(): void }).unref?.();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** What it holds in memory, in bytes; 0 where that cannot be told (it has ended; no Linux). */
  get residentBytes(): number {
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, 'latin1');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
    } catch {
      return 0;
    }
  }

  /** Returns what it says next. Throws ProcessEnded where it ends before. Nobody else may be listening. */
  listen(): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#listener = { resolve, reject };
    if (this.#hasEnded) this.#end();
    return promise;
  }

  /** Hands bytes over in frames, each when the one before is gone; to a process that has ended it hands nothing. */
  async hand(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += frameBytes) await this.#frame(bytes.subarray(at, at + frameBytes));
  }

  /** Says that a document is whole. */
  async handEnd(): Promise<void> {
    await this.#frame(new Uint8Array(0));
  }

  /** Ends it at once. */
  kill(): void {
    this.#child.kill('SIGKILL');
    this.#end();
  }

  async #frame(bytes: Uint8Array): Promise<void> {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    const { stdin } = this.#child;
    stdin.write(length);
    await new Promise<void>((resolve) => {
      // Called with an error where it has ended: whoever listens is told.
      stdin.write(bytes, () => resolve());
    });
  }

  #take(part: Buffer): void {
    if (this.#hasEnded) return;
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#size < 4) return;
    const all = this.#parts[0]!.length >= 4 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const length = all.readUInt32BE();
    if (this.#size < 4 + length && length <= maxSaidBytes) return;
    const said = length <= maxSaidBytes ? parsed(Buffer.concat(this.#parts).subarray(4)) : undefined;
    const listener = this.#listener;
    this.#listener = undefined;
    this.#parts = [];
    this.#size = 0;
    // More than was asked for, or no JSON: it is not our program any more that speaks.
    if (said === undefined || !listener) {
      this.#listener = listener;
      this.kill();
    } else listener.resolve(said);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#listener?.reject(new ProcessEnded('the process that reads documents has ended'));
    this.#listener = undefined;
    this.#parts = [];
  }
}

/** Undefined where it is no JSON. */
function parsed(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}
