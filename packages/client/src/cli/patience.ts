import { isPlatformError } from '../errors.ts';
import { longestTimerMs, longestWaitMs, wait } from '../requests/delays.ts';
import { type RequestLine, type RequestParts, send } from '../requests/send.ts';
import type { CommandCall } from './command.ts';

/** Retries of a request in a long command. A failure would lose more work there than in a short one. */
const retries = 20;
const timeoutMs = 60_000;

/**
 * Sends a request of a long command until it succeeds, and waits as long as the platform asks. `onWait` gets the reason of each wait.
 * Throws a RequestError for a refusal, or if the platform does not respond for minutes.
 */
export async function sendPatiently<Response>(
  call: CommandCall,
  line: RequestLine,
  parts: RequestParts,
  onWait: (reason: string) => void,
): Promise<Response> {
  const onResponse = (_line: RequestLine, status: number, headers: Headers) => {
    const seconds = headers.get('retry-after');
    if (status >= 400 && seconds) onWait(`waiting ${seconds} s, as the platform asks (${status})`);
  };
  const options = { ...(await call.clientOptions()), retries, timeoutMs, onResponse };
  for (;;) {
    try {
      return (await send(options, line, { ...parts, signal: call.signal })).data as Response;
    } catch (error) {
      const askedMs = isPlatformError(error) && error.retryAfter ? error.retryAfter * 1000 : 0;
      if (askedMs <= longestWaitMs) throw error;
      await wait(Math.min(askedMs, longestTimerMs), call.signal);
    }
  }
}
