import type { QueueDetails } from '@pumphouse/client';
import { queueCells } from './queue-row.js';

describe('the row of a queue', () => {
  const counts = { ready: 1, scheduled: 0, blocked: 0, stuck: 0, held: 0, leased: 0, dead: 2 };
  const row = (more: Partial<QueueDetails>): string[] =>
    queueCells({
      ...{ queue: 'q', exists: true, pausedAt: null, drainingAt: null, workers: 3, counts },
      ...more,
    } as QueueDetails);

  it('has its state and its counts', () => {
    expect(row({})).toEqual(['q', 'active', '1', '0', '0', '0', '0', '0', '2', '3']);
    const at = '2026-01-01T00:00:00.000Z';
    expect([row({ pausedAt: at })[1], row({ drainingAt: at })[1]]).toEqual(['paused', 'draining']);
  });

  it('says empty for a queue that has neither jobs nor settings', () => {
    expect(row({ exists: false })[1]).toBe('empty');
  });
});
