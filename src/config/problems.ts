/** Everything that is wrong with a configuration, at once, without a secret. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(['the configuration is wrong:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
    this.name = new.target.name;
  }
}
