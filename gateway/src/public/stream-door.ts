import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RoutedOperation } from '@customer-platform/contracts/core';
import { ClientGone } from '@customer-platform/service-kit';
import type { Upstream } from '../forward/upstream.ts';
import { streamBegan } from '../http/request-log.ts';
import { hashOfKey } from '../keys/key-format.ts';
import type { KeyRecord } from '../keys/key-record.ts';
import type { StreamSlots } from '../limits/stream-slots.ts';
import { keyOf } from './admission.ts';
import type { OpenStreams } from './open-streams.ts';

/** A request for a stream that was admitted. */
export interface StreamCall {
  request: IncomingMessage;
  response: ServerResponse;
  record: KeyRecord;
  operation: RoutedOperation;
  address: string;
  upstream: Upstream;
  /** Makes the request what is sent to the service. */
  prepare(): void;
}

/** Passes streams on: as many as their keys may have, for as long as they may. */
export class StreamDoor {
  readonly #slots: StreamSlots;
  readonly #open: OpenStreams;

  constructor(slots: StreamSlots, open: OpenStreams) {
    this.#slots = slots;
    this.#open = open;
  }

  /** Returns once the stream has begun, or its refusal was sent. Throws what it is refused with here, and ClientGone. */
  async pass({ request, response, record, operation, address, upstream, prepare }: StreamCall): Promise<void> {
    // It can have left while its key was looked up: nothing would take it out of what is open.
    if (response.closed) throw new ClientGone();
    const leaving = new AbortController();
    response.once('close', () => leaving.abort(new ClientGone()));
    let isWhole = true;
    let received: IncomingMessage | undefined;
    const halt = () => {
      received?.unpipe(response);
      leaving.abort(new ClientGone());
      return isWhole;
    };
    const hash = hashOfKey(keyOf(request)!);
    const { ownerId, expiresAtMs } = record;
    // Known from here on, and doubtful: its key may have changed since it was read.
    this.#open.add({ response, hash, ownerId, address, operation, expiresAtMs, isDoubtful: true, halt });
    const slot = await this.#slots.take(record.keyId);
    response.once('close', () => this.#slots.giveBack(slot));
    if (response.closed) return this.#slots.giveBack(slot);
    prepare();
    received = await upstream.openStream(request, leaving.signal).catch((error: unknown) => {
      this.#slots.giveBack(slot);
      throw leaving.signal.aborted ? new ClientGone() : error;
    });
    response.writeHead(received.statusCode!, received.headers);
    if (request.method !== 'HEAD' && received.headers['content-type']?.startsWith('text/event-stream')) {
      response.flushHeaders();
      response.emit(streamBegan);
      received.on(
        'data',
        endsWholly((is) => (isWhole = is)),
      );
    }
    passOn(received, response);
  }
}

/** Passes on what a service sends, as fast as the client takes it. */
function passOn(received: IncomingMessage, response: ServerResponse): void {
  // A service that cuts a reader off, or dies: the reader learns it by its connection, and resumes.
  received.once('close', () => {
    if (!received.complete && !response.writableEnded) response.destroy();
  });
  received.on('error', () => undefined);
  received.pipe(response);
}

/** Returns a listener of chunks that says after each whether what has come so far ends with an empty line. */
function endsWholly(say: (isWhole: boolean) => void): (chunk: Buffer) => void {
  let last = 0;
  return (chunk) => {
    const before = chunk.length > 1 ? chunk[chunk.length - 2] : last;
    last = chunk[chunk.length - 1] ?? last;
    say(before === 10 && last === 10);
  };
}
