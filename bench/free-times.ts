import type { ProcessPlatform } from '@customer-platform/testkit';
import { type CalendarAccount, firstDay, openAccount } from './calendar-account.ts';
import { atMost, type Bench, exactly, type Figure, percentile, told } from './figures.ts';
import { closedLoop, requestBytes } from './load.ts';
import { startPlatform } from './platform.ts';
import { cpuSeconds } from './process-usage.ts';
import { statementsOf } from './statement-log.ts';

const days = 30;
const teammates = 10;
const appointments = 5_000;
const calls = 400;
const slotMinutes = 15;
const hours: [string, string] = ['08:00', '18:00'];
const slotsPerDay = 40;

const day = (number: number) => new Date(firstDay() + number * 86_400_000).toISOString().slice(0, 10);

export const freeTimesBench: Bench = {
  name: 'free-times',
  summary: `free times of ${days} days and ${teammates} teammates with ${appointments} appointments`,
  async measure() {
    const platform = await startPlatform();
    try {
      const account = await openAccount(platform, teammates, hours);
      const shape = { duration_minutes: slotMinutes, slot_interval_minutes: slotMinutes, window_days: 365 };
      const type = await account.client.createBookingType({
        body: { ...shape, name: 'Call', staff: account.teammates },
      });
      await fill(account, type.id);
      return [...(await times(platform, account, type.id)), ...(await statements(platform, account, type.id))];
    } finally {
      await platform.stop();
    }
  },
};

/** Books appointments with each teammate in turn, evenly over the days, so that free times differ between teammates. */
async function fill(account: CalendarAccount, type: number): Promise<void> {
  const each = appointments / teammates;
  const slots = days * slotsPerDay;
  // Coprime with the slots: stepping by it visits each of them once.
  const stride = 487;
  let made = 0;
  const next = () => {
    if (made === appointments) return undefined;
    const mate = made % teammates;
    const slot = ((Math.floor(made / teammates) + mate * each) * stride) % slots;
    made++;
    const minutes = 8 * 60 + (slot % slotsPerDay) * slotMinutes;
    const startsAt = new Date(firstDay() + Math.floor(slot / slotsPerDay) * 86_400_000 + minutes * 60_000);
    return account.booking({ type, startsAt, staff: account.teammates[mate]! });
  };
  const result = await closedLoop({ url: account.url, connections: 16, next });
  if (result.statuses[201] !== appointments)
    throw new Error(`not all appointments were booked: ${JSON.stringify(result.statuses)}`);
}

function freeTimes(account: CalendarAccount, type: number, span: number, staff?: string): Buffer {
  const only = staff === undefined ? '' : `&staff=${encodeURIComponent(staff)}`;
  const path = `/v1/calendar/free-times?booking_type=${type}&from=${day(0)}&to=${day(span)}&limit=1000${only}`;
  return requestBytes(account.url, `GET ${path}`, { authorization: `Bearer ${account.key}` });
}

/** Measures sequential calls through the gateway. */
async function times(platform: ProcessPlatform, account: CalendarAccount, type: number): Promise<Figure[]> {
  const pid = platform.pidOf('calendar')!;
  const request = freeTimes(account, type, days);
  let left = 0;
  let listed = 0;
  const load = {
    url: account.url,
    connections: 1,
    next: () => (left-- > 0 ? request : undefined),
    onResponse: ({ status, body }: { status: number; body: Buffer }) => {
      if (status !== 200) throw new Error(`free times got ${status}: ${body.toString().slice(0, 300)}`);
      if (listed === 0) listed = JSON.parse(body.toString()).data.length;
    },
  };
  const call = (count: number) => {
    left = count;
    return closedLoop(load);
  };
  await call(calls / 4);
  const before = cpuSeconds(pid);
  const { latenciesMs } = await call(calls);
  const micros = ((cpuSeconds(pid) - before) / calls) * 1e6;
  const what = `${days} days × ${teammates} teammates × ${appointments} appointments`;
  return [
    atMost(`${what}: p50`, percentile(latenciesMs, 0.5), 15, 'ms'),
    atMost(`${what}: p99`, percentile(latenciesMs, 0.99), 60, 'ms'),
    told('free starts in that response', listed),
    told('CPU of that call: calendar', micros / 1_000, 'ms'),
  ];
}

/** Measures the statements per call for windows and teams of different sizes: their number must not depend on the size. */
async function statements(platform: ProcessPlatform, account: CalendarAccount, type: number): Promise<Figure[]> {
  const requests = [
    freeTimes(account, type, 1, account.teammates[0]),
    freeTimes(account, type, 1),
    freeTimes(account, type, days, account.teammates[0]),
    freeTimes(account, type, days),
  ];
  const repeats = 20;
  const counts: number[] = [];
  for (const request of requests) {
    let left = repeats;
    const next = () => (left-- > 0 ? request : undefined);
    const logged = await statementsOf(platform.databaseUrl, 'calendar', () =>
      closedLoop({ url: account.url, connections: 1, next }),
    );
    const byText = Map.groupBy(logged, ({ text }) => text);
    // The relay and the jobs keep running: statements sent less often than the calls are theirs.
    counts.push([...byText.values()].reduce((sum, { length }) => sum + Math.floor(length / repeats), 0));
  }
  return [
    exactly(`statements a call: 1 and ${days} days, 1 and ${teammates} teammates`, counts.join(', '), '1, 1, 1, 1'),
  ];
}
