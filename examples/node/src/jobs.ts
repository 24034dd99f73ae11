import { defineJob, Pumphouse } from '@pumphouse/client';
import { z } from 'zod';

/** What producer and worker share: the kinds of jobs, with the types of their data and results. */
export const resize = defineJob({
  queue: 'images',
  type: 'resize',
  input: z.object({ file: z.string().min(1), width: z.int().positive().default(640) }),
  output: z.object({ file: z.string(), bytes: z.int() }),
  tries: 3,
  retry: { kind: 'exponential', delayMs: 1_000, maxMs: 60_000, jitter: 0.2 },
});

/** A client of the server that the environment names; its token is in PUMPHOUSE_TOKEN. */
export function connect(): Pumphouse {
  const { PUMPHOUSE_URL: url = 'http://127.0.0.1:7777', PUMPHOUSE_NAMESPACE: namespace = 'demo' } =
    process.env;
  return new Pumphouse({ url, namespace });
}
