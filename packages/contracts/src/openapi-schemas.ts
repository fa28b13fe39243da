import { agentAction, agentStatus, aiProvider, approvalMode } from './agents/agents.ts';
import { crawl, fileType, refresh, sourceKind, sourceStatus } from './agents/knowledge.ts';
import { planStatus, planTrigger, stepStatus } from './agents/plans.ts';
import { blockKind } from './agents/workflow.ts';
import { appointmentSource, appointmentStatus, blockedReason, bookingTypeMode, mode } from './calendar/resources.ts';
import { orderSource, orderStatus } from './catalogue/resources.ts';
import { audienceStatus, ruleMatch } from './cdp/audiences.ts';
import { consentState } from './cdp/consents.ts';
import { duplicateReason } from './cdp/duplicates.ts';
import { channel } from './core/channel.ts';
import { errorStatus } from './core/errors.ts';
import { accountMode } from './core/event.ts';
import { moduleNames } from './core/modules.ts';
import { dealStatus } from './crm/resources.ts';
import type { ApiDocument } from './merged-documents.ts';
import { attemptReason, attemptStatus, messagePurpose, messageStatus, receiptStatus } from './messaging/resources.ts';
import { eventFilter, publicKind } from './webhooks/event-kinds.ts';
import { deliveryReason, deliveryStatus, tryError } from './webhooks/resources.ts';

/** Enums by component name. Generated code gets one type for each enum, wherever it is used. */
const namedEnums: Record<string, { options: readonly string[] }> = {
  AccountMode: accountMode,
  AgentAction: agentAction,
  AgentStatus: agentStatus,
  AiProvider: aiProvider,
  AppointmentMode: mode,
  AppointmentSource: appointmentSource,
  AppointmentStatus: appointmentStatus,
  ApprovalMode: approvalMode,
  AttemptReason: attemptReason,
  AttemptStatus: attemptStatus,
  AudienceStatus: audienceStatus,
  BlockedReason: blockedReason,
  BookingTypeMode: bookingTypeMode,
  Channel: channel,
  ConsentState: consentState,
  CrawlMode: crawl,
  DealStatus: dealStatus,
  DeliveryError: tryError,
  DeliveryReason: deliveryReason,
  DeliveryStatus: deliveryStatus,
  DuplicateReason: duplicateReason,
  ErrorCode: { options: Object.keys(errorStatus) },
  EventFilter: eventFilter,
  EventKind: publicKind,
  KnowledgeFileType: fileType,
  KnowledgeKind: sourceKind,
  KnowledgeRefresh: refresh,
  KnowledgeStatus: sourceStatus,
  MessagePurpose: messagePurpose,
  MessageStatus: messageStatus,
  ModuleName: { options: moduleNames },
  OrderSource: orderSource,
  OrderStatus: orderStatus,
  PlanStatus: planStatus,
  PlanStepStatus: stepStatus,
  PlanTrigger: planTrigger,
  ReceiptStatus: receiptStatus,
  RuleMatch: ruleMatch,
  WorkflowBlockKind: blockKind,
};

type Json = Record<string, unknown>;

interface Document {
  components?: { schemas?: object };
  [key: string]: unknown;
}

/**
 * Returns an OpenAPI document simplified for code generators. Named enums become components, tuples become arrays of a fixed length,
 * defaults move into descriptions, and redundant rules go. Throws an Error if two enums have the same values, or a component has an enum's name.
 */
export function simplified(document: Document): ApiDocument {
  const names = new Map(Object.entries(namedEnums).map(([name, { options }]) => [JSON.stringify(options), name]));
  if (names.size < Object.keys(namedEnums).length) throw new Error('Two of namedEnums have the same values');
  const used = new Map<string, Json>();
  const simple = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(simple);
    if (value === null || typeof value !== 'object') return value;
    const schema = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, simple(each)]));
    if (Array.isArray(schema.prefixItems)) return arrayOf(schema, schema.prefixItems);
    removeRedundant(schema);
    if ('description' in schema && 'default' in schema) describeDefault(schema);
    // A parameter repeats its schema's description, which includes the default.
    if ('in' in schema && 'schema' in schema) schema.description = (schema.schema as Json).description;
    const name = Array.isArray(schema.enum) ? names.get(JSON.stringify(schema.enum)) : undefined;
    if (!name) return schema;
    used.set(name, { type: 'string', enum: schema.enum });
    const { type: _type, enum: _enum, ...rest } = schema;
    return { $ref: `#/components/schemas/${name}`, ...rest };
  };
  const whole = simple(document) as Document;
  const schemas = whole.components?.schemas ?? {};
  const taken = [...used.keys()].find((name) => Object.hasOwn(schemas, name));
  if (taken) throw new Error(`${taken} is the name of an enum and of another component`);
  return { ...whole, components: { ...whole.components, schemas: { ...schemas, ...Object.fromEntries(used) } } };
}

/**
 * Removes rules that tell readers nothing. These are patterns of UUIDs, bounds of safe integers, minimum lengths of 0, `propertyNames` of
 * strings, and rules of an object next to a `$ref`.
 */
function removeRedundant(schema: Json): void {
  // `asOneSchema` changes them only in the component, since zod-openapi calls no override for a reference.
  if (typeof schema.$ref === 'string') {
    delete schema.additionalProperties;
    delete schema.required;
  }
  if (schema.format === 'uuid' && schema.type === 'string') delete schema.pattern;
  if (schema.type === 'integer' && schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.type === 'integer' && schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.type === 'string' && schema.minLength === 0) delete schema.minLength;
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
}

/** Moves the default into the description, since generators treat a field with `default` as always present. */
function describeDefault(schema: Json): void {
  const { default: value } = schema;
  const isEmpty = value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
  const shown = isEmpty ? 'empty' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  schema.description = `${schema.description} Default: ${isEmpty ? shown : `\`${shown}\``}.`;
  delete schema.default;
}

/** Returns a tuple as an array of the same length. Each item matches any of the tuple's items. */
function arrayOf({ prefixItems: _, ...rest }: Json, items: unknown[]): Json {
  const distinct = [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
  const size = { minItems: items.length, maxItems: items.length };
  return { ...rest, items: distinct.length === 1 ? distinct[0] : { anyOf: distinct }, ...size };
}
