import { randomUUID } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

/**
 * Creates an empty file for a large body in `directory`. It is already unlinked: its space is freed even if the process
 * crashes.
 */
export async function createBodyFile(directory: string) {
  const path = join(directory, `upload-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    await unlink(path);
  } catch (error) {
    await file.close();
    throw error;
  }
  const streams: Readable[] = [];
  return {
    add: (chunk: Buffer) => file.writeFile(chunk),
    /** Returns the body as a stream, from its first byte each time. */
    stream(): Readable {
      const stream = file.createReadStream({ start: 0, autoClose: false });
      streams.push(stream);
      return stream;
    },
    /** Frees its space; idempotent. */
    async close(): Promise<void> {
      for (const stream of streams) stream.destroy();
      await file.close(); // after the pending reads
    },
  };
}
