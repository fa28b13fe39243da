import { isPlatformError } from '../../errors.ts';
import type { Event } from '../../generated/types.ts';
import type { Command } from '../command.ts';
import { SetupError } from '../errors.ts';
import { jsonLine, printable } from '../text.ts';

export const trigger: Command = {
  name: 'trigger',
  parameters: '<kind>',
  arity: [1, 1],
  summary: 'Send an example event',
  description:
    "Sends an example of this kind to your sandbox's endpoints and streams, marked as test. It needs a test key.",
  options: [],
  examples: ['trigger appointment.booked', 'trigger order.declined --json'],
  async run(call) {
    const [type] = call.positionals as [string];
    try {
      const line = { method: 'POST', path: '/v1/events/trigger' };
      const event = await call.send<Event>(line, { body: { type } });
      call.print(call.isJson ? jsonLine(event) : printable(`${event.type} ${event.id} was sent`));
    } catch (error) {
      const { key } = await call.credentials();
      const isLive = isPlatformError(error, 'not_found') && !key.startsWith('cp_test_');
      throw isLive
        ? new SetupError('trigger needs a test key, cp_test_…: a live account gets no example events')
        : error;
    }
  },
};
