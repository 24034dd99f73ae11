import { type INestApplication, Injectable } from '@nestjs/common';
import { QueueError } from '../domain/errors.js';
import { asciiJson } from '../http/answer/answer.js';
import { version } from '../domain/version.js';
import { buildDocument } from './document.js';

/** The OpenAPI document of this server's native API, built at the first request for it. */
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
    if (this.app === undefined) throw new QueueError('internal', 'the document is of no application');
    this.text ??= buildDocument(this.app, version.number).then((document) =>
      Buffer.from(asciiJson(document), 'latin1'),
    );
    return this.text;
  }
}
