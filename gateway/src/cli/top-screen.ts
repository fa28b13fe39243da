import {
  type adminOperations,
  lagLimitSeconds,
  type OperatedEndpoint,
  type Queue,
} from '@customer-platform/contracts/accounts';
import type { z } from 'zod';
import { errorText, lagOf, pauseText, queueColumns } from './columns.ts';
import { busGoneText, isBusGone } from './gone.ts';
import { table } from './table.ts';
import { age, cut, duration, printable } from './text.ts';

type Body<Key extends 'listQueues' | 'listEndpoints' | 'listServices'> = z.output<
  (typeof adminOperations)[Key]['response']
>;

/** The latest responses, as far as there are any. */
export interface TopState {
  url: string;
  queues?: Body<'listQueues'> | undefined;
  /** Endpoints that fail. */
  endpoints?: Body<'listEndpoints'> | undefined;
  services?: Body<'listServices'> | undefined;
  /** Why the latest request had no result; what is shown is then of an earlier one. */
  problem?: string | undefined;
  /** The control plane's time at its latest response. */
  now: Date | undefined;
  /** Seconds since that response. */
  staleSeconds: number;
}

/** Size of the terminal. */
export interface Size {
  columns: number;
  rows: number;
}

const labelWidth = 8;

/** Returns the lines of the live view: never more than there are rows, none longer than the terminal is wide. */
export function drawTop(state: TopState, size: Size): string[] {
  const room = Math.max(1, Math.floor((size.rows - 3) / 2));
  const head = [headline(state), ...attentionLines(state, room), ''];
  const queues = queueLines(state, { columns: size.columns, rows: size.rows - head.length });
  return [...head, ...queues].slice(0, size.rows).map((line) => cut(line, size.columns));
}

function headline({ url, problem, now, staleSeconds, services }: TopState): string {
  if (problem !== undefined) {
    const since = now === undefined ? 'no response yet' : `as of ${duration(staleSeconds)} ago`;
    return printable(`! ${since}: ${problem}`);
  }
  const time = now === undefined ? 'waiting for the first response' : `${now.toISOString().slice(11, 19)} UTC`;
  const processes = services === undefined ? [] : [processesText(services.data.length)];
  return [printable(url), time, ...processes, 'q ends'].join('  ');
}

function processesText(count: number): string {
  return count === 1 ? '1 process' : `${count} processes`;
}

/** Each kind of what needs attention gets as many lines as the others; the last says how many more there are. */
function attentionLines(state: TopState, room: number): string[] {
  const unknown = unknownOf(state);
  if (unknown.length === 3 && state.problem !== undefined) return [];
  const kinds = attentionOf(state).filter(({ lines }) => lines.length > 0);
  const known = kinds.length === 0 && unknown.length === 0 ? ['nothing needs attention'] : [];
  const asking = unknown.length === 0 ? [] : [`${state.problem ? 'not known' : 'asking for'}: ${unknown.join(', ')}`];
  const each = Math.max(1, Math.floor(room / Math.max(1, kinds.length)));
  const attention = kinds.flatMap(({ label, lines, isMore }) => {
    const labelled = lines.map((line) => `${label.padEnd(labelWidth)}${printable(line)}`);
    if (lines.length <= each && !isMore) return labelled;
    const shown = labelled.slice(0, Math.max(0, each - 1));
    const more = `${lines.length - shown.length}${isMore ? ' or more' : ''}`;
    return [...shown, `${label.padEnd(labelWidth)}${shown.length === 0 ? more : `and ${more}`}`];
  });
  return [...known, ...asking, ...attention];
}

/** Names the parts without any response yet: of these nobody can say that they need no attention. */
function unknownOf({ queues, endpoints, services }: TopState): string[] {
  const parts = { queues, 'endpoints that fail': endpoints, services };
  return Object.entries(parts).flatMap(([name, body]) => (body === undefined ? [name] : []));
}

function attentionOf({ queues, endpoints, services, now }: TopState) {
  const all = queues?.data ?? [];
  const lagging = all.filter(({ lag_seconds }) => lag_seconds > lagLimitSeconds);
  const dead = all.filter((queue) => queue.dead > 0);
  return [
    {
      label: 'lag',
      lines: lagging
        .toSorted((one, other) => other.lag_seconds - one.lag_seconds)
        .map((queue) => `${nameOf(queue)}  ${lagOf(queue)}, ${queue.ready} ready${errorOf(queue, now)}`),
    },
    {
      label: 'paused',
      lines: all.flatMap((queue) => pausesOf(queue, now).map((pause) => `${nameOf(queue)}  ${pause}`)),
    },
    {
      label: 'dead',
      lines: dead
        .toSorted((one, other) => other.dead - one.dead)
        .map((queue) => `${nameOf(queue)}  ${queue.dead}${errorOf(queue, now)}`),
    },
    {
      label: 'failing',
      lines: (endpoints?.data ?? []).map((endpoint) => failingText(endpoint, now)),
      isMore: endpoints?.has_more,
    },
    { label: 'gone', lines: goneOf(queues?.gone ?? [], services?.gone) },
  ];
}

/** A process says of itself that it lives; its queues are in PostgreSQL, so that they can be missing without it. */
function goneOf(queues: string[], services: string[] | undefined): string[] {
  if (isBusGone(services ?? queues)) return [busGoneText];
  const gone = services ?? [];
  const mute = queues.filter((service) => !gone.includes(service));
  return [
    ...gone.map((service) => `${service}  no process responds`),
    ...mute.map((service) => `${service}  its queues are not listed`),
  ];
}

function pausesOf({ paused, pauses }: Queue, now: Date | undefined): string[] {
  if (pauses.length === 0) return paused ? ['whole queue'] : [];
  return pauses.map((pause) => pauseText(pause, now));
}

function nameOf({ service, queue }: Queue): string {
  return `${service} ${queue}`;
}

function errorOf(queue: Queue, now: Date | undefined): string {
  return queue.last_error === undefined ? '' : `; ${errorText(queue, now)}`;
}

function failingText({ id, failing_since, pending, last_error, url }: OperatedEndpoint, now: Date | undefined): string {
  return `${id}  ${age(failing_since, now)}, ${pending} pending: ${last_error ?? '-'}  ${url}`;
}

function queueLines({ queues, now }: TopState, { columns, rows }: Size): string[] {
  if (!queues || rows < 2) return [];
  const deepest = queues.data.toSorted((one, other) => depthOf(other) - depthOf(one)).slice(0, rows - 1);
  return table(deepest, queueColumns(now, 'cut'), columns).lines;
}

function depthOf({ ready, running, waiting }: Queue): number {
  return ready + running + waiting;
}
