import { setFlagsFromString } from 'node:v8';

/** A process that runs. */
export interface Running {
  /** Port that it listens on. */
  url: string;
  /** Stops taking requests, finishes those taken, then consumers, jobs and the relay; then closes what it opened. */
  stop(): Promise<void>;
}

/** Argument of a process that only brings its schema up to date: `node main.ts migrate`. */
const migrateCommand = 'migrate';

/** Ends a process that only brings its schema up to date, once it is. */
export function endIfMigrationOnly(service: string): void {
  if (process.argv[2] !== migrateCommand) return;
  console.log(`the schema of ${service} is up to date`);
  process.exit(0);
}

/** Time that a process in which something unexpected was thrown has to end in order. */
const failedEndMs = 60_000;

/**
 * Runs a process until SIGTERM or SIGINT, then drains it; one that is still starting ends at once. A start that fails ends the
 * process with 1 and says why, and so does what is thrown and nobody awaits: in order where that takes `failedEndMs` (60 s) at most.
 */
export async function runProcess(start: () => Promise<Running>, options: { failedEndMs?: number } = {}): Promise<void> {
  const command = process.argv[2];
  if (command !== undefined && command !== migrateCommand) {
    console.error(
      `There is no command ${command}; there is ${migrateCommand}, which brings the schema up to date and ends.`,
    );
    process.exit(2);
  }
  // Else V8 may decide, by what survived the start, to put objects of requests among the old ones for good: one start in some
  // then takes up to twice the processor time and memory under load, all of it for garbage collection.
  setFlagsFromString('--no-allocation-site-pretenuring');
  let running: Running | undefined;
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    if (!running) process.exit(process.exitCode ?? 143);
    running.stop().then(
      () => process.exit(),
      (error: unknown) => {
        console.error('stopping failed:', error);
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  // What nobody foresaw may have left anything half done: the process ends in order, and its supervisor starts another.
  const fail = (error: unknown) => {
    console.error(
      JSON.stringify({
        level: 60,
        time: new Date().toISOString(),
        msg: 'unexpected; the process ends',
        err: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
    );
    process.exitCode = 1;
    // What it waits for may be what broke, and nobody else would end it: it takes no more requests.
    setTimeout(() => process.exit(1), options.failedEndMs ?? failedEndMs);
    stop();
  };
  process.on('uncaughtException', fail).on('unhandledRejection', fail);
  try {
    running = await start();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
