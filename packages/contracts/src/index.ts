import * as accountEvents from './accounts/events.ts';
import * as accounts from './accounts/operations.ts';
import * as agentEvents from './agents/events.ts';
import * as agentKnowledge from './agents/knowledge-operations.ts';
import * as agents from './agents/operations.ts';
import * as agentPlans from './agents/plan-operations.ts';
import * as calendarEvents from './calendar/events.ts';
import * as calendar from './calendar/operations.ts';
import * as calendarSetup from './calendar/setup-operations.ts';
import * as catalogueEvents from './catalogue/events.ts';
import * as catalogue from './catalogue/operations.ts';
import * as cdpAudiences from './cdp/audience-operations.ts';
import * as cdpConsents from './cdp/consent-operations.ts';
import * as cdpDuplicates from './cdp/duplicate-operations.ts';
import * as cdpEvents from './cdp/events.ts';
import * as cdp from './cdp/operations.ts';
import type { EventDefinition } from './core/event.ts';
import { type EventsIn, isEvent, isOperation, type Operation, type OperationsIn } from './core/operation.ts';
import * as crmEvents from './crm/events.ts';
import * as crm from './crm/operations.ts';
import type * as everything from './everything.ts';
import * as messagingEvents from './messaging/events.ts';
import * as messaging from './messaging/operations.ts';
import * as webhookEvents from './webhooks/events.ts';
import * as webhooks from './webhooks/operations.ts';

/** Every public operation under its key: what the client's methods are. One that is missing here does not compile. */
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

/** Every public operation: what gateway, OpenAPI, client and conformance suite iterate over. */
export const operations: readonly Operation[] = Object.values(operationsByKey).filter(isOperation);

const eventsByName = {
  ...accountEvents,
  ...agentEvents,
  ...cdpEvents,
  ...calendarEvents,
  ...catalogueEvents,
  ...crmEvents,
  ...messagingEvents,
  ...webhookEvents,
} satisfies EventsIn<typeof everything>;

/** Every event, public and internal. */
export const events: readonly EventDefinition[] = Object.values<unknown>(eventsByName).filter(isEvent);
