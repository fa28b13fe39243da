import type { ServerResponse } from 'node:http';
import type { Me } from '@customer-platform/contracts/accounts';
import type { z } from 'zod';
import type { KeyRecord } from '../keys/key-record.ts';
import { sendJson } from '../proxy/answer.ts';

/** Answers GET /v1/me: what the key is good for, with its scopes as they were given. */
export function sendMe(response: ServerResponse, record: KeyRecord): void {
  const { id, name, timezone, currency, mode, modules } = record.account;
  const me: z.output<typeof Me> = {
    account: { id, name, timezone, currency },
    mode,
    scopes: [...record.scopes],
    modules,
    rate_limit: record.rateLimit,
    tzdata: process.versions.tz!,
  };
  sendJson(response, 200, JSON.stringify(me));
}
