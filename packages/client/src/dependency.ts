/** A job that another one was published to run after. */
export interface Dependency {
  readonly id: string;
  /**
   * Its state; of one that is gone, how it ended: `done`, `dead`, `cancelled`, `expired`, `deleted`, `replaced`; or
   * `missing`: no job had the id when the dependency was stored.
   */
  readonly state: string;
  /** Parsed if it is JSON, else its bytes; left out if there is none, and if it is `truncated`. */
  readonly result?: unknown;
  /** Its content type. */
  readonly resultType?: string;
  /** The results of one job have up to 64 KiB in all, and this one did not fit: `jobs.get` of the dependency has it. */
  readonly truncated?: true;
}
