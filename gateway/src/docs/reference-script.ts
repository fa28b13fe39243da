import { Worker } from 'node:worker_threads';

/** Time in which a thread reads the script; it takes about a second. */
const readMs = 60_000;

/**
 * Returns the script that draws the reference (Scalar, with all that it needs), plain and compressed. A thread reads it: the package has it
 * as text amid its code, which would stay in memory, and compressing 5 MB would keep requests waiting.
 */
export async function readReferenceScript(): Promise<{ bytes: Uint8Array; gzipped: Uint8Array }> {
  const worker = new Worker(new URL('./reference-script-worker.ts', import.meta.url));
  const { promise, resolve, reject } = Promise.withResolvers<{ bytes: Uint8Array; gzipped: Uint8Array }>();
  worker.once('message', resolve).once('error', reject);
  worker.once('exit', () => reject(new Error('the thread that reads the script of the reference ended without it')));
  const late = setTimeout(() => reject(new Error(`the script was not read within ${readMs} ms`)), readMs);
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    void worker.terminate();
  }
}
