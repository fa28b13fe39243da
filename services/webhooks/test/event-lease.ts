import { type Platform, waitFor } from '@customer-platform/testkit';

/** Returns the session name of the process that consumes events; undefined if none does. */
export async function holderOfEvents(platform: Platform): Promise<string | undefined> {
  return (await lockOfEvents(platform))?.name;
}

async function lockOfEvents(platform: Platform): Promise<{ pid: number; name: string } | undefined> {
  const [row] = await platform.database('webhooks')<{ pid: number; name: string }[]>`
    with wanted as (select hashtextextended('webhooksconsumer public-events', 0) as key)
    select a.pid, a.application_name as name from wanted, pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and a.datname = current_database()
      and l.classid::bigint = (key >> 32) & 4294967295 and l.objid::bigint = key & 4294967295`;
  return row;
}

/** Makes another process consume events in place of `before`, by terminating its session until that happens. */
export async function passEventsOn(platform: Platform, before: string): Promise<void> {
  await waitFor('the other process to take events', async () => {
    const lock = await lockOfEvents(platform);
    if (lock?.name === before) await platform.database('webhooks')`select pg_terminate_backend(${lock.pid})`;
    return lock !== undefined && lock.name !== before;
  });
}
