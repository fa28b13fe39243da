import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

/** A large body in a file that is already unlinked: its space is freed even if the process crashes. */
export class BodyFile {
  readonly #file: FileHandle;
  #stream: Readable | undefined;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Creates an empty file in `directory`. */
  static async create(directory: string): Promise<BodyFile> {
    const path = join(directory, `upload-${randomUUID()}`);
    const file = await open(path, 'wx+', 0o600);
    try {
      await unlink(path);
    } catch (error) {
      await file.close();
      throw error;
    }
    return new BodyFile(file);
  }

  async add(chunk: Buffer): Promise<void> {
    await this.#file.writeFile(chunk);
  }

  /** Returns the body as a stream from its first byte, once. */
  stream(): Readable {
    this.#stream = this.#file.createReadStream({ start: 0 });
    return this.#stream;
  }

  /** Frees its space; idempotent. */
  async close(): Promise<void> {
    // A stream closes its file itself, after the pending read.
    if (this.#stream) this.#stream.destroy();
    else await this.#file.close();
  }
}
