import { useId, useState } from 'react';
import { call } from '../api.ts';
import { type Action, ActionButton, reasonField, reasonIn } from '../ui/action.tsx';
import { countOf } from '../ui/format.ts';
import { Page } from '../ui/page.tsx';
import { serviceNamed, serviceNames } from '../ui/services.ts';
import { exactTime, useNow } from '../ui/time.tsx';

const periods: [label: string, minutes: number][] = [
  ['15 minutes', 15],
  ['1 hour', 60],
  ['6 hours', 360],
  ['1 day', 1_440],
  ['3 days', 4_320],
  ['7 days', 10_079],
];

function republishAction(since: Date, service: string): Action {
  const of = service === '' ? 'every service' : service;
  return {
    title: `Republish events of ${of}`,
    confirm: 'Republish',
    touches: `Sends every event that ${of} has published since ${exactTime(since.getTime())} to the bus again, in batches. The number is shown after the start. Consumers ignore events that they already have.`,
    fields: [reasonField],
    run: async (values) => {
      const name = serviceNamed(service);
      const body = { since: since.toISOString(), ...(name ? { service: name } : {}), ...reasonIn(values) };
      const { matched } = await call('POST /admin/events/republish', { body });
      return `${countOf(matched, 'event is', 'events are')} being published again.`;
    },
  };
}

/** Publishes events again for consumers that lost some. This is part of a restore. */
export function EventsPage() {
  const id = useId();
  const now = useNow();
  const [minutes, setMinutes] = useState(60);
  const [service, setService] = useState('');
  const since = new Date(now - minutes * 60_000);
  return (
    <Page title="Republish events">
      <p className="text">
        Published events are kept for 7 days. Republish them if consumers lost some, such as after a restore of the bus.
        Consumers ignore events that they already have.
      </p>
      <div className="filters">
        <div className="fields">
          <div className="field">
            <label htmlFor={`${id}-period`}>Published within the last</label>
            <select id={`${id}-period`} value={minutes} onChange={(event) => setMinutes(Number(event.target.value))}>
              {periods.map(([label, value]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </div>
          <div className="field">
            <label htmlFor={`${id}-service`}>Service</label>
            <select id={`${id}-service`} value={service} onChange={(event) => setService(event.target.value)}>
              <option value="">all</option>
              {serviceNames.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </div>
          <ActionButton make={() => republishAction(since, service)}>Republish…</ActionButton>
        </div>
      </div>
      <p className="hint">Since {exactTime(since.getTime())}.</p>
    </Page>
  );
}
