import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { FairPermits, limitReached } from '@customer-platform/service-kit';
import { networkOf } from './client-address.ts';

/** Most requests that wait on one connection for those before them, and most bytes that arrive meanwhile. */
const maxQueued = 100;
const maxQueuedBytes = 262_144;
/**
 * Most requests that wait behind another waiting one, on all connections, each with up to 32 KiB of its own: one address may have half of what is
 * free. The first that waits on a connection needs no place of these: a balancer, whose clients have one address, sends one behind another.
 */
const maxWaiting = 2_048;

/** Requests that wait on one connection. */
interface Queued {
  waiting: number;
  /** Bytes read on it when the first began to wait. */
  fromBytes: number;
  address: string;
}

/** Requests that came in on connections on which another is under way: they run one at a time, and hold nothing until then. */
export class PipelinedRequests {
  readonly #queued = new WeakMap<Socket, Queued>();
  readonly #places = new FairPermits(maxWaiting);

  /**
   * Has a request wait for the responses to those before it. A connection with too many requests or bytes waiting is cut, as is one whose
   * address has too many: they have no owner yet whose memory they could count against.
   */
  wait({ socket }: IncomingMessage, response: ServerResponse, take: () => void): void {
    const queued = this.#queued.get(socket) ?? this.#begin(socket);
    if (queued.waiting === 0) queued.fromBytes = socket.bytesRead;
    const isWithin = queued.waiting < maxQueued && socket.bytesRead - queued.fromBytes <= maxQueuedBytes;
    const isFirst = queued.waiting === 0;
    if (!isWithin || !(isFirst || this.#places.tryTake(queued.address))) {
      limitReached('pipelined_requests');
      socket.destroy();
      return;
    }
    queued.waiting++;
    response.once('socket', () => {
      if (queued.waiting === 0) return;
      if (--queued.waiting > 0) this.#places.giveBack(queued.address);
      take();
    });
  }

  #begin(socket: Socket): Queued {
    const queued = { waiting: 0, fromBytes: 0, address: networkOf(socket.remoteAddress ?? '') };
    this.#queued.set(socket, queued);
    socket.once('close', () => {
      if (queued.waiting > 1) this.#places.giveBack(queued.address, queued.waiting - 1);
      queued.waiting = 0;
    });
    return queued;
  }
}
