import type { World } from './world.ts';

/** Fault that a drill causes. */
export interface Fault {
  name: string;
  /** One line, for the drill's output. */
  what: string;
  /** Alerts that the fault must cause, with their labels. */
  alerts: { name: string; labels: Record<string, string> }[];
  /** Page that `check --account` must name, for a single customer's problem without an alert. */
  runbook?: string;
  cause(world: World): Promise<Ongoing>;
}

/** Returns the signs that show a fault to the engineer on call. */
export function signsOf({ alerts, runbook }: Fault): string {
  return [...alerts.map(({ name }) => name), ...(runbook ? [`check: ${runbook}`] : [])].join(', ');
}

/** Fault that is in effect. */
export interface Ongoing {
  /** Affected account, if the fault has a runbook for the check. */
  account?: string;
  /** Follows the runbook. */
  remedy(): Promise<void>;
  /** Proves what the load does not prove, after the alert has cleared. */
  prove?(): Promise<void>;
  /** Ends the fault and all that it started, in any state. Harmless after the remedy. */
  end(): Promise<void>;
}
