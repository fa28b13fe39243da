import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { exceededBound } from '@customer-platform/service-kit';
import { type Child, startChild } from './child-program.ts';
import { maxHeadings, maxPieces } from './pieces.ts';

/** Maximum length of a reply: the JSON of a document's pieces at their limits. */
const maxReplyBytes = 16 * 1_048_576;
/** Maximum chunks of a reply. A pipe delivers at least 4 KiB of a large write at once, and even a tiny chunk costs a page of memory. */
const maxParts = 8_192;
/** Maximum bytes of a frame to the process, so that this process never holds a whole file in memory. */
const frameBytes = 1_048_576;

/** The process has ended, either by itself or because `kill` was called. */
export class ProcessEnded extends Error {}

/** The child process that reads documents. `extract-child.ts` describes its frames. Its replies are untrusted data. */
export class ReadingProcess {
  readonly #child: Child;
  #listener: PromiseWithResolvers<unknown> | undefined;
  #hasEnded = false;
  #parts: Buffer[] = [];
  #size = 0;
  /** Time spent on documents, in milliseconds. */
  usedMs = 0;

  constructor(program?: readonly string[]) {
    this.#child = startChild(program);
    const { stdin, stdout } = this.#child;
    this.#child.once('error', () => this.#end()).once('exit', () => this.#end());
    stdout.on('data', (part: Buffer) => this.#take(part)).once('close', () => this.#end());
    // The child process must not keep the service alive.
    this.#child.unref();
    for (const pipe of [stdin, stdout]) (pipe as unknown as { unref?(): void }).unref?.();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Resident memory in bytes; 0 if the process has ended. */
  get residentBytes(): number {
    if (process.platform !== 'linux') return residentByPs(this.pid);
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, 'latin1');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
    } catch {
      return 0;
    }
  }

  /** Returns the next reply. Callers make one call at a time. Throws ProcessEnded if the process ends first. */
  nextReply(): Promise<unknown> {
    const listener = Promise.withResolvers<unknown>();
    this.#listener = listener;
    if (this.#hasEnded) this.#end();
    return listener.promise;
  }

  /** Sends bytes in frames, each after the previous one is written. Does nothing if the process has ended. */
  async send(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += frameBytes) await this.#frame(bytes.subarray(at, at + frameBytes));
  }

  /** Sends the empty frame that ends a document. */
  async sendEnd(): Promise<void> {
    await this.#frame(new Uint8Array(0));
  }

  /** Kills the process immediately. */
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
      // Ignores the error of a process that has ended, because `nextReply` rejects.
      stdin.write(bytes, () => resolve());
    });
  }

  #take(part: Buffer): void {
    if (this.#hasEnded) return;
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#parts.length > maxParts) this.kill();
    if (this.#hasEnded || this.#size < 4) return;
    // Concatenates only until four bytes are there: a hijacked process could keep this one busy with copies.
    if (this.#parts[0]!.length < 4) this.#parts = [Buffer.concat(this.#parts)];
    const length = this.#parts[0]!.readUInt32BE();
    if (this.#size < 4 + length && length <= maxReplyBytes) return;
    const reply = length <= maxReplyBytes ? parsed(Buffer.concat(this.#parts).subarray(4)) : undefined;
    const listener = this.#listener;
    this.#listener = undefined;
    this.#parts = [];
    this.#size = 0;
    // An unrequested, too long or invalid reply means that a document has hijacked the process.
    if (reply === undefined || !listener) {
      this.#listener = listener;
      this.kill();
    } else listener.resolve(reply);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#listener?.reject(new ProcessEnded('the process that reads documents has ended'));
    this.#listener = undefined;
    this.#parts = [];
  }
}

/** `residentBytes` for systems without /proc, such as macOS on a developer's machine. */
export function residentByPs(pid: number | undefined): number {
  return Number(spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout) * 1_024;
}

/** Maximum commas and brackets in the reply for a document. */
const maxStructure = 2 * maxPieces * (maxHeadings + 8);

/** Parses JSON. Returns undefined if it is invalid or has more values than any reply. A million values block the event loop for 1 s. */
function parsed(bytes: Buffer): unknown {
  const text = bytes.toString();
  if (exceededBound(text, { structure: maxStructure })) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
