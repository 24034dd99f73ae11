interface Route {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

/** The methods of each path: a router that found no route for a method does not know them. */
export class AllowedMethods {
  private readonly routes = new Map<string, Route>();

  /** @param template such as `/v1/:namespace/acks` */
  add(template: string, methods: string | readonly string[]): void {
    const route = this.routes.get(template) ?? { pattern: patternOf(template), methods: new Set<string>() };
    this.routes.set(template, route);
    for (const method of [methods].flat()) route.methods.add(method);
  }

  /** The methods of a URL, sorted; none if there is no such path. */
  methodsOf(url: string): string[] {
    const path = decoded(url.split('?', 1)[0] ?? '');
    const found = [...this.routes.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort();
  }
}

/** Decodes escapes like a router, except that of a slash. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** Names in a template match anything but a slash. */
function patternOf(template: string): RegExp {
  const parts = template
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[^\w-]/g, '\\$&')));
  return new RegExp(`^${parts.join('/')}$`);
}
