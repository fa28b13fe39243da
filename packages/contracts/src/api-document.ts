import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ServiceName } from './core/modules.ts';

let digest: string | undefined;

/** Returns a digest of these contracts: two processes with the same one know the same operations. */
export function contractDigest(): string {
  digest ??= hash(
    'sha256',
    globSync('**/*.ts', { cwd: import.meta.dirname, exclude: (file) => file.endsWith('.test.ts') })
      .sort()
      .map((file) => `${file}\n${readFileSync(join(import.meta.dirname, file), 'utf8')}`)
      .join('\n'),
    'base64url',
  );
  return digest;
}

/** Time in which a thread describes an API. */
const describeMs = 60_000;

/**
 * Returns the parts of the OpenAPI document that belong to services, each as JSON, by these contracts. A thread makes them: that takes most
 * of a second, in which the process serves on.
 */
export async function describeServices(services: readonly ServiceName[]): Promise<Map<ServiceName, string>> {
  const worker = new Worker(new URL('./api-document-worker.ts', import.meta.url), { workerData: services });
  const { promise, resolve, reject } = Promise.withResolvers<[ServiceName, string][]>();
  worker.once('message', resolve).once('error', reject);
  worker.once('exit', () => reject(new Error('the thread that describes the API ended without a result')));
  const late = setTimeout(() => reject(new Error(`the API was not described within ${describeMs} ms`)), describeMs);
  try {
    return new Map(await promise);
  } finally {
    clearTimeout(late);
    void worker.terminate();
  }
}
