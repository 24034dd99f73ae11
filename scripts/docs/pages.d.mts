/** The pages of docs/reference, by path; `document` is the OpenAPI document. */
export function referencePages(
  modules: Readonly<
    Record<'config' | 'keys' | 'load' | 'metrics' | 'gauges' | 'texts' | 'v1' | 'lmstfy', object>
  >,
  document: unknown,
): Map<string, string>;
