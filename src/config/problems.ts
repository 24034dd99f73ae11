/** Everything that is wrong with a configuration, at once. Values are never part of a problem: they may be secrets. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`the configuration is wrong: ${problems.join('; ')}`);
    this.name = 'ConfigError';
  }
}
