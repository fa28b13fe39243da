import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { Order, OrderInput, Product } from '@customer-platform/contracts/catalogue';
import type { Contact } from '@customer-platform/contracts/cdp';
import { takeMessage } from '@customer-platform/contracts/messaging';
import type { Bus } from '@customer-platform/service-kit';
import { busOf, type Platform, type TestAccount } from '@customer-platform/testkit';
import { expect } from '@jest/globals';
import type { z } from 'zod';

/** Default item of an order in tests. The catalog does not have its SKU. */
export const something = { sku: 'SOMETHING', name: 'Something', unit_price_minor: 500, quantity: 2 };

/** An account with a contact who has a phone. Its client validates every response against the contract. */
export interface Shop {
  account: TestAccount;
  client: TestAccount['client'];
  contact: Contact;
  /** Creates an order for the contact, of `something` by default. */
  order(body?: Partial<z.input<typeof OrderInput>>): Promise<Order>;
  /** Does the same, but returns the response, even if it is an error. */
  tryOrder(body: Record<string, unknown>): ReturnType<TestAccount['request']>;
  product(body: { sku: string } & Partial<Product>): Promise<Product>;
}

export async function openShop(platform: Platform, settings: Record<string, unknown> = {}): Promise<Shop> {
  const account = await platform.account(settings);
  const { client } = account;
  const contact = await client.cdp.contacts.create({ body: { name: 'Carla Client', phone: '+4930901820' } });
  return {
    account,
    client,
    contact,
    order: (body = {}) =>
      client.catalogue.orders.create({ body: { contact: contact.id, items: [something], ...body } }),
    tryOrder: (body) =>
      account.request('POST', '/v1/catalogue/orders', { body: { contact: contact.id, items: [something], ...body } }),
    product: (body) => client.catalogue.products.create({ body: { name: 'A product', price_minor: 1_000, ...body } }),
  };
}

/** Returns the response expected for an invalid field. Its message must contain `message`. */
export const refusal = (field: string, message = '') => ({
  status: 400,
  body: { error: { code: 'invalid_request', field, message: expect.stringContaining(message) } },
});

/** A message as messaging received it, with its account. */
export type HandedMessage = z.output<typeof takeMessage.input> & { account: string };

/** A fake messaging service, which accepts messages until closed. */
export interface Messaging {
  handed: HandedMessage[];
  /** The messages of one account. */
  of(account: TestAccount): HandedMessage[];
  close(): Promise<void>;
}

/** Starts the fake messaging service. It never replies to a message for which `hasReply` returns false. */
export async function startMessaging(
  platform: Platform,
  hasReply: (message: HandedMessage) => boolean = () => true,
): Promise<Messaging> {
  const bus = await busOf(platform, 'messaging');
  const handed: HandedMessage[] = [];
  bus.handle(takeMessage, async (account, input) => {
    const message = { account, ...input };
    handed.push(message);
    if (!hasReply(message)) await new Promise<never>(() => undefined);
    return { message: randomUUID(), refusal: null };
  });
  return {
    handed,
    of: (account) => handed.filter((message) => message.account === account.id),
    close: () => bus.close(),
  };
}

/** Publishes contact.merged as customer data does. Returns the surviving contact, which is new. */
export async function mergeContact(bus: Bus, shop: Shop, sequence = 1_000_000): Promise<{ id: string; name: string }> {
  const survivor = { ...shop.contact, id: randomUUID(), name: 'Survivor', phone: null };
  const { id, name } = shop.contact;
  const merge = { id: randomUUIDv7(), kind: 'contact.merged' };
  const envelope = JSON.stringify({
    id: merge.id,
    type: merge.kind,
    timestamp: new Date().toISOString(),
    account: shop.account.id,
    mode: 'live',
    data: { contact: survivor, merged: { id, name, phone: '' } },
  });
  await bus.publish({ ...merge, audience: 'public', sequence, envelope, trace: undefined });
  return survivor;
}
