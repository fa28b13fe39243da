import { listAllEndpoints } from '@customer-platform/contracts/webhooks';
import { handleRequest } from '@customer-platform/service-kit';
import { selectAllEndpoints } from './all-endpoints.sql.ts';

/** Returns endpoints of all accounts to operators. */
export const handleListAllEndpoints = handleRequest(listAllEndpoints, async ({ sql }, input) => {
  const endpoints = await selectAllEndpoints(sql, input);
  return endpoints && { endpoints };
});
