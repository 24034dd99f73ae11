/** A file of lua/modules: the names that it exports and requires, and the code that defines them. */
export interface Module {
  readonly name: string;
  readonly exports: readonly string[];
  readonly requires: readonly string[];
  readonly body: string;
}
