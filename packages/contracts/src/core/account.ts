import { z } from 'zod';
import { accountMode, eventsOf } from './event.ts';
import { moduleNames } from './modules.ts';
import { internalRequest } from './request.ts';

/** The account that a request acts for. The gateway signs it into each request it forwards. */
export const AccountContext = z.object({
  id: z.guid(),
  owner: z.guid().meta({ description: 'Id of the live account; for a sandbox, of the account it belongs to.' }),
  name: z.string(),
  mode: accountMode,
  timezone: z.string().meta({ description: 'IANA timezone name.' }),
  country: z.string().meta({ description: 'ISO 3166 alpha-2 country code.' }),
  language: z.string(),
  currency: z.string(),
  modules: z
    .array(z.enum(moduleNames))
    .meta({ description: 'Modules that are in the plan and switched on; empty while the account is suspended.' }),
  suspended: z.boolean().meta({ description: 'A suspended account sends nothing.' }),
});
export type AccountContext = z.infer<typeof AccountContext>;

/** An account changed. The event has the new state, and every process drops its cached copy of the account. */
export const accountUpdated = eventsOf('gateway').internalEvent(
  'account.updated',
  z.object({ account: AccountContext }),
);

/** Returns an account's context for work that no request started; null if the account does not exist. */
export const getAccountContext = internalRequest(
  'getAccountContext',
  'gateway',
  z.object({}),
  z.object({ account: AccountContext.nullable() }),
);
