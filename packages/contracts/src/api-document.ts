import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ServiceName } from './core/modules.ts';

let digest: string | undefined;

/** Returns a digest of the contracts' source. Processes with the same digest know the same operations. */
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

/** Time limit of the worker thread. */
const describeMs = 60_000;

/**
 * Returns each service's part of the OpenAPI document as JSON, built from these contracts. A worker thread builds the parts, since the
 * event loop would be blocked for most of a second. Throws an Error after 60 s.
 */
export async function describeServices(services: readonly ServiceName[]): Promise<Map<ServiceName, string>> {
  const worker = new Worker(new URL('./api-document-worker.ts', import.meta.url), { workerData: services });
  const { promise, resolve, reject } = Promise.withResolvers<[ServiceName, string][]>();
  worker.once('message', resolve).once('error', reject);
  worker.once('exit', () => reject(new Error('the worker thread exited without an API description')));
  const late = setTimeout(() => reject(new Error(`no API description within ${describeMs} ms`)), describeMs);
  try {
    return new Map(await promise);
  } finally {
    clearTimeout(late);
    void worker.terminate();
  }
}
