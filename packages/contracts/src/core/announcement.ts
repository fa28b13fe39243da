import { z } from 'zod';
import { moduleNames, type ServiceName, serviceNames } from './modules.ts';
import type { Operation } from './operation.ts';
import { internalRequest } from './request.ts';

/** The part of an operation that the gateway routes by. */
export type RoutedOperation = Pick<
  Operation,
  'key' | 'service' | 'method' | 'path' | 'gate' | 'bodyLimit' | 'streams'
> & {
  readonly scope: string | null;
};

const segment = String.raw`(?:[a-z0-9][a-z0-9._-]*|\{[a-z][a-z0-9_]*\})`;

/** One operation as its service announces it; a malformed one is refused by itself. */
export const AnnouncedOperation = z.object({
  key: z.string().regex(/^[a-z][A-Za-z0-9]{0,59}$/, 'must be a camelCase name of at most 60 characters'),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z
    .string()
    .max(200)
    .regex(new RegExp(`^(?:/${segment})+$`), 'must be segments of a-z, 0-9, ., _ and -, or {parameters}'),
  scope: z
    .string()
    .max(60)
    .regex(/^[a-z]+(?:\.[a-z]+)?:(?:read|write)$/, 'must be module:read, module:write, or such of a resource')
    .nullable(),
  gate: z.enum(moduleNames).nullable(),
  /** In bytes. */
  bodyLimit: z
    .int()
    .min(1)
    .max(64 * 1_048_576)
    .optional(),
  streams: z.literal(true).optional(),
});

/**
 * What a process says when it starts, and every 20 s while it runs: its operations. The subject that it is published under names its
 * service, which NATS' permissions hold each to.
 */
export const Announcement = z.object({
  instance: z.string().max(100),
  /** Of the deployable; of two processes of a service the one with the higher version is believed. */
  version: z.string().regex(/^\d{1,6}\.\d{1,6}\.\d{1,6}$/, 'must be three numbers, such as 1.4.0'),
  startedAt: z.iso.datetime(),
  /** Digest of the contracts that it was built with: with the same, a gateway describes its operations by its own. */
  contract: z.string().max(100),
  operations: z.array(z.unknown()).max(500),
});
export type Announcement = z.infer<typeof Announcement>;

/** Topic of the announcements among each service's news. */
export const announcementTopic = 'operations';

/** Has every process of every service announce itself now: for a gateway that has just started. */
export const announceOperations = { key: 'announceOperations', input: z.object({}), reply: z.object({}) } as const;

/** Asks a service for its part of the OpenAPI document: JSON, compressed with gzip, in base64. */
export function describeApi<Service extends ServiceName>(service: Service) {
  return internalRequest('describeApi', service, z.object({}), z.object({ document: z.string() }));
}

/** Every service that announces operations: all but the gateway. */
export const announcingServices = serviceNames.filter((name) => name !== 'gateway');
