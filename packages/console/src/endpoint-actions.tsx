import type { OperatedEndpoint } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { call } from './api.ts';
import { type Action, reasonField, reasonIn } from './ui/action.tsx';
import { countOf } from './ui/format.ts';

type Named = Pick<OperatedEndpoint, 'id' | 'url'>;

/** Selectable periods by their length in seconds. */
export const periods: Record<string, string> = {
  900: '15 minutes',
  3600: '1 hour',
  21600: '6 hours',
  86400: '1 day',
  259200: '3 days',
  604740: '7 days',
};

/** Periods of a replay. Deliveries are kept for 30 days; failed messages can be resent only for 7. */
const replayPeriods: Record<string, string> = { ...periods, 2591940: '30 days' };

/** Returns the start of a period that ends now, in ISO 8601. */
export function startOf(period: FormDataEntryValue | null): string {
  return new Date(Date.now() - Number(period) * 1_000).toISOString();
}

/** Enables a disabled endpoint. */
export function enableAction({ id, url }: Named): Action {
  return {
    title: `Enable ${url}`,
    confirm: 'Enable',
    touches: 'From now on, events are sent to this endpoint. To send the events that it missed, replay them.',
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
          . Replay the events that it missed.
        </>
      );
    },
  };
}

/** Default period of a replay if it is unknown since when events are missing. */
const anyPeriod = '86400';

/** Returns the shortest period that includes a time in milliseconds, or else the longest. */
function periodSince(time: number): string {
  const seconds = Object.keys(replayPeriods);
  return seconds.find((each) => Date.now() - Number(each) * 1_000 < time) ?? seconds.at(-1)!;
}

/** Replays the events that an endpoint missed. `missedSince` is in milliseconds; null if it is unknown. */
export function replayAction({ id, url }: Named, missedSince: number | null): Action {
  return {
    title: `Replay to ${url}`,
    confirm: 'Replay',
    touches: 'Resends the failed and skipped deliveries of the period in the background.',
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
