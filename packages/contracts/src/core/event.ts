import { z } from 'zod';
import { timestamp } from './fields.ts';
import type { ServiceName } from './modules.ts';

/** Mode of a key and of its account: a live account, or its sandbox. */
export const accountMode = z.enum(['live', 'test']);

/** One kind of event: the service that publishes it and its data. Public kinds reach webhooks; internal ones never leave the platform. */
export interface EventDefinition<Kind extends string = string, Data extends z.ZodType = z.ZodType> {
  readonly kind: Kind;
  readonly service: ServiceName;
  readonly audience: 'public' | 'internal';
  readonly data: Data;
  /** Sentences for the reference on when it is sent; public kinds have them. */
  readonly sent?: string;
}

/** The service that publishes each family of public events: the first part of their kinds. */
const familyOwners = {
  appointment: 'calendar',
  audience: 'cdp',
  channel: 'messaging',
  contact: 'cdp',
  deal: 'crm',
  knowledge: 'agents',
  message: 'messaging',
  order: 'catalogue',
  plan: 'agents',
  webhook: 'webhooks',
} as const satisfies Readonly<Record<string, ServiceName>>;
type Families = typeof familyOwners;
type FamilyOf<Service> = { [F in keyof Families]: Families[F] extends Service ? F : never }[keyof Families];

/** Returns the service that alone publishes a kind; undefined for a family that these contracts do not know. */
export function ownerOf(kind: string): ServiceName | undefined {
  const family = kind.split('.', 1)[0]!;
  return Object.hasOwn(familyOwners, family) ? familyOwners[family as keyof Families] : undefined;
}

/** Declares the events of one service; `publicEvent` kinds are delivered to webhooks, `internalEvent` kinds feed other services. */
export function eventsOf<const Service extends ServiceName>(service: Service) {
  return {
    publicEvent<const Kind extends `${FamilyOf<Service>}.${string}`, Data extends z.ZodObject>(
      kind: Kind,
      data: Data,
      sent: string,
    ): EventDefinition<Kind, Data> & { readonly audience: 'public'; readonly sent: string } {
      return Object.freeze({ kind, service, audience: 'public', data, sent });
    },
    internalEvent<const Kind extends string, Data extends z.ZodObject>(
      kind: Kind,
      data: Data,
    ): EventDefinition<Kind, Data> {
      return Object.freeze({ kind, service, audience: 'internal', data });
    },
  };
}

/** Data of an event. */
export type EventData<Definition extends EventDefinition> = z.output<Definition['data']>;

/** The fields of events of all kinds, beside their type and data. */
export const eventEnvelope = z
  .object({
    id: z.guid().meta({ description: 'Id of the event: the same in each try of each delivery.' }),
    timestamp: timestamp.meta({ description: 'When it happened.' }),
    account: z.guid().meta({ description: "The account's id." }),
    mode: accountMode.meta({ description: 'Whether it happened in the live account or in its sandbox.' }),
  })
  .meta({ id: 'EventEnvelope', description: 'The fields of events of all kinds, beside their type and data.' });

/** The envelope of every event, as webhooks send it and `GET /v1/events` shows it. */
export function envelopeOf<Data extends z.ZodType>(kind: string, data: Data) {
  return eventEnvelope.extend({
    type: z.literal(kind).meta({ description: 'Kind of the event.' }),
    data: data.meta({ description: 'What the event is about.' }),
  });
}

/** An event's envelope with typed data. */
export interface Envelope<Data = unknown> {
  id: string;
  type: string;
  timestamp: string;
  account: string;
  mode: 'live' | 'test';
  data: Data;
}

/** Former values of changed fields, by the resource's field names. */
export const previous = z
  .record(z.string(), z.unknown())
  .meta({ id: 'PreviousValues', description: 'Former values of the fields that changed.' })
  .optional();
