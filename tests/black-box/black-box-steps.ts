import { askUntil, type JsonResponse } from './json-request.ts';

/** Milliseconds of retries: the platform may have just started, and events take a moment to reach other services. */
export const patienceMs = 30_000;

/** Runs one step and prints whether its promise holds. */
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

/** @throws Error that shows the response if its status is another */
export function expectStatus<Body>(response: JsonResponse<Body>, status: number): JsonResponse<Body> {
  if (response.status === status) return response;
  throw new Error(`the status was ${response.status} where ${status} was due: ${response.text.slice(0, 500)}`);
}

export function expectThat(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

/**
 * Sends again, as a new request, while the failure may be temporary: 503 of a service that has just started and, with
 * newsOnTheirWay, 400 until another service has received an event.
 */
export async function eventually<Body>(
  send: () => Promise<JsonResponse<Body>>,
  status: number,
  newsOnTheirWay = false,
) {
  const mayPass = (response: JsonResponse<Body>) =>
    response.status === 503 || (newsOnTheirWay && response.status === 400);
  const describe = (response: JsonResponse<Body>) => `status ${response.status}: ${response.text.slice(0, 500)}`;
  return expectStatus(await askUntil(send, (response) => !mayPass(response), describe, patienceMs), status);
}
