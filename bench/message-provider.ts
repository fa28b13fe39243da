import { randomUUID } from 'node:crypto';
import { signatureHeader, signingKeyOf } from '@customer-platform/outbound';
import { startChild } from './child-process.ts';
import { requestBytes } from './load.ts';

/** A message that the provider was called for; `at` in ms. */
export interface Arrival {
  /** Channel of an account: what the provider's URL was set to. */
  path: string;
  attempt: string;
  message: string;
  body: string;
  at: number;
}

/** A provider of channels, in a process of its own: takes each message at once. */
export interface MessageProvider {
  url: string;
  /** Returns what came since this was last asked. */
  arrivals(): Promise<Arrival[]>;
  /** Has what comes to paths with this beginning get no response from now on. */
  hang(prefix: string): Promise<void>;
  /** Responds to all that hangs, and hangs no more. */
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

/** A request to a channel's hook with what a customer wrote from `phone`, signed now as the channel's provider does. */
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
