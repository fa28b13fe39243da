import { Worker } from 'node:worker_threads';
import { ApiError } from '@customer-platform/contracts/core';
import { type Logger, serviceUnavailable, withTimeout } from '@customer-platform/service-kit';
import { tooLarge } from '../bodies/body-intake.ts';
import { maxExportBytes } from './otlp.ts';
import type { Call, CallFailure, Reply, TraceCalls } from './trace-worker.ts';

/** Maximum duration of one call. */
const callMs = 10_000;
/** The thread and its traces end beyond this memory. The store's own bound is far below. */
const resourceLimits = { maxOldGenerationSizeMb: 256 };

/** A thread that reads exports of spans and stores the traces. Large exports therefore do not block the event loop. */
export class TraceThread {
  readonly #log: Logger;
  readonly #pending = new Map<number, { resolve(result: never): void; reject(error: Error): void }>();
  #worker: Worker | undefined;
  #calls = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Runs a call on the thread. Throws 400 and 413 for an invalid export. Throws 503 if the thread ends or takes over 10 s. */
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
      // The calls queued in this thread would time out too, so the next call starts another thread.
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
      this.#log.error({ err: error }, 'the trace thread failed; a new one starts without traces'),
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
