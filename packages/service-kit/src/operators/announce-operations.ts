import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { contractDigest, describeServices } from '@customer-platform/contracts/api-document';
import {
  AnnouncedOperation,
  type Announcement,
  announcementTopic,
  announceOperations,
  describeApi,
  type Operation,
  type ServiceName,
} from '@customer-platform/contracts/core';
import type { Bus } from '../bus/bus.ts';
import { processInstance, processStartedAt } from '../telemetry/telemetry.ts';

/** Interval of announcements. Gateways consider a process ended after three intervals of silence. */
const everyMs = 20_000;

/**
 * Announces a service's operations to every gateway: now, every 20 s, and when one asks. The returned function stops it. Also describes
 * the service's part of the API to a gateway with other contracts.
 */
export function announce(
  bus: Bus,
  { service, version, operations }: { service: ServiceName; version: string; operations: readonly Operation[] },
): () => void {
  const announcement: Announcement = {
    instance: processInstance,
    version,
    startedAt: processStartedAt,
    contract: contractDigest(),
    operations: operations.map((operation) => AnnouncedOperation.parse(operation)),
  };
  const payload = JSON.stringify(announcement);
  const send = () => bus.publishNews(announcementTopic, payload);
  bus.handleAll(announceOperations, async () => {
    send();
    return {};
  });
  let described: Promise<string> | undefined;
  bus.handle(describeApi(service), async () => {
    described ??= describe(service);
    return { document: await described };
  });
  send();
  const timer = setInterval(send, everyMs);
  return () => clearInterval(timer);
}

async function describe(service: ServiceName): Promise<string> {
  const parts = await describeServices([service]);
  return (await promisify(gzip)(parts.get(service)!)).toString('base64');
}
