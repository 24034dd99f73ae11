/** Status of a background loop: its last and its next run. Times are Unix ms, by the clock of its process. */
export interface LoopStatus {
  /** Unique in an engine. */
  readonly name: string;
  /** When the last run began; null = there was none. */
  readonly lastRunMs: number | null;
  /** Null while the last run is in progress. */
  readonly durationMs: number | null;
  /** Number of items that it moved; null while it is in progress. */
  readonly moved: number | null;
  /** How much later than planned it began, in milliseconds. */
  readonly lagMs: number | null;
  /** When the next run begins; null = none is planned. */
  readonly nextRunMs: number | null;
  /** The last failure, of this or an earlier run. */
  readonly lastError: { readonly message: string; readonly atMs: number } | null;
}

/** A loop of one process of the server. */
export interface ProcessLoop extends LoopStatus {
  readonly pid: number;
  readonly pool: string;
}
