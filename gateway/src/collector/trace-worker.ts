import { parentPort } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { maxExportBytes, readExport } from './otlp.ts';
import { type StoredTrace, type TraceFilter, type TracePlace, TraceStore } from './trace-store.ts';

/** Calls of the gateway to the thread that stores its traces. */
export interface TraceCalls {
  /** Stores an export; returns how many of its spans were rejected. */
  add(body: { bytes: Uint8Array; isPacked: boolean }): number;
  place(asked: { id: string; filter: TraceFilter }): TracePlace | undefined;
  list(asked: { filter: TraceFilter; after: TracePlace | undefined; limit: number }): StoredTrace[];
  find(id: string): ReturnType<TraceStore['find']>;
}

/** Why a call has no result. */
export type CallFailure = 'too_large' | { malformed: string };

/** A call with its number; `given` is its argument. */
export interface Call {
  id: number;
  name: keyof TraceCalls;
  given: unknown;
}

export type Reply = { id: number; result: unknown } | { id: number; failure: CallFailure };

const store = new TraceStore();
const calls: TraceCalls = {
  add({ bytes, isPacked }) {
    const unpacked = isPacked ? gunzipSync(bytes, { maxOutputLength: maxExportBytes }) : bytes;
    // Parse the whole export before storing any of it, so that a malformed one stores nothing.
    return store.add(readExport(new TextDecoder().decode(unpacked)));
  },
  place: ({ id, filter }) => store.place(id, filter),
  list: ({ filter, after, limit }) => store.list(filter, { after, limit }),
  find: (id) => store.find(id),
};

function failureOf(error: unknown): CallFailure {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ERR_BUFFER_TOO_LARGE') return 'too_large';
  if (code?.startsWith('Z_')) return { malformed: 'body must be whole and valid gzip' };
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    return { malformed: `body must be an export of spans in OTLP/JSON: ${issue!.path.join('.')}: ${issue!.message}` };
  }
  if (error instanceof SyntaxError || error instanceof RangeError) return { malformed: 'body must be JSON' };
  throw error;
}

parentPort!.on('message', ({ id, name, given }: Call) => {
  let reply: Reply;
  try {
    reply = { id, result: calls[name](given as never) };
  } catch (error) {
    reply = { id, failure: failureOf(error) };
  }
  parentPort!.postMessage(reply);
});
