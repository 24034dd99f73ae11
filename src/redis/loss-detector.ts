import type { Log } from '../domain/log.js';
import type { Keys } from './keys.js';
import { runKeysOfNode } from './lease-floor.js';
import { flatten, replyOf } from './scripts/script.js';
import { countProbe } from './scripts/simple.js';
import { scriptText } from './scripts/texts.js';
import type { Send } from './set-up.js';

/**
 * Notices that a Redis has lost what it had answered: it was restored from an older file, its file was damaged, it was flushed, or it was
 * a replica that lagged. With each probe every server raises a count in the store; if it is lower than the server left it, the store has
 * gone back (ADR 62). One server of a store logs it. A loss of less than a second may go unnoticed.
 */
export class LossDetector {
  /** The last count of each key. */
  private readonly counts = new Map<string, number>();
  /** Keys of the nodes of a Cluster, by their addresses. */
  private readonly nodeKeys = new Map<string, string>();

  constructor(
    private readonly keys: Keys,
    private readonly pool: string,
    private readonly log: Log,
  ) {}

  /**
   * Raises the count, and logs a loss. A Redis that may not write just now refuses it, and is asked again by the next probe.
   *
   * @param node the address of a node of a Cluster, which `send` leads to
   */
  async probe(send: Send, node?: string): Promise<void> {
    try {
      const key = node === undefined ? this.keys.run : await this.keyOf(node, send);
      if (key !== undefined) await this.count(key, send, node);
    } catch {
      // The slot of the key may have moved.
      if (node !== undefined) this.nodeKeys.delete(node);
    }
  }

  private async count(key: string, send: Send, node?: string): Promise<void> {
    const text = scriptText(countProbe.name).text;
    const args = flatten(countProbe, { run: key }, { known: this.counts.get(key) ?? 0 }, []);
    const { isLost, count, lastMs } = replyOf(countProbe, await send('EVAL', text, ...args));
    this.counts.set(key, count);
    if (!isLost) return;
    const since = lastMs === 0 ? 'unknown' : new Date(lastMs).toISOString();
    const { pool } = this;
    this.log.warn({ pool, node, since }, 'Redis has lost data: what was answered since then may be undone');
  }

  private async keyOf(node: string, send: Send): Promise<string | undefined> {
    const key = this.nodeKeys.get(node) ?? (await runKeysOfNode(send, this.keys))[0];
    if (key !== undefined) this.nodeKeys.set(node, key);
    return key;
  }
}
