// Must come first: everything imported below loads without network access.
import './lockdown.ts';
import { readSync, writeSync } from 'node:fs';
import { type ChildQuestion, extract, prepare } from './extract.ts';
import { Unreadable } from './pieces.ts';

/**
 * Reply of the child process that parses documents. Input and output are frames: a length in four bytes, then that many bytes. Standard
 * input is a question, the document's bytes in any number of frames, and an empty frame. Standard output is one frame when the process is
 * ready for the document, then one frame with the result or the error.
 */
type Reply = { ready: true } | { value: unknown } | { error: string };

const input = 0;
const output = 1;

/** Answers questions until the input ends. `read` returns the result for a question and its document. */
export async function serve(read: (question: ChildQuestion, bytes: Buffer) => Promise<unknown>): Promise<void> {
  for (;;) {
    const frame = nextFrame();
    if (!frame) return;
    const question = JSON.parse(frame.toString()) as ChildQuestion;
    await prepare(question);
    reply({ ready: true });
    const chunks: Buffer[] = [];
    for (let chunk = nextFrame(); chunk?.length !== 0; chunk = nextFrame()) {
      if (!chunk) return;
      chunks.push(chunk);
    }
    reply(await read(question, Buffer.concat(chunks)).then(found, failed));
  }
}

const found = (value: unknown): Reply => ({ value });
const failed = (error: unknown): Reply => ({
  error: error instanceof Unreadable ? error.message : 'It may be damaged',
});

/** Returns the next frame, or undefined once the input has ended. */
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

function reply(content: Reply): void {
  const text = Buffer.from(JSON.stringify(content));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  for (const bytes of [length, text]) {
    for (let at = 0; at < bytes.length; ) at += writeSync(output, bytes, at);
  }
}

if (import.meta.main) await serve(extract);
