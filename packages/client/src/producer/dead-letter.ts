import type {
  DeadFilter,
  DeadOutcome,
  DeadSelection,
  FailureGroup,
  JobSummary,
  Page,
  PageOptions,
  RespawnOptions,
} from './answers.js';
import type { CallOptions, Calls } from './calls.js';

export interface DeadListFilter extends Omit<DeadFilter, 'attributes'>, PageOptions {
  /** `name=value`. */
  readonly attribute?: string | undefined;
  readonly order?: 'oldest' | 'newest' | undefined;
}

/** The dead jobs of all queues. */
export class DeadLetter {
  constructor(private readonly calls: Calls) {}

  list(filter: DeadListFilter = {}, options: CallOptions = {}): Promise<Page<JobSummary>> {
    return this.calls.send({ method: 'GET', path: 'dead-letter', query: { ...filter } }, options);
  }

  /** The jobs of all pages. */
  each(filter: DeadListFilter = {}, options: CallOptions = {}): AsyncGenerator<JobSummary, void, void> {
    return this.calls.items((page) => this.list({ ...filter, ...page }, options), filter);
  }

  /** A page of the failure groups of dead jobs, those first that most jobs have. */
  groups(page: PageOptions = {}, options: CallOptions = {}): Promise<Page<FailureGroup>> {
    return this.calls.send({ method: 'GET', path: 'failure-groups', query: { ...page } }, options);
  }

  /** The failure groups of all pages. */
  eachGroup(page: PageOptions = {}, options: CallOptions = {}): AsyncGenerator<FailureGroup, void, void> {
    return this.calls.items((next) => this.groups(next, options), page);
  }

  /** Makes dead jobs ready again, as new. */
  respawn(selection: RespawnOptions, options: CallOptions = {}): Promise<DeadOutcome> {
    return this.command('respawn', selection, options);
  }

  /** The same in another queue. */
  move(
    selection: RespawnOptions & { readonly toQueue: string },
    options: CallOptions = {},
  ): Promise<DeadOutcome> {
    return this.command('move', selection, options);
  }

  delete(selection: DeadSelection, options: CallOptions = {}): Promise<DeadOutcome> {
    return this.command('delete', selection, options);
  }

  /** What came back is dead no more: without a limit it is as good twice as once, but for the count. */
  private command(what: string, selection: DeadSelection, options: CallOptions): Promise<DeadOutcome> {
    const { filter, ...rest } = selection;
    return this.calls.send(
      {
        method: 'POST',
        path: `dead-letter/${what}`,
        body: { ...rest, filter },
        isRepeatable: selection.dryRun === true,
      },
      options,
    );
  }
}
