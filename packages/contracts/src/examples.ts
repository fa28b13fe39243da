import { accountExamples } from './accounts/examples.ts';
import { agentEventExamples, agentExamples } from './agents/examples.ts';
import { calendarEventExamples, calendarExamples } from './calendar/examples.ts';
import { catalogueEventExamples, catalogueExamples } from './catalogue/examples.ts';
import { cdpEventExamples, cdpExamples } from './cdp/examples.ts';
import type { EventExamplesOf, ExamplesOf } from './core/examples.ts';
import { crmEventExamples, crmExamples } from './crm/examples.ts';
import type { operationsByKey } from './index.ts';
import { messagingEventExamples, messagingExamples } from './messaging/examples.ts';
import { eventsByName } from './webhooks/event-kinds.ts';
import { webhookEventExamples, webhookExamples } from './webhooks/examples.ts';

/** Example of an operation's body and response. */
export interface Example {
  readonly body?: Readonly<Record<string, unknown>>;
  readonly response?: unknown;
}

const typedExamples = {
  ...accountExamples,
  ...agentExamples,
  ...calendarExamples,
  ...catalogueExamples,
  ...cdpExamples,
  ...crmExamples,
  ...messagingExamples,
  ...webhookExamples,
} satisfies Record<keyof ExamplesOf<typeof operationsByKey>, Example>;

/**
 * Examples of operations by key, all about one hair salon. The reference shows them, and tests send them to a sandbox. An optional body
 * without an example is `{}`. A file is given as its text.
 */
export const examples: Readonly<Record<string, Example>> = typedExamples;

/** Examples of public events' data, by the events' export names. */
export const eventExamples = {
  ...agentEventExamples,
  ...calendarEventExamples,
  ...catalogueEventExamples,
  ...cdpEventExamples,
  ...crmEventExamples,
  ...messagingEventExamples,
  ...webhookEventExamples,
} satisfies EventExamplesOf<typeof eventsByName>;

const exampleByKind = new Map<string, unknown>(
  Object.entries(eventExamples).map(([name, data]) => [eventsByName[name as keyof typeof eventExamples].kind, data]),
);

/** Returns the example data of a public event kind; undefined for any other kind. */
export function exampleOfEvent(kind: string): unknown {
  return exampleByKind.get(kind);
}

/** Examples of required parameters: all path parameters, and required query parameters. */
export const parameterExamples: Readonly<Record<string, string | number>> = {
  agent_id: agentExamples.getAgent.response.id,
  appointment_id: calendarExamples.getAppointment.response.id,
  audience_id: cdpExamples.getAudience.response.id,
  booking_type: calendarExamples.getBookingType.response.id,
  booking_type_id: calendarExamples.getBookingType.response.id,
  channel: messagingExamples.putChannel.response.channel,
  collection_id: agentExamples.createCollection.response.id,
  contact: cdpExamples.getContact.response.id,
  contact_id: cdpExamples.getContact.response.id,
  deal_id: crmExamples.getDeal.response.id,
  delivery_id: webhookExamples.getDelivery.response.id,
  duplicate_id: cdpExamples.dismissDuplicate.response.id,
  email: calendarExamples.getStaff.response.email,
  endpoint_id: webhookExamples.getEndpoint.response.id,
  event_id: webhookExamples.getEvent.response.id,
  external_id: 'till-1042',
  key_id: accountExamples.createApiKey.response.id,
  member_id: accountExamples.addTeamMember.response.id,
  message_id: messagingExamples.getMessage.response.id,
  number: agentExamples.publishWorkflow.response.number,
  order_id: catalogueExamples.getOrder.response.id,
  pipeline_id: crmExamples.getPipeline.response.id,
  plan_id: agentExamples.getPlan.response.id,
  product_id: catalogueExamples.getProduct.response.id,
  replay_id: webhookExamples.getReplay.response.id,
  source_id: agentExamples.getSource.response.id,
  starts_at: calendarExamples.bookAppointment.response.starts_at,
  step_id: agentExamples.getPlan.response.steps[0]!.id,
  time_off_id: calendarExamples.createTimeOff.response.id,
};
