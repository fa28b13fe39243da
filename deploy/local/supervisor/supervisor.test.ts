import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readableLine } from './log-line.ts';
import type { ManagedProcess } from './managed-process.ts';
import { processIdentity, signalProcess } from './process-record.ts';
import { createSupervisor, type Supervisor } from './supervisor.ts';
import { createTerminal } from './terminal.ts';
import { waitUntil } from './wait-until.ts';

describe('the supervisor', () => {
  let directory = '';
  let lines: string[] = [];
  let supervisor: Supervisor;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'supervisor-'));
    lines = [];
    supervisor = createSupervisor({ write: (line) => lines.push(line), drainMs: 1_000, readyTimeoutMs: 60_000 });
  });

  afterEach(async () => {
    await supervisor.kill();
    rmSync(directory, { recursive: true, force: true });
  });

  const file = (name: string) => join(directory, name);
  const pidOf = (name: string) => Number(readFileSync(file(`${name}.pid`), 'utf8'));
  const starts = (name: string) => readFileSync(file(`${name}.starts`), 'utf8').length;

  /** Returns a process that is ready once it has written its id. On SIGTERM it appends its name to `stopped` and runs `onStop`. */
  function script(name: string, onStop = 'process.exit(0)', atStart = ''): ManagedProcess {
    const source = `
      const { appendFileSync, writeFileSync } = require('node:fs');
      appendFileSync('${name}.starts', '.');
      ${atStart}
      process.on('SIGTERM', () => { appendFileSync('stopped', '${name} '); ${onStop}; });
      console.log('hello'); console.error('careful');
      writeFileSync('${name}.pid', String(process.pid));
      setInterval(() => {}, 1000);`;
    return {
      name,
      command: process.execPath,
      args: ['-e', source],
      env: {},
      cwd: directory,
      stopSignal: 'SIGTERM',
      recordFile: file(`${name}.json`),
      ready: async () => existsSync(file(`${name}.pid`)) && processIdentity(pidOf(name)) !== null,
    };
  }

  it('restarts a killed process with a growing delay, and says so', async () => {
    await supervisor.start([script('calendar')]);
    for (const delay of ['0.25', '0.5']) {
      const killed = pidOf('calendar');
      signalProcess(killed, 'SIGKILL');
      expect(await waitUntil(() => pidOf('calendar') !== killed, 60_000)).toBe(true);
      expect(lines).toContain(`calendar exited with SIGKILL; restarting in ${delay} s`);
    }
    expect(starts('calendar')).toBe(3);
  });

  it('stops the groups in reverse order and restarts nothing', async () => {
    await supervisor.start([script('postgres')]);
    await supervisor.start([script('calendar', 'setTimeout(() => process.exit(0), 200)')]);
    await supervisor.start([script('gateway')]);
    const pids = ['postgres', 'calendar', 'gateway'].map(pidOf);
    await supervisor.stop();
    expect(readFileSync(file('stopped'), 'utf8')).toBe('gateway calendar postgres ');
    expect(pids.map(processIdentity)).toEqual([null, null, null]);
    expect(['postgres', 'calendar', 'gateway'].map((name) => existsSync(file(`${name}.json`)))).toEqual([
      false,
      false,
      false,
    ]);
    expect(lines.filter((line) => line.includes('restarting in'))).toEqual([]);
  });

  it('kills a process that ignores its stop signal', async () => {
    await supervisor.start([script('webhooks', '')]);
    const pid = pidOf('webhooks');
    await supervisor.stop();
    expect(processIdentity(pid)).toBeNull();
    expect(lines).toContain('webhooks did not stop within 1 s and was killed');
  });

  it('kill() ends all processes at once, also while stop() waits', async () => {
    supervisor = createSupervisor({ write: (line) => lines.push(line), drainMs: 60_000 });
    await supervisor.start([script('webhooks', '')]);
    const stopping = supervisor.stop();
    expect(await waitUntil(() => existsSync(file('stopped')), 60_000)).toBe(true);
    await supervisor.kill();
    await stopping;
    expect(processIdentity(pidOf('webhooks'))).toBeNull();
  });

  it('gives up on a process that keeps exiting before it is ready', async () => {
    const starting = supervisor.start([script('cdp', '', 'process.exit(3)')]);
    await expect(starting).rejects.toThrow(/^cdp exited 5 times before it was ready: .*code 3/);
    expect(starts('cdp')).toBe(5);
  });

  it('says that a process that is not ready in time printed nothing', async () => {
    supervisor = createSupervisor({ write: (line) => lines.push(line), drainMs: 1_000, readyTimeoutMs: 200 });
    const silent = { ...script('cdp'), args: ['-e', 'setInterval(() => {}, 1000)'], ready: async () => false };
    await expect(supervisor.start([silent])).rejects.toThrow(
      'cdp was not ready after 0.2 s: it printed nothing; if this machine is busy, run npm start again',
    );
  });

  it('says so when the program does not exist', async () => {
    const missing = { ...script('cdp'), command: file('nothing-here') };
    await expect(supervisor.start([missing])).rejects.toThrow(/could not start \([^()]*ENOENT/);
  });

  it('prepares before every start', async () => {
    const prepared = { ...script('nats'), prepare: async () => appendFileSync(file('prepared'), '.') };
    await supervisor.start([prepared]);
    const first = pidOf('nats');
    signalProcess(first, 'SIGKILL');
    expect(await waitUntil(() => pidOf('nats') !== first, 60_000)).toBe(true);
    expect(readFileSync(file('prepared'), 'utf8')).toBe('..');
  });

  it("shows each line with its process's name, JSON lines as text, and the processes that are not ready", async () => {
    const json = { level: 40, time: '2026-11-30T10:11:12.000Z', service: 'cdp', job: 'x', err: { message: 'gone' } };
    const said: [string[], number][] = [];
    supervisor = createSupervisor({
      write: (line) => lines.push(line),
      shown: readableLine,
      progress: (waiting, all) => said.push([waiting, all]),
    });
    const printing = `console.log('${JSON.stringify({ ...json, msg: 'failed' })}'); console.log('{"level":40');`;
    await supervisor.start([script('cdp', '', printing), script('crm')]);
    expect(await waitUntil(() => lines.length >= 6, 60_000)).toBe(true);
    const ofCdp = ['cdp | 10:11:12 warn  failed: gone job=x', 'cdp | careful', 'cdp | hello', 'cdp | {"level":40'];
    expect([...lines].sort()).toEqual([...ofCdp, 'crm | careful', 'crm | hello']);
    expect(said).toEqual([
      [['cdp', 'crm'], 2],
      [[expect.stringMatching(/^c/)], 2],
    ]);
  });

  it('replaces the progress line on a terminal, and prints only the first one elsewhere', () => {
    const shown = (isTTY: boolean) => {
      const texts: string[] = [];
      const terminal = createTerminal({ isTTY, columns: 27, write: (text: string) => texts.push(text) });
      terminal.starting(['cdp', 'crm'], 2);
      terminal.starting(['crm'], 2);
      terminal.write('line');
      return texts;
    };
    expect(shown(false)).toEqual(['Starting cdp, crm\n', 'line\n']);
    const clear = '\r\x1b[K';
    expect(shown(true)).toEqual([`${clear}Starting cdp, crm`, `${clear}Starting crm (1 of 2 ready`, `${clear}line\n`]);
  });

  it('writes the output to the log file if the process has one', async () => {
    writeFileSync(file('nats.log'), 'of an earlier start');
    await supervisor.start([{ ...script('nats'), logFile: file('nats.log') }]);
    expect(readFileSync(file('nats.log'), 'utf8')).toMatch(/^hello\ncareful\n$/);
    expect(lines).toEqual([]);
  });

  it('can be stopped while it starts', async () => {
    const starting = supervisor.start([{ ...script('calendar'), ready: async () => false }]);
    const outcome = expect(starting).rejects.toThrow(/being stopped/);
    expect(await waitUntil(() => existsSync(file('calendar.pid')), 60_000)).toBe(true);
    await supervisor.stop();
    await outcome;
    expect(processIdentity(pidOf('calendar'))).toBeNull();
  });
});
