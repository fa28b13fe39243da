import { listAllEndpoints } from '@customer-platform/contracts/webhooks';
import { handleRequest } from '@customer-platform/service-kit';
import type { WebhookResources } from '../implement.ts';
import { selectAllEndpoints } from './all-endpoints.sql.ts';

/** Returns endpoints of all accounts, for operators. */
export const handleListAllEndpoints = handleRequest<typeof listAllEndpoints, WebhookResources>(
  listAllEndpoints,
  async ({ sql, resources }, input) => {
    const endpoints = await selectAllEndpoints(sql, input, resources.clocks.real());
    return endpoints && { endpoints };
  },
);
