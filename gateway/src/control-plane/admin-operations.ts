import type * as contract from '@customer-platform/contracts/accounts';
import type { Implements } from '@customer-platform/service-kit';
import { addMember } from './accounts/add-member.ts';
import { createAccount } from './accounts/create-account.ts';
import { getAccount } from './accounts/get-account.ts';
import { listAccounts } from './accounts/list-accounts.ts';
import { listMembers } from './accounts/list-members.ts';
import { removeMember } from './accounts/remove-member.ts';
import { updateAccount } from './accounts/update-account.ts';
import type { AdminResources } from './admin-operation.ts';
import { listAudit } from './audit/list-audit.ts';
import { dropDeadEvent } from './dead/drop-dead-event.ts';
import { getDeadEvent } from './dead/get-dead-event.ts';
import { listDeadEvents } from './dead/list-dead-events.ts';
import { requeueDeadEvent } from './dead/requeue-dead-event.ts';
import { requeueDeadEvents } from './dead/requeue-dead-events.ts';
import { createKey } from './keys/create-key.ts';
import { listAddresses } from './keys/list-addresses.ts';
import { listKeys } from './keys/list-keys.ts';
import { revokeKey } from './keys/revoke-key.ts';
import { rotateKey } from './keys/rotate-key.ts';
import { unblockAddress } from './keys/unblock-address.ts';
import { getQueue } from './queues/get-queue.ts';
import { listQueues } from './queues/list-queues.ts';
import { pauseQueue } from './queues/pause-queue.ts';
import { resumeQueue } from './queues/resume-queue.ts';
import { retryQueue } from './queues/retry-queue.ts';
import { listEndpoints } from './services/list-endpoints.ts';
import { listServices } from './services/list-services.ts';
import { republishEvents } from './services/republish-events.ts';
import { getTrace } from './traces/get-trace.ts';
import { listTraces } from './traces/list-traces.ts';

/** The control plane's operations. */
export const adminOperations: Implements<typeof contract.adminOperations, AdminResources> = {
  createAccount,
  listAccounts,
  getAccount,
  updateAccount,
  createKey,
  listKeys,
  rotateKey,
  revokeKey,
  republishEvents,
  addMember,
  listMembers,
  removeMember,
  listAddresses,
  unblockAddress,
  listQueues,
  getQueue,
  pauseQueue,
  resumeQueue,
  retryQueue,
  listDeadEvents,
  getDeadEvent,
  requeueDeadEvent,
  requeueDeadEvents,
  dropDeadEvent,
  listEndpoints,
  listServices,
  listAudit,
  listTraces,
  getTrace,
};
