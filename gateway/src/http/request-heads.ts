import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { busy, ClientGone, FairPermits, limitReached } from '@customer-platform/service-kit';
import { networkOf } from './client-address.ts';

/** Most connections with a head that nobody owns, each of up to 160 KB. */
const mostUnowned = 1_024;
/** Interval at which connections are looked at. */
const lookEveryMs = 500;
/** Memory for the heads of all requests whose owner is known; half of what is free is one owner's. */
const ownedBytes = 64 * 1_048_576;
/** Bytes of a request, and of each name and value among its headers, besides their text. */
const [bytesOfRequest, bytesOfText] = [1_024, 64];

interface RequestHeadsOptions {
  /** Address of a client; by default the peer's. */
  addressOf?: (request: IncomingMessage) => string;
  mostUnowned?: number;
  ownedBytes?: number;
  everyMs?: number;
}

/** The head of a request that came in. Handed on, not looked up: a weak map of all would be gone through whenever garbage is collected. */
export interface RequestHead {
  readonly request: IncomingMessage;
  /** Undefined while nobody owns it. */
  owner: string | undefined;
  bytes: number;
  /** It was there at a look. */
  isOld: boolean;
  isOver: boolean;
}

/**
 * Bounds the memory of requests' heads. Those of a request whose owner is known are the owner's. Those that nobody owns yet, and never may, are few:
 * where headers wait for the rest of their head (Node keeps them at ten times their size), or a request lasts, such as one that was refused and whose
 * body does not come, or a file that is read slowly. Where they are too many the oldest of those networks are cut that have the most.
 */
export class RequestHeads {
  readonly #addressOf: (request: IncomingMessage) => string;
  readonly #mostUnowned: number;
  readonly #memory: FairPermits;
  readonly #timer: NodeJS.Timeout;
  /** All connections, with the last request that came on each, until it is over: only that one can be without an owner for long. */
  readonly #sockets = new Map<Socket, RequestHead | undefined>();
  /** Connections that had a head without an owner at the last look, in the order in which it was first seen, with the network of its client. */
  readonly #lasting = new Map<Socket, string>();

  constructor(options: RequestHeadsOptions = {}) {
    this.#addressOf = options.addressOf ?? (({ socket }) => addressOfPeer(socket));
    this.#mostUnowned = options.mostUnowned ?? mostUnowned;
    this.#memory = new FairPermits(options.ownedBytes ?? ownedBytes);
    this.#timer = setInterval(() => this.look(), options.everyMs ?? lookEveryMs);
    this.#timer.unref();
  }

  /** Watches a connection until it closes. */
  watch(socket: Socket): void {
    this.#sockets.set(socket, undefined);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#lasting.delete(socket);
    });
  }

  /** Counts a request that came in, until `end`: nobody owns it. */
  begin(request: IncomingMessage): RequestHead {
    const head: RequestHead = { request, owner: undefined, bytes: 0, isOld: false, isOver: false };
    if (this.#sockets.has(request.socket)) this.#sockets.set(request.socket, head);
    return head;
  }

  /** Counts a request as its owner's from now on. Throws 429 or 503 where the owner may have no more memory, and ClientGone. */
  own(head: RequestHead, owner: string): void {
    if (head.isOver) throw new ClientGone();
    const bytes = bytesOf(head.request);
    if (!this.#memory.tryTake(owner, bytes)) {
      limitReached('head_memory');
      throw busy(this.#memory.holds(owner), 'The memory for requests');
    }
    head.owner = owner;
    head.bytes = bytes;
  }

  /** Ends a request whose response has closed; it counts until the rest of its body is read, too. */
  end(head: RequestHead): void {
    const { request } = head;
    if (request.complete || request.destroyed) this.#forget(head);
    else request.once('close', () => this.#forget(head));
  }

  /** Looks at all connections once. */
  look(): void {
    for (const [socket, head] of this.#sockets) {
      const isLasting = head !== undefined && head.owner === undefined && head.isOld;
      if (head) head.isOld = true;
      if (!(isLasting || hasHeaders(socket))) this.#lasting.delete(socket);
      else if (!this.#lasting.has(socket)) {
        this.#lasting.set(socket, networkOf(isLasting ? this.#addressOf(head.request) : addressOfPeer(socket)));
      }
    }
    const tooMany = this.#lasting.size - this.#mostUnowned;
    if (tooMany <= 0) return;
    for (const socket of this.#beyond().slice(0, tooMany)) {
      limitReached('unowned_heads');
      socket.destroy();
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Returns, oldest first, the connections of networks that have more than they may have where all have together what there may be. */
  #beyond(): Socket[] {
    const byNetwork = Map.groupBy(this.#lasting.keys(), (socket) => this.#lasting.get(socket)!);
    const networks = [...byNetwork.values()];
    const counts = networks.map((sockets) => sockets.length);
    const kept = mostOfEach(counts, this.#mostUnowned);
    const beyond = new Set(networks.flatMap((sockets) => sockets.slice(0, Math.max(0, sockets.length - kept))));
    return [...this.#lasting.keys()].filter((socket) => beyond.has(socket));
  }

  #forget(head: RequestHead): void {
    const { socket } = head.request;
    head.isOver = true;
    if (this.#sockets.get(socket) === head) this.#sockets.set(socket, undefined);
    if (head.owner !== undefined) this.#memory.giveBack(head.owner, head.bytes);
  }
}

function addressOfPeer({ remoteAddress }: Socket): string {
  return remoteAddress ?? '';
}

function bytesOf({ url, rawHeaders }: IncomingMessage): number {
  let bytes = bytesOfRequest + url!.length + bytesOfText * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

/**
 * Returns whether Node has taken headers of a head that is not complete: it hands them over 32 at a time, and forgets them with the head. Fewer are bytes in its
 * parser, sixteen KiB at most.
 */
function hasHeaders(socket: Socket): boolean {
  const { parser } = socket as Socket & { parser?: { _headers?: unknown[] } | null };
  return (parser?._headers?.length ?? 0) > 0;
}

/** Returns how many each may have so that all together have no more than `most`, where each has `counts`. */
function mostOfEach(counts: readonly number[], most: number): number {
  let [left, kept] = [most, 0];
  const ascending = counts.toSorted((one, other) => one - other);
  for (const [index, count] of ascending.entries()) {
    kept = Math.floor(left / (ascending.length - index));
    if (count > kept) return kept;
    left -= count;
  }
  return kept;
}
