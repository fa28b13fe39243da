import { z } from 'zod';
import { moduleNames, type ServiceName, serviceNames } from './modules.ts';
import type { Operation } from './operation.ts';
import { internalRequest } from './request.ts';

/** The fields of an operation that the gateway routes by. */
export type RoutedOperation = Pick<
  Operation,
  'key' | 'service' | 'method' | 'path' | 'gate' | 'bodyLimit' | 'streams'
> & {
  readonly scope: string | null;
};

const segment = String.raw`(?:[a-z0-9][a-z0-9._-]*|\{[a-z][a-z0-9_]*\})`;

/** One operation as its service announces it. The gateway rejects a malformed operation and accepts the others. */
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
    .regex(/^[a-z]+(?:\.[a-z]+)?:(?:read|write)$/, 'must be a scope such as calendar:read or cdp.contacts:write')
    .nullable(),
  gate: z.enum(moduleNames).nullable(),
  /** Maximum size of the body in bytes. */
  bodyLimit: z
    .int()
    .min(1)
    .max(64 * 1_048_576)
    .optional(),
  streams: z.literal(true).optional(),
});

/**
 * The operations of a process, published when it starts and every 20 s. The subject names the service; NATS permissions limit each
 * service to its own subject.
 */
export const Announcement = z.object({
  instance: z.string().max(100),
  /** Version of the deployable. If two processes of a service announce different operations, the higher version wins. */
  version: z.string().regex(/^\d{1,6}\.\d{1,6}\.\d{1,6}$/, 'must be three numbers, such as 1.4.0'),
  startedAt: z.iso.datetime(),
  /** Digest of the process's contracts. A gateway with the same digest describes the operations by its own contracts. */
  contract: z.string().max(100),
  operations: z.array(z.unknown()).max(500),
});
export type Announcement = z.infer<typeof Announcement>;

/** Topic under which each service publishes its announcements. */
export const announcementTopic = 'operations';

/** Makes every process of every service announce its operations now. A gateway sends it when it starts or reconnects. */
export const announceOperations = { key: 'announceOperations', input: z.object({}), reply: z.object({}) } as const;

/** Asks a service for its part of the OpenAPI document: JSON, compressed with gzip, in base64. */
export function describeApi<Service extends ServiceName>(service: Service) {
  return internalRequest('describeApi', service, z.object({}), z.object({ document: z.string() }));
}

/** Every service that announces operations: all but the gateway. */
export const announcingServices = serviceNames.filter((name) => name !== 'gateway');
