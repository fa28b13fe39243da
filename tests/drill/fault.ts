import type { World } from './world.ts';

/** Fault that a drill causes. */
export interface Fault {
  name: string;
  /** One line, for the drill's output. */
  what: string;
  /** Alerts that it must set off; labels that they must have. */
  alerts: { name: string; labels: Record<string, string> }[];
  cause(world: World): Promise<Ongoing>;
}

/** Fault that was caused. */
export interface Ongoing {
  /** Does what the runbook says. */
  remedy(): Promise<void>;
  /** Proves what the load does not, after the alert is clear. */
  prove?(): Promise<void>;
  /** Ends the fault whatever happened, and what it started. Harmless after the remedy. */
  end(): Promise<void>;
}
