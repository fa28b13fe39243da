import * as contract from '@customer-platform/contracts/cdp';
import { handleRequest } from '@customer-platform/service-kit';
import { holdIdentities } from '../contacts/identities.sql.ts';
import { takeOptOut } from './take-opt-out.ts';

export const handleRecordOptOut = handleRequest(contract.recordOptOut, async ({ accountId, change }, given) => {
  const changed = await change(async (call) => {
    await holdIdentities(call.tx, [accountId]);
    return await takeOptOut(call, accountId, given);
  });
  return { changed };
});
