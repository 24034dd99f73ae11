import type { Tally } from './counts.js';
import { foundInTimer } from './jobs.js';
import { readTimerEntry } from './layout.js';
import type { LmstfySource, Member } from './source.js';

/** Counts the jobs of a lmstfy server. It changes nothing. */
export class Survey {
  constructor(
    private readonly source: LmstfySource,
    private readonly namespaces: ReadonlySet<string> | null,
  ) {}

  /** Counts by namespace and state. */
  async count(tally: Tally): Promise<void> {
    for (const name of await this.source.queues(true)) {
      if (!isWanted(this.namespaces, name.namespace)) continue;
      tally.add(name.namespace, 'ready', await this.source.length('q', name));
      tally.add(name.namespace, 'dead', await this.source.length('d', name));
    }
    this.countTimer(tally, await this.source.timerInHand());
    for await (const page of this.source.scanTimer()) this.countTimer(tally, page);
  }

  private countTimer(tally: Tally, members: readonly Member[]): void {
    for (const { bytes, dueS } of members) {
      const entry = readTimerEntry(bytes);
      if (!entry || !isWanted(this.namespaces, entry.namespace)) continue;
      const { state } = foundInTimer(entry, dueS);
      tally.add(entry.namespace, state === 'scheduled' ? 'delayed' : 'leased');
    }
  }
}

/** @param namespaces null = all */
export function isWanted(namespaces: ReadonlySet<string> | null, namespace: string): boolean {
  return namespaces?.has(namespace) ?? true;
}
