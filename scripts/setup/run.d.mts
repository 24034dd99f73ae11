/** Where `program` is on the PATH, or null. */
export function onPath(program: string, path?: string): string | null;
