import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { Channel } from '@customer-platform/contracts/messaging';
import { type RawAnswer, type Received, type Receiver, rawRequest, startReceiver } from '@customer-platform/testkit';

/** Message that a provider behind `http` is asked to send. */
export interface Sent {
  message: string;
  attempt: string;
  channel: Channel;
  to: string;
  subject: string;
  body: string;
}

/** Somebody's provider on loopback: takes every message with an id, unless its `answer` is set. */
export interface OwnProvider extends Receiver {
  secret: string;
  /** Settings of a channel that reach it. */
  settings: { provider: 'http'; settings: { url: string; secret: string } };
  /** Returns what it was asked to send, oldest first. */
  sent(): Sent[];
}

/** The id that it takes a message under. */
export const idOf = ({ attempt }: Pick<Sent, 'attempt'>): string => `p-${attempt}`;

export const sentBy = ({ body }: Pick<Received, 'body'>): Sent => JSON.parse(body) as Sent;

export async function startOwnProvider(): Promise<OwnProvider> {
  const receiver = await startReceiver();
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  receiver.respond = (request, response) => {
    const id = idOf(sentBy(request));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id }));
  };
  return Object.assign(receiver, {
    secret,
    settings: { provider: 'http' as const, settings: { url: receiver.url, secret } },
    sent: () => receiver.received.map(sentBy),
  });
}

/** Faults of a call of a hook; without them it is as it should be. */
interface HookOptions {
  at?: Date;
  signature?: string;
}

/** A hook at a gateway, and the secret that its calls are signed with. */
interface Hook {
  gatewayUrl: string;
  path: string;
  secret: string;
}

/** Calls a hook with a body signed by Standard Webhooks, and returns the response. */
export async function callHook(
  { gatewayUrl, path, secret }: Hook,
  body: object,
  { at = new Date(), signature }: HookOptions = {},
): Promise<RawAnswer> {
  const rawBody = JSON.stringify(body);
  const [id, timestamp] = [randomUUID(), String(Math.floor(at.getTime() / 1_000))];
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${rawBody}`).digest('base64');
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature ?? `v1,${mac}`,
  };
  return await rawRequest(gatewayUrl, 'POST', path, { rawBody, headers });
}
