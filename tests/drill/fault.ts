import type { World } from './world.ts';

/** Fault that a drill causes. */
export interface Fault {
  name: string;
  /** One line, for the drill's output. */
  what: string;
  /** Alerts that it must set off; labels that they must have. */
  alerts: { name: string; labels: Record<string, string> }[];
  /** Page that `check --account` must name, of what one customer meets: it has no alert. */
  runbook?: string;
  cause(world: World): Promise<Ongoing>;
}

/** Returns what shows a fault to whoever is on call. */
export function signsOf({ alerts, runbook }: Fault): string {
  return [...alerts.map(({ name }) => name), ...(runbook ? [`check: ${runbook}`] : [])].join(', ');
}

/** Fault that was caused. */
export interface Ongoing {
  /** The account that meets it, where the fault has a runbook for the check. */
  account?: string;
  /** Does what the runbook says. */
  remedy(): Promise<void>;
  /** Proves what the load does not, after the alert is clear. */
  prove?(): Promise<void>;
  /** Ends the fault whatever happened, and what it started. Harmless after the remedy. */
  end(): Promise<void>;
}
