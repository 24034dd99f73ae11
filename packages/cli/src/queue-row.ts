import type { QueueDetails } from '@pumphouse/client';
import { cell } from './print.js';

/** Columns of the lists of queues. */
export const QUEUE_HEADINGS = [
  ...['QUEUE', 'STATE', 'READY', 'SCHEDULED', 'BLOCKED', 'STUCK', 'HELD', 'LEASED', 'DEAD', 'WORKERS'],
];

/** Their cells. */
export function queueCells(details: QueueDetails): string[] {
  const { ready, scheduled, blocked, stuck, held, leased, dead } = details.counts;
  const counts = [ready, scheduled, blocked, stuck, held, leased, dead];
  // Servers before 0.2.0 count no workers.
  return [details.queue, stateOf(details), ...counts.map(String), cell(details.workers)];
}

/** `empty`: it has neither jobs nor settings, and is listed for its statistics, recurring jobs or waiting workers. */
function stateOf({ exists, pausedAt, drainingAt }: QueueDetails): string {
  if (!exists) return 'empty';
  if (pausedAt !== null) return 'paused';
  return drainingAt === null ? 'active' : 'draining';
}
