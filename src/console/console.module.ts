import { Module } from '@nestjs/common';
import { ConsoleController } from './console.controller.js';

/** The web console, served by the admin port. */
@Module({ controllers: [ConsoleController] })
export class ConsoleModule {}
