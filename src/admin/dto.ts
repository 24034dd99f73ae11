/** The token in a path. */
export class TokenParams {
  readonly namespace!: string;
  /** `[pool:]token`. */
  readonly token!: string;
}

export class ListTokensQuery {
  readonly pool?: string;
  /** `true`: return more than the descriptions. */
  readonly details?: string;
}

/** A new token. `TokenAdmin` checks the fields, in its own order. */
export class NewTokenDto {
  readonly description?: string;
  readonly token?: string;
  readonly pool?: string;
  readonly verbs?: string;
  readonly queues?: string;
  readonly expires?: string;
}

/** A token that replaces another. `TokenLifecycle` checks the fields. */
export class RotateTokenDto {
  readonly token?: string;
  readonly grace?: string;
  readonly expires?: string;
}

/** A limit in lmstfy's format. lmstfy reads fields that are missing or null as 0. */
export class LimiterDto {
  constructor(
    readonly interval: number,
    readonly read: number,
    readonly write: number,
  ) {}
}

export class PurgeQuery {
  constructor(
    readonly pool: string,
    readonly isDry: boolean,
  ) {}
}
