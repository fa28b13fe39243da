/** One event of a stream. `id` and `event` are without line ends. */
export interface StreamedEvent {
  id: string;
  event: string;
  data: string;
}

/** Returns an event as Server-Sent Events have it; a line end in the data stays one for the reader. */
export function eventText({ id, event, data }: StreamedEvent): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data.replaceAll(/\r\n|\r|\n/g, '\ndata: ')}\n\n`;
}

/** A comment, which readers ignore: it says that the stream is alive. */
export const commentText = ': alive\n\n';

/** Returns the line that has a reader wait for `ms` before it connects again. */
export function retryText(ms: number): string {
  return `retry: ${ms}\n\n`;
}
