import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { Channel } from '@customer-platform/contracts/messaging';
import { type RawResponse, type Received, type Receiver, rawRequest, startReceiver } from '@customer-platform/testkit';

/** Message that an `http` provider receives. */
export interface Sent {
  message: string;
  attempt: string;
  channel: Channel;
  to: string;
  subject: string;
  body: string;
}

/** The account's own provider on loopback. Accepts every message with an id, unless `respond` is set. */
export interface OwnProvider extends Receiver {
  secret: string;
  /** Settings of a channel that uses it. */
  settings: { provider: 'http'; settings: { url: string; secret: string } };
  /** Returns the received messages, oldest first. */
  sent(): Sent[];
}

/** Returns the id with which the provider accepts a message. */
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

/** Faults of a hook call, which is valid by default. */
interface HookOptions {
  at?: Date;
  signature?: string;
  /** Signed instead of the body. */
  signedBody?: object;
}

/** Hook at a gateway, and the secret that signs its calls. */
interface Hook {
  gatewayUrl: string;
  path: string;
  secret: string;
}

/** Calls a hook with a body signed by Standard Webhooks, and returns the response. */
export async function callHook(
  { gatewayUrl, path, secret }: Hook,
  body: object,
  { at = new Date(), signature, signedBody = body }: HookOptions = {},
): Promise<RawResponse> {
  const rawBody = JSON.stringify(body);
  const [id, timestamp] = [randomUUID(), String(Math.floor(at.getTime() / 1_000))];
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const mac = createHmac('sha256', key)
    .update(`${id}.${timestamp}.${JSON.stringify(signedBody)}`)
    .digest('base64');
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature ?? `v1,${mac}`,
  };
  return await rawRequest(gatewayUrl, 'POST', path, { rawBody, headers });
}
