import { getContactReach } from '@customer-platform/contracts/cdp';
import { handleRequest } from '@customer-platform/service-kit';
import { findReach } from './reach.sql.ts';

export const handleGetContactReach = handleRequest(getContactReach, async ({ sql, accountId }, asked) => {
  const reach = await findReach(sql, accountId, asked);
  return reach ?? { address: null, consent: null };
});
