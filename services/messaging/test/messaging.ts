import { randomUUID } from 'node:crypto';
import type { Channel, MessageDetail } from '@customer-platform/contracts/messaging';
import { newSigningSecret, signatureHeader, signingKeyOf } from '@customer-platform/outbound';
import { Bus, createLogger } from '@customer-platform/service-kit';
import {
  type Platform,
  type RawResponse,
  type Receiver,
  rawRequest,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';

/** A message that an `http` provider received. */
export interface Sent {
  message: string;
  attempt: string;
  channel: Channel;
  to: string;
  subject: string;
  body: string;
}

/** The account's own provider on loopback. By default it accepts messages with an id. */
export interface HttpProvider extends Receiver {
  secret: string;
  /** Returns the messages to an address, oldest first. */
  sentTo(to: string): Sent[];
}

export async function startHttpProvider(): Promise<HttpProvider> {
  const receiver = await startReceiver();
  receiver.respond = (request, response) => {
    const { attempt } = JSON.parse(request.body) as Sent;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: `p-${attempt}` }));
  };
  return Object.assign(receiver, {
    secret: newSigningSecret(),
    sentTo: (to: string) =>
      receiver.received.map(({ body }) => JSON.parse(body) as Sent).filter((sent) => sent.to === to),
  });
}

/** An account whose channels use `http` providers. */
export interface Shop {
  account: TestAccount;
  hooks: Record<string, string>;
  /** Posts a body, or a string as it is, to a channel's hook, signed with its provider's secret. */
  hook(channel: Channel, body: object | string, secret?: string): Promise<RawResponse>;
}

export async function openShop(
  platform: Platform,
  providers: Partial<Record<Channel, HttpProvider>>,
  settings: Record<string, unknown> = {},
): Promise<Shop> {
  const account = await platform.account(settings);
  const hooks: Record<string, string> = {};
  for (const [channel, provider] of Object.entries(providers)) {
    const body = { provider: 'http', settings: { url: `${provider.url}/${channel}`, secret: provider.secret } };
    const set = await account.client.messages.channels.put({ params: { channel: channel as Channel }, body });
    hooks[channel] = new URL(set.hook_url).pathname;
  }
  return {
    account,
    hooks,
    hook(channel, body, secret = providers[channel]!.secret) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const id = randomUUID();
      const timestamp = Math.floor(platform.clock.now().getTime() / 1_000);
      const signature = signatureHeader(id, timestamp, text, [signingKeyOf(secret)]);
      const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
      return rawRequest(platform.gatewayUrl, 'POST', hooks[channel]!, { rawBody: text, headers });
    },
  };
}

/** Connects to a platform's bus like one of its services. */
export function connectAs(platform: Platform, service: string): Promise<Bus> {
  const { NATS_URL, BUS_PREFIX } = platform.env(service);
  return Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service, log: createLogger(service, 'error') });
}

/** Waits until a message `matches`. */
export async function message(
  account: TestAccount,
  id: string,
  matches: (message: MessageDetail) => boolean,
): Promise<MessageDetail> {
  const params = { message_id: id };
  let last: MessageDetail | undefined;
  try {
    return await waitFor('the message', async () => {
      last = await account.client.messages.get({ params });
      return matches(last) ? last : undefined;
    });
  } catch (cause) {
    throw new Error(`the message stayed ${JSON.stringify(last)}`, { cause });
  }
}

export const withStatus =
  (status: string) =>
  (message: MessageDetail): boolean =>
    message.status === status;
