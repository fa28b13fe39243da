import type { Queue } from '@customer-platform/contracts/accounts';
import type { ServiceName } from '@customer-platform/contracts/core';
import type { Services } from '../services.ts';
import { toQueue } from './queue-shape.ts';

/** Returns every queue of every service that replies, and the services that are gone. */
export async function readQueues(services: Services, now: Date): Promise<{ data: Queue[]; gone: ServiceName[] }> {
  const [{ replies, gone }, processes] = await Promise.all([
    services.askEach('measureQueues', {}),
    services.processes(),
  ]);
  const data = replies.flatMap(({ service, reply }) =>
    reply.queues.map((measured) => toQueue(service, measured, processes, now)),
  );
  return { data, gone };
}
