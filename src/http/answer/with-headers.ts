/** Options of an answer that a handler returns. */
export interface ReturnedOptions {
  /** Default: that of the route. */
  readonly status?: number;
  /** Content type; default JSON. */
  readonly type?: string;
}

/** Return value of a handler whose answer has its own headers. */
export class WithHeaders<T = unknown> {
  /** @param headers names and values, alternating */
  constructor(
    readonly body: T,
    readonly headers: readonly string[],
    readonly options: ReturnedOptions = {},
  ) {}
}
