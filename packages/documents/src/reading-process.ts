import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { brokenBound } from '@customer-platform/service-kit';
import { type Child, startChild } from './child-program.ts';
import { maxHeadings, maxPieces } from './pieces.ts';

/** Maximum length of a reply: a document's pieces at their limits, as JSON. */
const maxReplyBytes = 16 * 1_048_576;
/** Most parts that a reply may come in: a pipe brings 4 KiB or more of one that is written whole, and each part costs as much as a page of them. */
const maxParts = 8_192;
/** Length of a frame to the process, so that a file is never in memory here as a whole. */
const frameBytes = 1_048_576;

/** Error of a process that has ended, whoever ended it. */
export class ProcessEnded extends Error {}

/** A process that reads documents, by the frames that `extract-child.ts` describes. Its replies are untrusted data. */
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
    // It must not keep the service alive.
    this.#child.unref();
    for (const pipe of [stdin, stdout]) (pipe as unknown as { unref?(): void }).unref?.();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Resident memory in bytes; 0 if it has ended. */
  get residentBytes(): number {
    if (process.platform !== 'linux') return residentByPs(this.pid);
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, 'latin1');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
    } catch {
      return 0;
    }
  }

  /** Returns its next reply. One call at a time. Throws ProcessEnded if it ends first. */
  nextReply(): Promise<unknown> {
    const listener = Promise.withResolvers<unknown>();
    this.#listener = listener;
    if (this.#hasEnded) this.#end();
    return listener.promise;
  }

  /** Sends bytes in frames, each once the one before is written; does nothing if the process has ended. */
  async send(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += frameBytes) await this.#frame(bytes.subarray(at, at + frameBytes));
  }

  /** Sends the empty frame that ends a document. */
  async sendEnd(): Promise<void> {
    await this.#frame(new Uint8Array(0));
  }

  /** Ends the process at once. */
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
      // Called with an error if the process has ended: `nextReply` rejects then.
      stdin.write(bytes, () => resolve());
    });
  }

  #take(part: Buffer): void {
    if (this.#hasEnded) return;
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#parts.length > maxParts) this.kill();
    if (this.#hasEnded || this.#size < 4) return;
    // Once, and not with each part that follows: one that was taken over could keep this process busy with copies.
    if (this.#parts[0]!.length < 4) this.#parts = [Buffer.concat(this.#parts)];
    const length = this.#parts[0]!.readUInt32BE();
    if (this.#size < 4 + length && length <= maxReplyBytes) return;
    const reply = length <= maxReplyBytes ? parsed(Buffer.concat(this.#parts).subarray(4)) : undefined;
    const listener = this.#listener;
    this.#listener = undefined;
    this.#parts = [];
    this.#size = 0;
    // Unrequested, too long or not JSON: a document has taken over the process.
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

/** As `residentBytes`, where there is no /proc: on the machines of developers. */
export function residentByPs(pid: number | undefined): number {
  return Number(spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout) * 1_024;
}

/** Commas and brackets of the largest reply that a document leads to. */
const maxStructure = 2 * maxPieces * (maxHeadings + 8);

/** Returns the parsed JSON, or undefined if it is invalid, or has more values than any reply: a million of them take a second of everybody's time. */
function parsed(bytes: Buffer): unknown {
  const text = bytes.toString();
  if (brokenBound(text, { structure: maxStructure })) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
