import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type INestApplication, Injectable } from '@nestjs/common';
import { QueueError } from '../domain/errors.js';
import { asciiJson } from '../http/answer/answer.js';
import { version } from '../domain/version.js';

/** The document that `npm run build` wrote. Nest's swagger module and Swagger UI are not installed with the package. */
export const BUILT_DOCUMENT = join(import.meta.dirname, 'document.json');

/** The OpenAPI document of this server's native API: the build's; without a build it is made at the first request. */
@Injectable()
export class ApiDocument {
  private app: INestApplication | undefined;
  private text: Promise<Buffer> | undefined;

  /** Sets the application whose routes are documented. */
  isOf(app: INestApplication): void {
    this.app = app;
  }

  /** @returns the JSON, in ASCII */
  json(): Promise<Buffer> {
    this.text ??= readFile(BUILT_DOCUMENT).catch(() => this.build());
    return this.text;
  }

  private async build(): Promise<Buffer> {
    if (this.app === undefined) throw new QueueError('internal', 'the document is of no application');
    const { buildDocument } = await import('./document.js');
    return Buffer.from(asciiJson(await buildDocument(this.app, version.number)), 'latin1');
  }
}
