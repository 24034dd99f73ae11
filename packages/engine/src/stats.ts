import type { DayStats } from '@pumphouse/client';
import { toShown } from '#src/contract/fields/wire';
import { StatsAnswer, statsFacts } from '#src/contract/stats';
import { dayOf } from '#src/domain/day';
import { isQueueName } from '#src/domain/ids';
import type { Engine } from '#src/engine/engine';
import { OTHER_QUEUES } from '#src/engine/stats/statistics';
import { invalid } from './errors.js';
import { type CallOptions, repeat } from './calls.js';

/** Statistics of each day: the method that `stats` of the HTTP client has. */
export class EngineStats {
  constructor(
    private readonly engine: Engine,
    private readonly namespace: string,
  ) {}

  /** Of a queue, or of all together; of a day as `2026-11-21` (UTC), or of today. */
  get(
    { queue, day: text }: { readonly queue?: string; readonly day?: string } = {},
    { signal }: CallOptions = {},
  ): Promise<DayStats> {
    const { stats } = this.engine;
    return repeat(async () => {
      const day = text === undefined ? stats.today() : dayOf(text);
      if (day === undefined) throw invalid('day must be a day as YYYY-MM-DD');
      if (queue !== undefined && queue !== OTHER_QUEUES && !isQueueName(queue))
        throw invalid(`queue must be the name of a queue, or ${OTHER_QUEUES}`);
      const [tally, stillDead] = await Promise.all([
        stats.read(this.namespace, queue ?? null, day),
        queue === OTHER_QUEUES ? null : stats.stillDead(this.namespace, queue ?? null, day),
      ]);
      return toShown(StatsAnswer, statsFacts(queue ?? null, day, tally, stillDead));
    }, signal);
  }
}
