import { type DeclaredField, type FieldsClass, fieldsOf, type Schema } from '../http/fields/field.js';

const REF = '#/components/schemas/';

/** Which way an object travels: what comes in may have known fields only, answers may get new ones with any release. */
export type Direction = 'in' | 'out';

/** The schemas of the classes that a document speaks of, those of their parts too. */
export class Schemas {
  readonly byName: Record<string, Schema> = {};
  private readonly classes = new Map<string, FieldsClass>();

  /** A reference to a class's schema; to any of several. @throws {Error} two classes have one name */
  of(classes: FieldsClass | readonly FieldsClass[], direction: Direction): Schema {
    const [first, ...others] = [classes].flat();
    if (first !== undefined && others.length === 0) return this.one(first, direction);
    return { anyOf: [classes].flat().map((one) => this.one(one, direction)) };
  }

  /** What a field may hold. */
  ofField(field: DeclaredField, direction: Direction): Schema {
    const { schema, about, isNullable } = field;
    const own = field.of === undefined ? schema : this.ofParts(field.of(), field.maxItems, direction);
    const described = about === '' ? own : { ...own, description: about };
    if (!isNullable) return described;
    if (typeof own['type'] === 'string' && own['enum'] === undefined) {
      return { ...described, type: [own['type'], 'null'] };
    }
    return { anyOf: [own, { type: 'null' }], ...(about === '' ? {} : { description: about }) };
  }

  private ofParts(of: FieldsClass, maxItems: number | undefined, direction: Direction): Schema {
    const items = this.one(of, direction);
    if (maxItems === undefined) return items;
    // An answer's list may be empty, and as long as it is.
    return direction === 'in' ? { type: 'array', items, minItems: 1, maxItems } : { type: 'array', items };
  }

  private one(of: FieldsClass, direction: Direction): Schema {
    const known = this.classes.get(of.name);
    if (known !== undefined && known !== of) throw new Error(`two classes are called ${of.name}`);
    if (known === undefined) {
      this.classes.set(of.name, of);
      this.byName[of.name] = this.build(of, direction);
    }
    return { $ref: `${REF}${of.name}` };
  }

  private build(of: FieldsClass, direction: Direction): Schema {
    const fields = [...fieldsOf(of)];
    const required = fields.filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
    return {
      type: 'object',
      properties: Object.fromEntries(fields.map(([name, field]) => [name, this.ofField(field, direction)])),
      ...(required.length > 0 ? { required } : {}),
      ...(direction === 'in' ? { additionalProperties: false } : {}),
    };
  }
}
