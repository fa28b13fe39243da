import type { Socket } from 'node:net';
import { limitReached } from '@customer-platform/service-kit';

/** Looks at which a client may have taken nothing of what waits for it. */
const maxLooks = 3;

/** Bytes that a client has and has not been sent at the last look, and for how many looks it has taken none. */
interface Unread {
  sent: number;
  waiting: number;
  looks: number;
}

/** Cuts connections whose clients read nothing of the responses that are sent to them, and so keep them in memory. */
export class UnreadResponses {
  readonly #sockets = new Map<Socket, Unread | undefined>();
  readonly #timer: NodeJS.Timeout;

  /** @param everyMs the interval at which connections are looked at: a client is cut off after three to four of them */
  constructor(everyMs = 10_000) {
    this.#timer = setInterval(() => this.look(), everyMs);
    this.#timer.unref();
  }

  /** Watches a connection until it closes. */
  watch(socket: Socket): void {
    this.#sockets.set(socket, undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Looks at all connections once. */
  look(): void {
    for (const [socket, before] of this.#sockets) {
      if (socket.writableLength === 0) {
        if (before) this.#sockets.set(socket, undefined);
        continue;
      }
      const now = unreadOf(socket);
      const isStill = before !== undefined && before.sent === now.sent && before.waiting === now.waiting;
      const looks = isStill ? before.looks + 1 : 0;
      this.#sockets.set(socket, { ...now, looks });
      if (looks < maxLooks) continue;
      limitReached('unread_responses');
      socket.destroy();
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Returns what was handed to the system whole, and what is left of what is being handed over: Node's own timeouts go by that too. */
function unreadOf(socket: Socket): { sent: number; waiting: number } {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize: number } | null };
  return { sent: socket.bytesWritten - socket.writableLength, waiting: handle?.writeQueueSize ?? 0 };
}
