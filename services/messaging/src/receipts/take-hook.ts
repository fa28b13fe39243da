import { ApiError } from '@customer-platform/contracts/core';
import { decryptSecret } from '@customer-platform/outbound';
import {
  type Connections,
  hookAccountHeader,
  inServerSpan,
  inWorkTransaction,
  meter,
  refuseOtherMethods,
  routePattern,
  sendError,
  type WorkCall,
  type WorkContext,
} from '@customer-platform/service-kit';
import express, { type Express, type Request, type Response } from 'express';
import { channelByToken } from '../channels/channels.sql.ts';
import type { MessagingResources } from '../implement.ts';
import { providers } from '../providers/all.ts';
import type { HookCall } from '../providers/provider.ts';
import {
  hasWaitingInbound,
  hasWaitingReceipts,
  insertInbound,
  insertReceipts,
  lockWaitingReceipts,
} from './receipts.sql.ts';

const refused = meter.createCounter('messages.hooks_refused', {
  description: 'Hook calls with a wrong signature.',
});

/** Form of the tokens created by put-channel.ts. Other strings are not looked up; PostgreSQL may be unable to store them. */
const tokenForm = /^[A-Za-z0-9_-]{32}$/;

/**
 * Maximum number of waiting receipts per account: those of unknown messages are retried for a day and delay other
 * accounts. Providers retry refused requests.
 */
const maxWaitingReceipts = 5_000;
/** The same for inbound messages, which are announced one at a time. Hook calls are not limited by the account's rate. */
const maxWaitingInbound = 5_000;

const path = '/hooks/messages/{token}';
const maxBodyBytes = 1_048_576;

type HookContext = WorkContext<MessagingResources> & { connections: Connections };

/** Serves the providers' hooks: GET, HEAD and POST with bodies of any type up to 1 MiB. Spans omit the path, which contains the token. */
export function addHook(app: Express, context: HookContext): void {
  const serve = (request: Request, response: Response) =>
    inServerSpan(request, { route: path }, async () => {
      try {
        const text = await takeHook(request, response, context);
        response.status(200).type('text/plain').send(text);
        return 200;
      } catch (error) {
        return sendError(response, error, context.log);
      }
    });
  const pattern = routePattern(path);
  const readBody = express.raw({ type: () => true, limit: maxBodyBytes, inflate: false });
  app.route(pattern).get(serve).post(readBody, serve);
  refuseOtherMethods(app, pattern, 'GET, HEAD, POST, OPTIONS');
}

/**
 * Handles a provider's request: stores its content for later processing and returns the response text. HEAD only looks
 * up whether the hook exists. Throws ApiError.
 */
async function takeHook(request: Request, response: Response, context: HookContext): Promise<string> {
  const { sql, resources, clocks, connections } = context;
  const named = String(request.params.token);
  const row = tokenForm.test(named) ? await channelByToken(sql, named) : undefined;
  const provider = providers.get(row?.provider ?? '');
  if (!row || !provider?.readHook) throw new ApiError('not_found', 'No hook exists at this URL');
  const { account_id, channel, token } = row;
  if (request.method === 'HEAD') {
    response.setHeader(hookAccountHeader, account_id);
    return '';
  }
  const settings = JSON.parse(decryptSecret(resources.secretKeys, row.settings, account_id, channel));
  const call = callOf(request, clocks.real());
  const content = readOrCount(() => provider.readHook!(call, settings, resources.hookUrlOf(token)));
  const { receipts, messages, response: text = '' } = content;
  const now = clocks.nowOf(account_id, call.now);
  const inTime = <Dated extends { at: Date }>(given: Dated) => ({
    ...given,
    at: clocks.nowOf(account_id, given.at),
  });
  if (receipts.length > 0 && (await hasWaitingReceipts(sql, account_id, maxWaitingReceipts)))
    throw tooManyWaiting('receipts');
  if (messages.length > 0 && (await hasWaitingInbound(sql, account_id, maxWaitingInbound)))
    throw tooManyWaiting('inbound messages');
  if (receipts.length + messages.length > 0) {
    const store = async ({ tx }: WorkCall<MessagingResources>) => {
      const inserted = await insertReceipts(
        tx,
        receipts.map((receipt) => ({ ...inTime(receipt), account_id, channel })),
        now,
      );
      await insertInbound(tx, { account_id, channel }, messages.map(inTime), now);
      // Concurrent calls may all have found room; only the first to commit gets it.
      if (inserted > 0 && (await lockWaitingReceipts(tx, account_id, maxWaitingReceipts + inserted)))
        throw tooManyWaiting('receipts');
    };
    await connections.use(account_id, response, () => inWorkTransaction(context, store));
    if (messages.length > 0) resources.inbound.wake();
  }
  return text;
}

function callOf({ method, url, headers, body }: Request, now: Date): HookCall {
  return {
    method: method as HookCall['method'],
    query: new URL(url, 'http://service').searchParams,
    rawQuery: url.includes('?') ? url.slice(url.indexOf('?')) : '',
    headers,
    body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
    now,
  };
}

function tooManyWaiting(what: 'receipts' | 'inbound messages'): ApiError {
  return new ApiError('service_unavailable', `Too many ${what} are waiting; send this one again later`);
}

function readOrCount<Content>(read: () => Content): Content {
  try {
    return read();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) refused.add(1);
    throw error;
  }
}
