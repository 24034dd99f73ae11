import type { ChangedTargets } from '../engine/queues/targets.js';
import { type OpenBreaker, partsOfBreakerName, readBreaker } from '../engine/queues/stored-targets.js';

/** What a server knows of one target. */
export interface KnownTarget {
  /** As it is stored; undefined: there is no such target. */
  text?: string;
  readonly queues: Set<string>;
  readonly breakers: Map<string, OpenBreaker>;
}

/** The push targets of a namespace as a server has read them, by target: a change costs as much as what it changes. */
export class KnownTargets {
  /** Number of the last change that was read. */
  version = 0;
  private readonly byName = new Map<string, KnownTarget>();
  /** By queue: its target. */
  private readonly targets = new Map<string, string>();

  get(name: string): KnownTarget | undefined {
    return this.byName.get(name);
  }

  /** @returns the names of the targets that have changed */
  merge({ version, isWhole, targets, queues, breakers }: ChangedTargets): ReadonlySet<string> {
    this.version = version;
    const changed = new Set([...targets.keys()]);
    if (isWhole) {
      for (const name of this.byName.keys()) changed.add(name);
      this.byName.clear();
      this.targets.clear();
    }
    for (const [name, text] of targets) this.setText(name, text);
    for (const [queue, target] of queues) {
      for (const name of [this.targets.get(queue), target]) if (name) changed.add(name);
      this.setQueue(queue, target);
    }
    for (const [name, text] of breakers) changed.add(this.setBreaker(name, text));
    for (const name of changed) this.forget(name);
    return changed;
  }

  private setText(name: string, text: string): void {
    const known = this.of(name);
    if (text === '') delete known.text;
    else known.text = text;
  }

  private setQueue(queue: string, target: string): void {
    const before = this.targets.get(queue);
    if (before !== undefined) this.of(before).queues.delete(queue);
    if (target === '') {
      this.targets.delete(queue);
    } else {
      this.targets.set(queue, target);
      this.of(target).queues.add(queue);
    }
  }

  private setBreaker(name: string, text: string): string {
    const { target, origin } = partsOfBreakerName(name);
    const breaker = text === '' ? null : readBreaker(text);
    if (breaker === null) this.of(target).breakers.delete(origin);
    else this.of(target).breakers.set(origin, breaker);
    return target;
  }

  private of(name: string): KnownTarget {
    const known = this.byName.get(name) ?? { queues: new Set(), breakers: new Map() };
    this.byName.set(name, known);
    return known;
  }

  /** Keeps nothing of a target that has nothing. */
  private forget(name: string): void {
    const known = this.byName.get(name);
    if (known?.text === undefined && known?.queues.size === 0 && known.breakers.size === 0)
      this.byName.delete(name);
  }
}
