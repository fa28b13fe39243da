import type * as contract from '@customer-platform/contracts/accounts';
import type { Implements } from '@customer-platform/service-kit';
import { createAccount, getAccount, listAccounts, updateAccount } from './accounts/accounts.ts';
import { addMember, listMembers, removeMember } from './accounts/members.ts';
import type { AdminResources } from './admin-operation.ts';
import { listAudit } from './audit/list-audit.ts';
import {
  dropDeadEvent,
  getDeadEvent,
  listDeadEvents,
  requeueDeadEvent,
  requeueDeadEvents,
} from './dead/dead-events.ts';
import { createKey, listAddresses, listKeys, revokeKey, rotateKey } from './keys/keys.ts';
import { getQueue, listQueues, pauseQueue, resumeQueue, retryQueue } from './queues/queues.ts';
import { listEndpoints } from './services/list-endpoints.ts';
import { listServices } from './services/list-services.ts';
import { republishEvents } from './services/republish-events.ts';
import { getTrace, listTraces } from './traces/traces.ts';

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
