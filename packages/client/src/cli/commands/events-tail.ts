import type { Event } from '../../generated/types.ts';
import type { ClientOptions } from '../../requests/send.ts';
import { newestSequence, type Reconnect, streamRecords } from '../../stream/event-stream.ts';
import { type Command, type CommandCall, eventsOption, integerOf, kindsOf } from '../command.ts';
import { UsageError } from '../errors.ts';
import { jsonLine, printable, shortened } from '../text.ts';

/** A line shows at most this many characters of an event's data. */
const shownLength = 160;

export const eventsTail: Command = {
  name: 'events tail',
  parameters: '',
  arity: [0, 0],
  summary: 'Show events as they happen',
  description: 'Shows each event once, with its sequence. With --json, each is one line of JSON. Stop with Ctrl-C.',
  options: [
    eventsOption,
    { name: 'after', value: 'sequence', description: 'Start after the event with this sequence, at most 30 days back' },
  ],
  examples: ['events tail', "events tail --events 'order.*'", 'events tail --after 0 --json'],
  async run(call) {
    const client = await call.clientOptions();
    const options = {
      types: kindsOf(call),
      afterSequence: await afterOf(call, client),
      signal: call.signal,
      onOpen: onFirst(() => call.note('Ready')),
      onReconnect: printReconnect(call),
    };
    for await (const { sequence, text } of streamRecords(client, options)) {
      const event = JSON.parse(text) as Event;
      if (call.isJson) call.print(jsonLine({ ...event, sequence }));
      else call.print(lineOf(sequence, event));
    }
  },
};

/** Returns the sequence of `--after`; undefined without it. Throws UsageError if no event has this sequence yet. */
export async function afterOf(call: CommandCall, client: ClientOptions): Promise<number | undefined> {
  const after = integerOf(call, 'after', [0, Number.MAX_SAFE_INTEGER]);
  if (!after) return after;
  const newest = await newestSequence(client, call.signal);
  if (after <= newest) return after;
  throw new UsageError(`--after must be at most ${newest}, the sequence of the last event, not ${after}`);
}

/** Returns a callback that acts only on its first call. A stream calls onOpen again after each reconnect. */
export function onFirst(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

/** Returns a callback that prints why a stream reconnects. */
export function printReconnect(call: CommandCall): (reconnect: Reconnect) => void {
  return ({ error, afterMs }) => {
    const why = error ? printable(error.message) : 'the platform closed the connection';
    call.note(`Reconnecting in ${(afterMs / 1000).toFixed(1)} s: ${why}`);
  };
}

function lineOf(sequence: number, { timestamp, type, id, data }: Event): string {
  return printable(`${sequence}  ${timestamp}  ${type}  ${id}  ${shortened(JSON.stringify(data), shownLength)}`);
}
