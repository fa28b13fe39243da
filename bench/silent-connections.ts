import type postgres from 'postgres';

/** Connections that fall silent: no request on them gets a response, and the server does not close them. */
export interface SilentConnections {
  count: number;
  /** Resumes PostgreSQL's processes; those whose client has disconnected end. */
  release(): void;
}

/**
 * Stops the PostgreSQL processes of a service's idle connections; later connections work. A process that is not idle once stopped might
 * hold a lock that others need, so it is resumed.
 */
export async function silenceConnections(sql: postgres.Sql, service: string): Promise<SilentConnections> {
  const connections = () => sql<{ pid: number; state: string }[]>`
    select pid, state from pg_stat_activity where application_name = ${service} and backend_type = 'client backend'`;
  const stopped = new Set<number>();
  const release = () => {
    for (const pid of stopped) signalProcess(pid, 'SIGCONT');
    stopped.clear();
    process.off('exit', release);
  };
  // A stopped process would outlive an interrupted bench.
  process.on('exit', release);
  for (const { pid, state } of await connections()) {
    if (state !== 'idle') continue;
    process.kill(pid, 'SIGSTOP');
    stopped.add(pid);
  }
  for (const { pid, state } of await connections()) {
    if (state === 'idle' || !stopped.delete(pid)) continue;
    signalProcess(pid, 'SIGCONT');
  }
  return { count: stopped.size, release };
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has ended
  }
}
