import { askUntil, type JsonResponse } from './json-request.ts';

/** How long steps are retried, in milliseconds: the platform may have just started, and events take time to reach other services. */
export const patienceMs = 30_000;

/** Runs one step and prints whether it succeeded. */
export async function step<Result>(promise: string, work: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  try {
    const result = await work();
    console.log(`ok      ${promise} (${Math.round(performance.now() - startedAt)} ms)`);
    return result;
  } catch (error) {
    console.log(`FAILED  ${promise}`);
    throw error;
  }
}

/** @throws Error that shows the response if its status differs */
export function expectStatus<Body>(response: JsonResponse<Body>, status: number): JsonResponse<Body> {
  if (response.status === status) return response;
  throw new Error(`the status was ${response.status}, expected ${status}: ${response.text.slice(0, 500)}`);
}

export function expectThat(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

/**
 * Sends a new request while the failure may be temporary: 503 of a service that has just started and, with
 * waitForEvents, 400 until another service has received an event.
 */
export async function eventually<Body>(send: () => Promise<JsonResponse<Body>>, status: number, waitForEvents = false) {
  const isTemporary = (response: JsonResponse<Body>) =>
    response.status === 503 || (waitForEvents && response.status === 400);
  const describe = (response: JsonResponse<Body>) => `status ${response.status}: ${response.text.slice(0, 500)}`;
  return expectStatus(await askUntil(send, (response) => !isTemporary(response), describe, patienceMs), status);
}
