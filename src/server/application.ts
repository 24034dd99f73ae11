import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';

/** No log of Nest's own, no body parsing of its choice, and errors at start are ours to tell. */
const OPTIONS = { logger: false, bodyParser: false, abortOnError: false } as const;

/** Builds an application of this server. @throws {Error} one of its parts cannot be made: a pool is unfit or away */
export function createApplication(
  module: DynamicModule,
  adapter: FastifyAdapter,
): Promise<NestFastifyApplication> {
  // Nest's options are a class by mistake of theirs: nothing makes an instance of it.
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment
  return NestFactory.create<NestFastifyApplication>(module, adapter, OPTIONS);
}
