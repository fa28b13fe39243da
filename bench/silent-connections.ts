import type postgres from 'postgres';

/** Connections that keep silent: nothing on them gets a response, and their server says no good-bye. */
export interface SilentConnections {
  count: number;
  /** Lets PostgreSQL's processes go on; those whose client has left end. */
  release(): void;
}

/**
 * Stops the processes of PostgreSQL that serve a service's idle connections; what is dialled later works. A process that is not idle when it has
 * stopped might hold a lock that all need, so it goes on.
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
  // A stopped process would outlive a bench that is broken off.
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
