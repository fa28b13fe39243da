import { z } from 'zod';
import { eventsOf } from './event.ts';
import { moduleNames } from './modules.ts';
import { internalRequest } from './request.ts';

/** What every process knows of the account it acts for: the gateway signs it into each request. */
export const AccountContext = z.object({
  id: z.guid(),
  owner: z.guid().meta({ description: 'The live account; of a sandbox, the account whose twin it is.' }),
  name: z.string(),
  mode: z.enum(['live', 'test']),
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

/** An account's settings changed; carries it as it is now. Every process hears it, to forget what it knew of the account. */
export const accountUpdated = eventsOf('gateway').internalEvent(
  'account.updated',
  z.object({ account: AccountContext }),
);

/** Asks the gateway for an account as a request of it would carry it; null where there is none. For work that no request started. */
export const getAccountContext = internalRequest(
  'getAccountContext',
  'gateway',
  z.object({}),
  z.object({ account: AccountContext.nullable() }),
);
