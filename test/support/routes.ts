import { AllowedMethods } from '../../src/http/allowed-methods.js';

/** A call that an application has. */
export interface Route {
  readonly method: string;
  /** Such as `/api/:namespace/:queue`. */
  readonly template: string;
}

/** Starts an application and takes down the routes that it gives its router: none can be forgotten. */
export async function withRoutes<T>(start: () => Promise<T>): Promise<{ started: T; routes: Route[] }> {
  const routes: Route[] = [];
  const add = Reflect.get(AllowedMethods.prototype, 'add');
  AllowedMethods.prototype.add = function (template, methods) {
    for (const method of [methods].flat()) routes.push({ method, template });
    add.call(this, template, methods);
  };
  try {
    return { started: await start(), routes };
  } finally {
    AllowedMethods.prototype.add = add;
  }
}

/** A route's address: its names in place of its parameters, which are escaped as they are given. */
export function addressOf({ template }: Route, names: Readonly<Record<string, string>>): string {
  return template.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = names[name];
    if (value === undefined) throw new Error(`${template}: no value for ${name}`);
    return value;
  });
}
