/**
 * The parts of Standard Schema (https://standardschema.dev, version 1) that this library uses. Schemas of zod, valibot,
 * arktype and others fit by their structure; none of them is needed.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Where and why, in one line for each issue. */
export function issuesText(issues: readonly SchemaIssue[]): string {
  return issues
    .map(({ path = [], message }) => `${path.map(keyText).join('.') || 'value'}: ${message}`)
    .join('; ');
}

function keyText(part: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof part === 'object' ? part.key : part);
}
