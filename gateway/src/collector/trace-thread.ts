import { Worker } from 'node:worker_threads';
import { ApiError } from '@customer-platform/contracts/core';
import { type Logger, serviceUnavailable, withTimeout } from '@customer-platform/service-kit';
import { tooLarge } from '../bodies/body-intake.ts';
import { maxExportBytes } from './otlp.ts';
import type { Call, CallFailure, Reply, TraceCalls } from './trace-worker.ts';

/** Time for one call. */
const callMs = 10_000;
/** The thread ends with what it knows where it would take more; the store's own bound is far below. */
const resourceLimits = { maxOldGenerationSizeMb: 256 };

/** A thread that reads exports of spans and keeps the traces: however large these are, requests do not wait for it. */
export class TraceThread {
  readonly #log: Logger;
  readonly #pending = new Map<number, { resolve(result: never): void; reject(error: Error): void }>();
  #worker: Worker | undefined;
  #calls = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Has the thread do something. Throws 400 and 413 for an export that cannot be read, 503 where the thread ends or takes 10 s. */
  async call<Name extends keyof TraceCalls>(
    name: Name,
    given: Parameters<TraceCalls[Name]>[0],
  ): Promise<ReturnType<TraceCalls[Name]>> {
    const id = ++this.#calls;
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<TraceCalls[Name]>>();
    const call: Call = { id, name, given };
    const worker = this.#worker ?? this.#start();
    this.#pending.set(id, { resolve, reject });
    worker.postMessage(call);
    const late = () => {
      // What waits in it would take as long again: the next call begins another.
      void worker.terminate();
      return unavailable();
    };
    return await withTimeout(callMs, promise, late).finally(() => this.#pending.delete(id));
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./trace-worker.ts', import.meta.url), { resourceLimits });
    this.#worker = worker;
    worker.unref();
    worker.on('message', (reply: Reply) => {
      const pending = this.#pending.get(reply.id);
      if ('failure' in reply) pending?.reject(refusalOf(reply.failure));
      else pending?.resolve(reply.result as never);
    });
    worker.on('error', (error) =>
      this.#log.error({ err: error }, 'the thread of traces ended; it begins again without any'),
    );
    worker.on('exit', () => {
      this.#worker = undefined;
      for (const { reject } of this.#pending.values()) reject(unavailable());
    });
    return worker;
  }
}

const unavailable = () => serviceUnavailable('Traces cannot be read right now; try again shortly');

function refusalOf(failure: CallFailure): ApiError {
  if (failure === 'too_large') return tooLarge(maxExportBytes);
  return new ApiError('invalid_request', failure.malformed, { field: 'body' });
}
