/** A problem at a path. Never contains the value: it may be a secret. */
export interface Problem {
  readonly path: string;
  readonly text: string;
}

/** All problems of a configuration at once, without secrets. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(['the configuration is wrong:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
    this.name = new.target.name;
  }
}
