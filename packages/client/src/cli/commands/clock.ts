import { createClient } from '../../client.ts';
import { isPlatformError } from '../../errors.ts';
import type { SandboxClock } from '../../generated/types.ts';
import type { Command, CommandCall } from '../command.ts';
import { SetupError, UsageError } from '../errors.ts';
import { durationMs, jsonLine } from '../text.ts';

export const clock: Command = {
  name: 'clock',
  parameters: '',
  arity: [0, 0],
  summary: 'Show the sandbox clock',
  options: [],
  examples: ['clock', 'clock --json'],
  async run(call) {
    const client = createClient(await call.clientOptions());
    show(call, await refusedInLive(call, () => client.sandbox.clock.get({ signal: call.signal })));
  },
};

export const clockAdvance: Command = {
  name: 'clock advance',
  parameters: '<duration or time>',
  arity: [1, 1],
  summary: 'Advance the sandbox clock',
  description:
    'Takes a duration in weeks, days, hours, minutes and seconds, or a time with an offset. Waits until all work that falls due in between is done. Needs a test key with every scope.',
  options: [{ name: 'no-wait', description: 'Do not wait until the clock is ready' }],
  examples: ['clock advance 2d', 'clock advance 1h30m', 'clock advance 2027-01-01T09:00:00+01:00'],
  async run(call) {
    const [text] = call.positionals as [string];
    const client = createClient(await call.clientOptions());
    const { signal } = call;
    const state = await refusedInLive(call, async () => {
      const before = await client.sandbox.clock.get({ signal });
      const body = { advance_to: targetOf(text, before.now) };
      const begun = await client.sandbox.clock.advance({ body, signal });
      if (begun.status === 'ready' || call.isSet('no-wait')) return begun;
      return await client.waitFor.clock({ signal, timeoutMs: Number.POSITIVE_INFINITY });
    });
    show(call, state);
  },
};

function targetOf(text: string, now: string): string {
  const ms = durationMs(text);
  const target = new Date(Date.parse(now) + (ms ?? Number.NaN));
  if (!Number.isNaN(target.getTime())) return target.toISOString();
  if (/^\d{4}-\d{2}-\d{2}T/.test(text)) return text;
  throw new UsageError(
    `The argument must be a duration such as 2d, 90m or 1h30m, or a time such as 2027-01-01T09:00:00Z, not ${JSON.stringify(text)}`,
  );
}

async function refusedInLive<Value>(call: CommandCall, send: () => Promise<Value>): Promise<Value> {
  try {
    return await send();
  } catch (error) {
    const { key } = await call.credentials();
    const isLive = isPlatformError(error, 'not_found') && !key.startsWith('cp_test_');
    throw isLive ? new SetupError('clock needs a test key, cp_test_…: a live account uses real time') : error;
  }
}

function show(call: CommandCall, state: SandboxClock): void {
  const told = state.status === 'ready' ? state.now : `${state.now}, advancing to ${state.target}`;
  call.print(call.isJson ? jsonLine(state) : told);
}
