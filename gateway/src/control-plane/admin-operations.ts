import type * as contract from '@customer-platform/contracts/accounts';
import type { Implements } from '@customer-platform/service-kit';
import * as accounts from './accounts/accounts.ts';
import * as members from './accounts/members.ts';
import type { AdminResources } from './admin-operation.ts';
import * as dead from './dead/dead-events.ts';
import * as endpoints from './endpoints/endpoints.ts';
import { listEndpoints } from './endpoints/list-endpoints.ts';
import { getAccountHealth, listTraffic } from './health/account-health.ts';
import { listAttention } from './health/list-attention.ts';
import { resendMessages } from './health/resend-messages.ts';
import * as keys from './keys/keys.ts';
import { listAudit } from './list-audit.ts';
import * as queues from './queues/queues.ts';
import { listServices } from './services/list-services.ts';
import { republishEvents } from './services/republish-events.ts';
import * as traces from './traces/traces.ts';

/** The control plane's operations. The imported files of a resource export only operations. */
export const adminOperations: Implements<typeof contract.adminOperations, AdminResources> = {
  ...accounts,
  ...members,
  ...keys,
  ...dead,
  ...queues,
  ...traces,
  ...endpoints,
  listEndpoints,
  getAccountHealth,
  listAttention,
  resendMessages,
  listServices,
  listAudit,
  listTraffic,
  republishEvents,
};
