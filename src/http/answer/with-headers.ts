/** Return value of a handler whose answer has its own headers. */
export class WithHeaders {
  /** @param headers names and values, alternating */
  constructor(
    readonly body: unknown,
    readonly headers: readonly string[],
  ) {}
}
