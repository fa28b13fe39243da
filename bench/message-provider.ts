import { randomUUID } from 'node:crypto';
import { signatureHeader, signingKeyOf } from '@customer-platform/outbound';
import { startChild } from './child-process.ts';
import { requestBytes } from './load.ts';

/** Message that the provider got; `at` in milliseconds. */
export interface Arrival {
  /** Path of the provider's URL, which identifies a channel of an account. */
  path: string;
  attempt: string;
  message: string;
  body: string;
  at: number;
}

/** Message provider in a process of its own: accepts each message at once. */
export interface MessageProvider {
  url: string;
  /** Returns the arrivals since the last call. */
  arrivals(): Promise<Arrival[]>;
  /** Stops responding to requests whose path has this prefix. */
  hang(prefix: string): Promise<void>;
  /** Responds to all hanging requests, and to later ones at once. */
  release(): Promise<void>;
  stop(): Promise<void>;
}

export async function startMessageProvider(): Promise<MessageProvider> {
  const { url, stop } = await startChild('provider.ts');
  const ask = async (path: string) => (await (await fetch(`${url}${path}`)).json()) as Arrival[];
  return {
    url,
    arrivals: () => ask('/report'),
    hang: async (prefix) => void (await ask(`/hang?prefix=${encodeURIComponent(prefix)}`)),
    release: async () => void (await ask('/release')),
    stop,
  };
}

/** Returns a request to a channel's hook with an inbound message from `phone`, signed now like the channel's provider. */
export function inboundRequest(
  gatewayUrl: string,
  { hookUrl, secret }: { hookUrl: string; secret: string },
  phone: string,
): Buffer {
  const at = new Date();
  const id = randomUUID();
  const body = JSON.stringify({ type: 'inbound', from: phone, body: 'When does it come?', id, at: at.toISOString() });
  const seconds = Math.floor(at.getTime() / 1_000);
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatureHeader(id, seconds, body, [signingKeyOf(secret)]),
  };
  return requestBytes(gatewayUrl, `POST ${new URL(hookUrl).pathname}`, headers, body);
}
