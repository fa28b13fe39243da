import { type Answer, askUntil } from './json-request.ts';

/** The platform may have come up a moment ago, and news of one service take a moment to the others. */
export const patienceMs = 30_000;

/** Does one step and says whether what it promises holds. */
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

/** @throws Error that shows the answer when its status is another */
export function expectStatus<Body>(answer: Answer<Body>, status: number): Answer<Body> {
  if (answer.status === status) return answer;
  throw new Error(`answered ${answer.status} where ${status} was due: ${answer.text.slice(0, 500)}`);
}

export function expectThat(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

/**
 * Sends again, as a new request, while the answer is one that a moment may cure: 503 of a service that has just come up
 * and, with newsOnTheirWay, 400 for what another service is about to hear of.
 */
export async function eventually<Body>(send: () => Promise<Answer<Body>>, status: number, newsOnTheirWay = false) {
  const mayPass = (answer: Answer<Body>) => answer.status === 503 || (newsOnTheirWay && answer.status === 400);
  const describe = (answer: Answer<Body>) => `answered ${answer.status}: ${answer.text.slice(0, 500)}`;
  return expectStatus(await askUntil(send, (answer) => !mayPass(answer), describe, patienceMs), status);
}
