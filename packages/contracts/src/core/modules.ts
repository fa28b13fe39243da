/** Modules that a plan can include and that can be switched off for an account. */
export const moduleNames = ['calendar', 'agents', 'cdp', 'catalogue', 'crm'] as const;
export type ModuleName = (typeof moduleNames)[number];

/** The deployables that serve operations: the gateway and the services. */
export const serviceNames = [
  'gateway',
  'calendar',
  'agents',
  'cdp',
  'catalogue',
  'crm',
  'messaging',
  'webhooks',
] as const;
export type ServiceName = (typeof serviceNames)[number];

/** Path prefixes of each service. Only that service can announce operations at or below them. */
export const servicePrefixes = {
  gateway: ['/v1/me', '/v1/members', '/v1/keys', '/v1/sandbox/clock', '/admin'],
  calendar: ['/v1/calendar'],
  agents: ['/v1/agents'],
  cdp: ['/v1/cdp'],
  catalogue: ['/v1/catalogue'],
  crm: ['/v1/crm'],
  messaging: ['/v1/messages', '/v1/sandbox/inbound'],
  webhooks: ['/v1/webhooks', '/v1/events'],
} as const satisfies Readonly<Record<ServiceName, readonly string[]>>;

/** One of a service's prefixes, or a path below it. */
export type PathOf<Service extends ServiceName> = (typeof servicePrefixes)[Service][number] extends infer Prefix
  ? Prefix extends string
    ? Prefix | `${Prefix}/${string}`
    : never
  : never;

/** Every scope a key can have; a write scope does not imply its read scope. */
export const scopes = [
  'account:read',
  'account:write',
  'calendar:read',
  'calendar:write',
  'agents:read',
  'agents:write',
  'agents.plans:write',
  'agents.knowledge:read',
  'agents.knowledge:write',
  'cdp.contacts:read',
  'cdp.contacts:write',
  'cdp.events:write',
  'cdp.audiences:read',
  'cdp.audiences:write',
  'catalogue.products:read',
  'catalogue.products:write',
  'catalogue.orders:read',
  'catalogue.orders:write',
  'crm.deals:read',
  'crm.deals:write',
  'messages:read',
  'messages:write',
  'webhooks:read',
  'webhooks:write',
] as const;
export type Scope = (typeof scopes)[number];
