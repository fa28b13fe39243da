import { adminOperations, type QueuePause } from '@customer-platform/contracts/accounts';
import { pauseText } from './columns.ts';
import { type Body, type ControlPlane, send } from './control-plane-client.ts';
import { printable } from './text.ts';

/**
 * Returns, before a queue is resumed, what to say of a resume that lifts no pause, which the control plane takes for done: the pauses that there
 * are. Undefined where the queue has a pause of exactly this account and endpoint. Throws where the queue cannot be read.
 */
export async function nothingToResume(
  plane: ControlPlane,
  resumePath: string,
  { account = null, endpoint = null }: Partial<Pick<QueuePause, 'account' | 'endpoint'>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = resumePath.replace(/\/resume$/, '');
  const { body, now } = await send(plane, { ...adminOperations.getQueue, path }, {}, signal);
  const { pauses } = body as Body<'getQueue'>;
  if (pauses.some((pause) => pause.account === account && pause.endpoint === endpoint)) return undefined;
  const others = pauses.map((pause) => `paused: ${printable(pauseText(pause, now))}`);
  return ['nothing to resume: that was not paused', ...others].join('\n');
}
