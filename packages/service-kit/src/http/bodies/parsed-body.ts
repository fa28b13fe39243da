import type { ServerResponse } from 'node:http';
import { ClientGone } from '../../fairness/fair-permits.ts';
import { WorkMeter } from '../../fairness/work-meter.ts';

/** Gives a body as its operation, or its hook, takes it, or throws what is wrong with it. */
export type ParsedBody<Body = Record<string, unknown>> = () => Body;

/** Bytes of the smallest body that is metered: the dearest of a megabyte take fifty milliseconds or more, of 16 KiB six, of this much less than one. */
const leastBytes = 2_048;

/** Bodies of this process; an owner's alone use at most a fifth of the event loop. */
const processMeter = new WorkMeter({ freeMs: 5, restRatio: 4 });

/** A body that has arrived: its size in bytes, the owner of its account, and the response that somebody waits for. */
export interface ArrivedBody {
  bytes: number;
  owner: string;
  response: Pick<ServerResponse, 'closed'>;
}

/**
 * Parses a large body, once its owner has rested from those before that were dear; a small one is parsed when it is asked for. Throws ClientGone
 * where nobody waits for the response by then.
 */
export async function parsedBody<Body>(
  parse: ParsedBody<Body>,
  { bytes, owner, response }: ArrivedBody,
  meter = processMeter,
): Promise<ParsedBody<Body>> {
  if (bytes < leastBytes) return parse;
  return await meter.result(owner, () => {
    if (response.closed) throw new ClientGone();
    return settled(parse);
  });
}

/** Parses a body; what is wrong with it is thrown when it is asked for: what the path names is looked for before that. */
function settled<Body>(parse: ParsedBody<Body>): ParsedBody<Body> {
  try {
    const body = parse();
    return () => body;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
