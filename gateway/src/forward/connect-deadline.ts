import type { Agent } from 'node:http';
import { connectTimeout } from './connection-errors.ts';

/**
 * Has an agent give up a connection that is not made within `connectMs`: to a machine that is gone nobody is refused, and each request would
 * wait for as long as for a response. Returns the agent.
 */
export function connectsWithin<Connecting extends Agent>(connectMs: number, agent: Connecting): Connecting {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (...options) => {
    const socket = connect(...options);
    if (!socket) return socket;
    const error = () => Object.assign(new Error(`no connection within ${connectMs} ms`), { code: connectTimeout });
    const timer = setTimeout(() => socket.destroy(error()), connectMs);
    const end = () => clearTimeout(timer);
    socket.once('connect', end).once('close', end);
    return socket;
  };
  return agent;
}
