import { z } from 'zod';
import { timestamp } from './fields.ts';
import type { ServiceName } from './modules.ts';

/** Mode of a key and its account: `live`, or `test` for the sandbox. */
export const accountMode = z.enum(['live', 'test']);

/** One kind of event: the service that publishes it and its data. Public kinds reach webhooks; internal ones never leave the platform. */
export interface EventDefinition<Kind extends string = string, Data extends z.ZodType = z.ZodType> {
  readonly kind: Kind;
  readonly service: ServiceName;
  readonly audience: 'public' | 'internal';
  readonly data: Data;
  /** Says when the event is sent, for the reference. Every public kind has it. */
  readonly sent?: string;
}

/** The service that publishes each family of public events. A family is the first part of a kind. */
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

/** Returns the only service that may publish a kind; undefined for a family that these contracts do not know. */
export function ownerOf(kind: string): ServiceName | undefined {
  const family = kind.split('.', 1)[0]!;
  return Object.hasOwn(familyOwners, family) ? familyOwners[family as keyof Families] : undefined;
}

/** Declares the events of one service: `publicEvent` kinds go to webhooks, `internalEvent` kinds only to other services. */
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

/** The fields of every event except `type` and `data`. */
export const eventEnvelope = z
  .object({
    id: z.guid().meta({ description: 'Id of the event, the same in every attempt of every delivery.' }),
    timestamp: timestamp.meta({ description: 'Time of the event.' }),
    account: z.guid().meta({ description: 'Id of the account or the sandbox.' }),
    mode: accountMode.meta({ description: 'Whether the event is from the live account or from its sandbox.' }),
  })
  .meta({ id: 'EventEnvelope', description: 'The fields of every event except `type` and `data`.' });

/** The envelope of an event, as in webhooks and `GET /v1/events`. */
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
