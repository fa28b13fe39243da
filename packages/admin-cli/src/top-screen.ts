import type { adminOperations, OperatedEndpoint, Queue } from '@customer-platform/contracts/accounts';
import {
  type AttentionReason,
  attentionOf,
  type GoneText,
  goneText,
  isBusGone,
  silentText,
} from '@customer-platform/contracts/operators';
import type { z } from 'zod';
import { errorText, lagOf, pauseText, queueColumns } from './columns.ts';
import { goneLine } from './gone.ts';
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

/** Each kind of what needs attention has its room; where that is too small, its last line says how many more there are. */
function attentionLines(state: TopState, room: number): string[] {
  const unknown = unknownOf(state);
  if (unknown.length === 3 && state.problem !== undefined) return [];
  const kinds = kindsOf(state).filter(({ lines }) => lines.length > 0);
  const known = kinds.length === 0 && unknown.length === 0 ? ['nothing needs attention'] : [];
  const asking = unknown.length === 0 ? [] : [`${state.problem ? 'not known' : 'asking for'}: ${unknown.join(', ')}`];
  const rooms = divide(
    kinds.map(({ lines, isMore }) => lines.length + (isMore ? 1 : 0)),
    room,
  );
  const attention = kinds.flatMap(({ label, lines, isMore }, index) => {
    const labelled = lines.map((line) => `${label.padEnd(labelWidth)}${printable(line)}`);
    if (lines.length <= rooms[index]! && !isMore) return labelled;
    const shown = labelled.slice(0, rooms[index]! - 1);
    const more = `${lines.length - shown.length}${isMore ? ' or more' : ''}`;
    return [...shown, `${label.padEnd(labelWidth)}${shown.length === 0 ? more : `and ${more}`}`];
  });
  return [...known, ...asking, ...attention];
}

/** Divides lines: each gets as many as the others, at least one, but none more than it wants; what it leaves is for the others. */
function divide(wanted: readonly number[], room: number): number[] {
  const given = new Map<number, number>();
  const fewestFirst = wanted.map((lines, index) => ({ lines, index })).sort((one, other) => one.lines - other.lines);
  let left = room;
  for (const { lines, index } of fewestFirst) {
    const mine = Math.max(1, Math.min(lines, Math.floor(left / (wanted.length - given.size))));
    given.set(index, mine);
    left -= mine;
  }
  return wanted.map((_lines, index) => given.get(index)!);
}

/** Names the parts without any response yet: of these nobody can say that they need no attention. */
function unknownOf({ queues, endpoints, services }: TopState): string[] {
  const parts = { queues, 'endpoints that fail': endpoints, services };
  return Object.entries(parts).flatMap(([name, body]) => (body === undefined ? [name] : []));
}

function kindsOf({ queues, endpoints, services, now }: TopState) {
  const all = queues?.data ?? [];
  const needing = (reason: AttentionReason) => all.filter((queue) => attentionOf(queue).includes(reason));
  return [
    {
      label: 'lag',
      lines: needing('lag')
        .toSorted((one, other) => other.lag_seconds - one.lag_seconds)
        .map((queue) => `${nameOf(queue)}  ${lagOf(queue)}, ${queue.ready} ready${errorOf(queue, now)}`),
    },
    {
      label: 'dead',
      lines: needing('dead')
        .toSorted((one, other) => other.dead - one.dead)
        .map((queue) => `${nameOf(queue)}  ${queue.dead}${errorOf(queue, now)}`),
    },
    {
      label: 'failed',
      lines: needing('failed')
        .toSorted((one, other) => other.failed_waiting! - one.failed_waiting!)
        .map((queue) => `${nameOf(queue)}  ${queue.failed_waiting} wait for another try${errorOf(queue, now)}`),
    },
    {
      label: 'paused',
      lines: needing('paused').flatMap((queue) =>
        queue.pauses.map((pause) => `${nameOf(queue)}  ${pauseText(pause, now)}`),
      ),
    },
    {
      label: 'failing',
      lines: (endpoints?.data ?? []).map((endpoint) => failingText(endpoint, now)),
      isMore: endpoints?.has_more,
    },
    { label: 'gone', lines: goneTexts({ queues, endpoints, services }).map(goneLine) },
  ];
}

/**
 * A process says of itself that it lives; queues and endpoints are in PostgreSQL, so that they can be missing without it. Each service is
 * named once, with what lacks most.
 */
function goneTexts({ queues, endpoints, services }: Pick<TopState, 'queues' | 'endpoints' | 'services'>): GoneText[] {
  const asked = services?.gone ?? queues?.gone ?? [];
  if (isBusGone(asked)) return [goneText(asked, 'processes')!];
  const named = new Set<string>();
  const parts: [gone: string[] | undefined, what: string][] = [
    [services?.gone, 'processes'],
    [queues?.gone, 'queues'],
    [endpoints?.gone, 'endpoints'],
  ];
  return parts.flatMap(([gone = [], what]) => {
    const text = silentText(
      gone.filter((service) => !named.has(service)),
      what,
    );
    for (const service of gone) named.add(service);
    return text ?? [];
  });
}

function nameOf(queue: Queue): string {
  return `${queue.service} ${queue.queue}`;
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
