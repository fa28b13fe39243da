import * as accounts from './accounts/operations.ts';
import * as agentKnowledge from './agents/knowledge-operations.ts';
import * as agents from './agents/operations.ts';
import * as agentPlans from './agents/plan-operations.ts';
import * as calendar from './calendar/operations.ts';
import * as calendarSetup from './calendar/setup-operations.ts';
import * as catalogue from './catalogue/operations.ts';
import * as cdpAudiences from './cdp/audience-operations.ts';
import * as cdpConsents from './cdp/consent-operations.ts';
import * as cdpDuplicates from './cdp/duplicate-operations.ts';
import * as cdp from './cdp/operations.ts';
import type { EventDefinition } from './core/event.ts';
import { type EventsIn, isEvent, isOperation, type Operation, type OperationsIn } from './core/operation.ts';
import * as crm from './crm/operations.ts';
import type * as everything from './everything.ts';
import * as messaging from './messaging/operations.ts';
import { eventsByName } from './webhooks/event-kinds.ts';
import * as webhooks from './webhooks/operations.ts';

/** Every public operation by its key; the clients' methods follow from it. A missing operation is a compile error. */
export const operationsByKey = {
  ...accounts,
  ...agents,
  ...agentKnowledge,
  ...agentPlans,
  ...cdp,
  ...cdpConsents,
  ...cdpAudiences,
  ...cdpDuplicates,
  ...calendar,
  ...calendarSetup,
  ...catalogue,
  ...crm,
  ...messaging,
  ...webhooks,
} satisfies OperationsIn<typeof everything>;

/** Every public operation, for the gateway, the OpenAPI document, the clients and the conformance suite. */
export const operations: readonly Operation[] = Object.values(operationsByKey).filter(isOperation);

/** Every event, public and internal. An event missing from `eventsByName` is a compile error. */
export const events: readonly EventDefinition[] = Object.values<unknown>(
  eventsByName satisfies EventsIn<typeof everything>,
).filter(isEvent);
