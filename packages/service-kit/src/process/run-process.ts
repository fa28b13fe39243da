import { setFlagsFromString } from 'node:v8';

/** A running process. */
export interface Running {
  /** URL that it listens on. */
  url: string;
  /** Stops taking requests, finishes accepted ones, then consumers, jobs and the relay; then closes what it opened. */
  stop(): Promise<void>;
}

/** Argument of a process that only migrates its schema: `node main.ts migrate`. */
const migrateCommand = 'migrate';

/** Exits a process that only migrates its schema, once the schema is up to date. */
export function endIfMigrationOnly(service: string): void {
  if (process.argv[2] !== migrateCommand) return;
  console.log(`the schema of ${service} is up to date`);
  process.exit(0);
}

/** Time for a process to stop in order after an unexpected error. */
const failedEndMs = 60_000;

/**
 * Runs a process until SIGTERM or SIGINT, then drains it; a process that is still starting exits at once. Exits with 1 if the start fails, and
 * prints why. Also exits with 1 after an unhandled error, in order if that takes at most `failedEndMs` (60 s).
 */
export async function runProcess(start: () => Promise<Running>, options: { failedEndMs?: number } = {}): Promise<void> {
  const command = process.argv[2];
  if (command !== undefined && command !== migrateCommand) {
    console.error(
      `Unknown command ${command}; the only command is ${migrateCommand}, which updates the schema and exits.`,
    );
    process.exit(2);
  }
  // Otherwise V8 may decide by what survives the start to allocate objects of requests in the old generation for good. Some starts then
  // need up to twice the processor time and memory under load, all for garbage collection.
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
  // An unexpected error may leave work half done, so the process stops in order and its supervisor starts another.
  const fail = (error: unknown) => {
    console.error(
      JSON.stringify({
        level: 60,
        time: new Date().toISOString(),
        msg: 'unexpected error; the process exits',
        err: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
    );
    process.exitCode = 1;
    // The stop may wait for the part that broke, and nothing else ends the process, which takes no more requests.
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
