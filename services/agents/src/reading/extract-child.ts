import { setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type ChildQuestion, extract } from './extract.ts';
import { Unreadable } from './pieces.ts';

/**
 * The process in which what others wrote is parsed: whatever it does to a parser ends this process, and no other. It is sent chunks of
 * bytes, then the question about them, and answers with what was found or why it could not be read.
 */
export type ToChild = { chunk: Uint8Array } | { question: ChildQuestion };
export type FromChild = { value: unknown } | { error: string };

const broken = 'It may be damaged';
/** Requests are answered first. */
const niceness = 5;

let chunks: Uint8Array[] = [];

process.on('message', (message: ToChild) => {
  if ('chunk' in message) {
    chunks.push(message.chunk);
    return;
  }
  const bytes = Buffer.concat(chunks);
  chunks = [];
  void extract(message.question, bytes)
    .then((value): FromChild => ({ value }))
    .catch((error: unknown): FromChild => ({ error: error instanceof Unreadable ? error.message : broken }))
    .then((answer) => process.send!(answer));
});
process.on('disconnect', () => process.exit());
// A parser that never comes back would outlive a service that was killed: a thread of its own looks for that.
new Worker(
  `const parent = process.ppid; setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL'); }, 1_000);`,
  { eval: true, resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 } },
).unref();
setPriority(niceness);
