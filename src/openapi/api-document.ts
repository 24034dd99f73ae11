import { type INestApplication, Injectable } from '@nestjs/common';
import { QueueError } from '../domain/errors.js';
import { asciiJson } from '../http/answer.js';
import { version } from '../http/version.js';
import { buildDocument } from './document.js';

/** The document of this server's native API, built when it is first asked for. */
@Injectable()
export class ApiDocument {
  private app: INestApplication | undefined;
  private text: Promise<string> | undefined;

  /** Says whose routes it is about. */
  isOf(app: INestApplication): void {
    this.app = app;
  }

  /** @returns its JSON, in ASCII */
  json(): Promise<string> {
    if (this.app === undefined) throw new QueueError('internal', 'the document is of no application');
    this.text ??= buildDocument(this.app, version.number).then(asciiJson);
    return this.text;
  }
}
