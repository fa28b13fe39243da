export { listDuringWrite } from './amid-change.ts';
export { busOf } from './bus-of.ts';
export * from './clock.ts';
export { newDataFolder, programsFolder } from './data-folder.ts';
export {
  type DatabaseEnv,
  environment,
  type StartedServices,
  startServices,
  type TestedService,
} from './environment.ts';
export { type EventReader, readStream } from './event-stream.ts';
export * from './export-metrics.ts';
export * from './join-sockets.ts';
export * from './merge-contacts.ts';
export * from './pages-of.ts';
export * from './platform.ts';
export * from './process-platform.ts';
export * from './receiver.ts';
export { type Relay, startRelay } from './relay.ts';
export { rowsRead } from './rows-read.ts';
export { type Servers, startServers } from './servers.ts';
export * from './wait-for.ts';
