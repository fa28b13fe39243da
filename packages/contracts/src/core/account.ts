import { z } from 'zod';
import { accountMode, eventsOf } from './event.ts';
import { moduleNames } from './modules.ts';
import { internalRequest } from './request.ts';

/** The account a process acts for, as the gateway signs it into each request. */
export const AccountContext = z.object({
  id: z.guid(),
  owner: z.guid().meta({ description: 'The live account; of a sandbox, the account whose twin it is.' }),
  name: z.string(),
  mode: accountMode,
  timezone: z.string().meta({ description: 'IANA timezone name.' }),
  country: z.string().meta({ description: 'ISO 3166 alpha-2 country code.' }),
  language: z.string(),
  currency: z.string(),
  modules: z
    .array(z.enum(moduleNames))
    .meta({ description: 'Modules in the plan and switched on; empty while the account is suspended.' }),
  suspended: z.boolean().meta({ description: 'A suspended account sends nothing.' }),
});
export type AccountContext = z.infer<typeof AccountContext>;

/** An account changed; carries its new state. Every process receives it, to drop its cached copy. */
export const accountUpdated = eventsOf('gateway').internalEvent(
  'account.updated',
  z.object({ account: AccountContext }),
);

/** Returns an account as its requests carry it, for work that no request started; null if there is none. */
export const getAccountContext = internalRequest(
  'getAccountContext',
  'gateway',
  z.object({}),
  z.object({ account: AccountContext.nullable() }),
);
