import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Me } from '@customer-platform/contracts/accounts';
import { queryParser, send } from '@customer-platform/service-kit';
import type { z } from 'zod';
import type { KeyRecord } from '../keys/key-record.ts';

const parseQuery = queryParser(undefined);

/**
 * Responds to GET /v1/me with the key's account, rights and limits. Shows the scopes as issued. Throws 400 for any
 * query parameter.
 */
export function sendMe(request: IncomingMessage, response: ServerResponse, record: KeyRecord): void {
  const query = request.url!.split('?', 2)[1];
  if (query) parseQuery(Object.fromEntries(new URLSearchParams(query)));
  const { id, name, timezone, currency, mode, modules } = record.account;
  const me: z.output<typeof Me> = {
    account: { id, name, timezone, currency },
    mode,
    scopes: [...record.scopes],
    modules,
    rate_limit: record.rateLimit,
    tzdata: process.versions.tz!,
  };
  send(response, 200, JSON.stringify(me));
}
