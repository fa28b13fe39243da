import type { Place, Services } from '../services.ts';
import { type PlacedQueue, toQueue } from './queue-shape.ts';

/** Returns every queue of every service that replies with its place, and the places where a service is gone. */
export async function readQueues(services: Services, now: Date): Promise<{ data: PlacedQueue[]; gone: Place[] }> {
  const [{ replies, gone }, processes] = await Promise.all([
    services.askEach('measureQueues', {}),
    services.processes(),
  ]);
  const data = replies.flatMap(({ place, reply }) =>
    reply.queues.map((measured) => toQueue(place, measured, processes, now)),
  );
  return { data, gone };
}
