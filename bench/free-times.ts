import type { ProcessPlatform } from '@customer-platform/testkit';
import { bookableSlot, type CalendarAccount, dateOf, openAccount, slotsOfDay } from './calendar-account.ts';
import { atMost, type Bench, exactly, type Figure, percentile, told } from './figures.ts';
import { startPlatform, watchCpu } from './harness.ts';
import { closedLoop, requestBytes, several } from './load.ts';
import { sum } from './process-usage.ts';
import { statementsOf } from './statement-log.ts';

const days = 30;
const teammates = 10;
const appointments = 5_000;
const calls = 400;
/** Repeats of a call while its statements are counted. */
const repeats = 20;

export const freeTimesBench: Bench = {
  name: 'free-times',
  summary: `free times of ${days} days and ${teammates} teammates with ${appointments} appointments`,
  async measure() {
    const platform = await startPlatform();
    const account = await openAccount(platform, teammates, ['08:00', '18:00']);
    const type = await account.bookingType();
    await fill(account, type);
    return [...(await times(platform, account, type)), ...(await statements(platform, account, type))];
  },
};

/** Books appointments with each teammate in turn, evenly over the days, so that free times differ between teammates. */
async function fill(account: CalendarAccount, type: number): Promise<void> {
  const each = appointments / teammates;
  // Coprime with the number of slots: stepping by it visits each slot once.
  const stride = 487;
  let made = 0;
  const next = () => {
    const mate = made % teammates;
    const slot = ((Math.floor(made++ / teammates) + mate * each) * stride) % (days * slotsOfDay);
    return account.booking({ type, startsAt: bookableSlot(slot), staff: account.teammates[mate]! });
  };
  await closedLoop({ url: account.url, connections: 16, next: several(appointments, next), expected: 201 });
}

function freeTimes(account: CalendarAccount, type: number, span: number, staff?: string): Buffer {
  const only = staff === undefined ? '' : `&staff=${encodeURIComponent(staff)}`;
  const path = `/v1/calendar/free-times?booking_type=${type}&from=${dateOf(0)}&to=${dateOf(span)}&limit=1000${only}`;
  return requestBytes(account.url, `GET ${path}`, { authorization: `Bearer ${account.key}` });
}

/** Measures sequential calls through the gateway. */
async function times(platform: ProcessPlatform, account: CalendarAccount, type: number): Promise<Figure[]> {
  const request = freeTimes(account, type, days);
  let listed = 0;
  const call = (count: number) =>
    closedLoop({
      url: account.url,
      connections: 1,
      next: several(count, () => request),
      expected: 200,
      onResponse: ({ body }) => {
        listed ||= JSON.parse(body.toString()).data.length;
      },
    });
  await call(calls / 4);
  const used = watchCpu(platform, ['calendar']);
  const { latenciesMs } = await call(calls);
  const [micros] = used(calls);
  const what = `${days} days × ${teammates} teammates × ${appointments} appointments`;
  return [
    atMost(`${what}: p50`, percentile(latenciesMs, 0.5), 15, 'ms'),
    atMost(`${what}: p99`, percentile(latenciesMs, 0.99), 60, 'ms'),
    told('free starts in that response', listed),
    told('CPU of that call: calendar', micros! / 1_000, 'ms'),
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
  const counts: number[] = [];
  for (const request of requests) {
    const load = { url: account.url, connections: 1, next: several(repeats, () => request) };
    const logged = await statementsOf(platform.databaseUrl, 'calendar', () => closedLoop(load));
    const byText = Map.groupBy(logged, ({ text }) => text);
    // The relay and the jobs keep running: statements that occur less often than the calls are theirs.
    counts.push(sum([...byText.values()].map(({ length }) => Math.floor(length / repeats))));
  }
  return [
    exactly(`statements a call: 1 and ${days} days, 1 and ${teammates} teammates`, counts.join(', '), '1, 1, 1, 1'),
  ];
}
