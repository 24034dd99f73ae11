import type { FairKey } from '../../contract/queue-settings.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { countFairKeys, readFairKeys } from '../../redis/scripts/extended.js';
import { checkNames } from '../core/checks.js';
import type { ScriptRunner } from '../core/scripts.js';

/** Keys that one call counts: some 100 script calls for each 10,000. */
const MOST_COUNTED = 100_000;

/** The fair keys of a queue that have ready jobs. */
export interface FairKeysSeen {
  /** Those with the most ready jobs, the largest first. */
  readonly keys: readonly FairKey[];
  /** False: the queue has more keys than one call counts. */
  readonly isComplete: boolean;
}

/** Reads the backlogs of fair keys. */
export class FairKeys {
  constructor(private readonly runner: ScriptRunner) {}

  /** @param limit how many keys, at most. @throws {QueueError} `invalid_argument`, or an error of the store */
  async largest(namespace: string, queue: string, limit: number): Promise<FairKeysSeen> {
    checkNames(namespace, queue);
    const { counts, isComplete } = await this.count(namespace, queue);
    const names = [...counts.values()].toSorted((one, other) => other.jobs - one.jobs).slice(0, limit);
    return {
      keys: await this.read(
        namespace,
        queue,
        names.map(({ name }) => name),
      ),
      isComplete,
    };
  }

  /** By the bytes of a name: a step may return a key that another one has returned. */
  private async count(namespace: string, queue: string) {
    const counts = new Map<string, { readonly name: Buffer; readonly jobs: number }>();
    let cursor = '0';
    do {
      const { raw } = await this.runner.run(countFairKeys, namespace, { queue, cursor });
      cursor = bytesAt(raw, 2).toString();
      for (let i = 3; i + 1 < raw.length; i += 2) {
        const name = bytesAt(raw, i);
        counts.set(name.toString('latin1'), { name, jobs: integerAt(raw, i + 1) });
      }
    } while (cursor !== '0' && counts.size < MOST_COUNTED);
    return { counts, isComplete: cursor === '0' };
  }

  private async read(namespace: string, queue: string, names: readonly Buffer[]): Promise<FairKey[]> {
    if (names.length === 0) return [];
    const items = names.map((name) => [name]);
    const { raw } = await this.runner.run(readFairKeys, namespace, { queue }, items);
    return names.flatMap((_name, i) => {
      const [key, ready, oldestMs] = [
        bytesAt(raw, 2 + 3 * i),
        integerAt(raw, 3 + 3 * i),
        integerAt(raw, 4 + 3 * i),
      ];
      if (key.length === 0) return [];
      return { key: key.toString(), ready, oldestPublishedAtMs: oldestMs === 0 ? null : oldestMs };
    });
  }
}
