import type { OperatedEndpoint } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { call } from './api.ts';
import { type Action, reasonField, reasonIn } from './ui/action.tsx';
import { countOf } from './ui/format.ts';

type Named = Pick<OperatedEndpoint, 'id' | 'url'>;

/** Periods to choose from, by their seconds. */
export const periods: Record<string, string> = {
  900: '15 minutes',
  3600: '1 hour',
  21600: '6 hours',
  86400: '1 day',
  259200: '3 days',
  604740: '7 days',
};

/** Those of a replay: deliveries are kept longer than failed messages can be sent again. */
const replayPeriods: Record<string, string> = { ...periods, 2591940: '30 days' };

/** Returns the start of a period that ends now, as the control plane takes it. */
export function startOf(period: FormDataEntryValue | null): string {
  return new Date(Date.now() - Number(period) * 1_000).toISOString();
}

/** Switches an endpoint on again. */
export function enableAction({ id, url }: Named): Action {
  return {
    title: `Enable ${url}`,
    confirm: 'Enable',
    touches: 'Events are sent to this endpoint from now on. A replay sends those that it missed.',
    fields: [reasonField],
    run: async (values) => {
      const params = { endpoint_id: id };
      await call('POST /admin/endpoints/{endpoint_id}/enable', { params, body: reasonIn(values) });
      return (
        <>
          Enabled{' '}
          <Link to="/endpoints/$id" params={{ id }}>
            {url}
          </Link>
          . Replay there what it missed.
        </>
      );
    },
  };
}

/** Default period of a replay where it is not known since when events are missing. */
const anyPeriod = '86400';

/** Returns the shortest period that goes back to a time in milliseconds, or the longest. */
function periodSince(time: number): string {
  const seconds = Object.keys(replayPeriods);
  return seconds.find((each) => Date.now() - Number(each) * 1_000 < time) ?? seconds.at(-1)!;
}

/** Sends again what an endpoint missed, which it did since `missedSince` in milliseconds as far as that is known. */
export function replayAction({ id, url }: Named, missedSince: number | null): Action {
  return {
    title: `Replay to ${url}`,
    confirm: 'Replay',
    touches: 'Deliveries of the period that failed or were skipped are sent again, in the background.',
    fields: [
      {
        name: 'period',
        label: 'Events of the last',
        options: Object.keys(replayPeriods),
        labels: replayPeriods,
        value: missedSince === null ? anyPeriod : periodSince(missedSince),
      },
      reasonField,
    ],
    run: async (values) => {
      const { matched } = await call('POST /admin/endpoints/{endpoint_id}/replay', {
        params: { endpoint_id: id },
        body: { since: startOf(values.get('period')), ...reasonIn(values) },
      });
      return `${countOf(matched, 'delivery is', 'deliveries are')} being replayed to ${url}.`;
    },
  };
}
