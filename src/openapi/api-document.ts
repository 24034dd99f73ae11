import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asciiJson } from '../contract/json/ascii-json.js';

/** The document that `npm run build` wrote. Nest's swagger module and Swagger UI are not installed with the package. */
export const BUILT_DOCUMENT = join(import.meta.dirname, 'document.json');

/** The OpenAPI document of this server's native API: the build's; without a build it is made at the first request. */
export class ApiDocument {
  private text: Promise<Buffer> | undefined;

  constructor(private readonly build: () => Promise<object>) {}

  /** @returns the JSON, in ASCII */
  json(): Promise<Buffer> {
    this.text ??= readFile(BUILT_DOCUMENT).catch(async () =>
      Buffer.from(asciiJson(await this.build()), 'latin1'),
    );
    return this.text;
  }
}
