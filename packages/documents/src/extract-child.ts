// First: what follows is loaded into a process that has no network any more.
import './lockdown.ts';
import { readSync, writeSync } from 'node:fs';
import { type ChildQuestion, extract, prepare } from './extract.ts';
import { Unreadable } from './pieces.ts';

/**
 * The process in which what others wrote is parsed: whatever it does to a parser ends this process, and no other. On its standard input
 * come frames: a question, then the bytes of the document in any number of frames, then an empty one. On its standard output it says
 * when it is ready for the document, then what was found or why it could not be read. A frame is its length in four bytes, and so much.
 */
export type FromChild = { ready: true } | { value: unknown } | { error: string };

const broken = 'It may be damaged';
const input = 0;
const output = 1;

/** Answers questions until the input ends; `read` answers one about the bytes that came with it. */
export async function serve(read: (question: ChildQuestion, bytes: Buffer) => Promise<unknown>): Promise<void> {
  for (;;) {
    const asked = nextFrame();
    if (!asked) return;
    const question = JSON.parse(asked.toString()) as ChildQuestion;
    await prepare(question);
    tell({ ready: true });
    const chunks: Buffer[] = [];
    for (let chunk = nextFrame(); chunk?.length !== 0; chunk = nextFrame()) {
      if (!chunk) return;
      chunks.push(chunk);
    }
    tell(await read(question, Buffer.concat(chunks)).then(found, failed));
  }
}

const found = (value: unknown): FromChild => ({ value });
const failed = (error: unknown): FromChild => ({ error: error instanceof Unreadable ? error.message : broken });

/** Waits for a frame; undefined where the input has ended. */
function nextFrame(): Buffer | undefined {
  const length = nextBytes(4);
  return length && nextBytes(length.readUInt32BE());
}

function nextBytes(length: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const count = readSync(input, bytes, at, length - at, null);
    if (count === 0) return undefined;
    at += count;
  }
  return bytes;
}

function tell(said: FromChild): void {
  const text = Buffer.from(JSON.stringify(said));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  for (const bytes of [length, text]) {
    for (let at = 0; at < bytes.length; ) at += writeSync(output, bytes, at);
  }
}

if (import.meta.main) await serve(extract);
