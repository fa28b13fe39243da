import { type Job, processInstance } from '@customer-platform/service-kit';
import { forgetChanges } from './changes/changes.sql.ts';
import type { UseLog } from './keys/key-cache.ts';
import { deleteMinutes, saveMinutes } from './traffic/traffic.sql.ts';
import { type TrafficCounter, trafficKeptMs } from './traffic/traffic-counter.ts';

/** Longer than any gateway goes without polling. A gateway that misses more drops its whole cache. */
const changesKeptMs = 3_600_000;

/** Returns the job that saves when keys were last used. */
export function saveKeyUses(uses: UseLog): Job<undefined> {
  return {
    name: 'save-key-uses',
    everyMs: 30_000,
    async run({ tx }) {
      await uses.save(tx);
      return false;
    },
  };
}

/** Deletes changes that every gateway has seen. */
export const forgetOldChanges: Job<undefined> = {
  name: 'forget-old-changes',
  everyMs: 60_000,
  async run({ tx, now }) {
    const limit = 5_000;
    return (await forgetChanges(tx, new Date(now.getTime() - changesKeptMs), limit)) === limit;
  },
};

/** Returns the job that saves the requests counted by this gateway. */
export function saveTraffic(traffic: TrafficCounter): Job<undefined> {
  return {
    name: 'save-traffic',
    everyMs: 10_000,
    async run({ tx }) {
      const minutes = traffic.unsaved();
      if (minutes.length > 0) await saveMinutes(tx, processInstance, minutes);
      traffic.saved();
      return false;
    },
  };
}

/** Deletes traffic older than a day. */
export const forgetOldTraffic: Job<undefined> = {
  name: 'forget-old-traffic',
  everyMs: 60_000,
  async run({ tx, now }) {
    const limit = 10_000;
    return (await deleteMinutes(tx, new Date(now.getTime() - trafficKeptMs), limit)) === limit;
  },
};
