import type * as ClassValidator from 'class-validator';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** A file of the package, with what the package says of it. */
function piece<K extends keyof typeof ClassValidator>(path: string): Pick<typeof ClassValidator, K> {
  return require(`class-validator/cjs/${path}.js`) as Pick<typeof ClassValidator, K>;
}

// What we use of class-validator, taken from its files. Its front door loads 320 more, the telephone numbers of all countries among them:
// a sixth of what a process had to load until it served.
export const { Allow } = piece<'Allow'>('decorator/common/Allow');
export const { IsOptional } = piece<'IsOptional'>('decorator/common/IsOptional');
export const { ValidateBy } = piece<'ValidateBy'>('decorator/common/ValidateBy');
export const { ValidateIf } = piece<'ValidateIf'>('decorator/common/ValidateIf');
export const { ValidateNested } = piece<'ValidateNested'>('decorator/common/ValidateNested');

const { Validator } = piece<'Validator'>('validation/Validator');
const validator = new Validator();

/** Everything that is wrong with an object, by the decorators of its class. */
export function validateSync(
  object: object,
  options: ClassValidator.ValidatorOptions,
): ClassValidator.ValidationError[] {
  return validator.validateSync(object, options);
}
