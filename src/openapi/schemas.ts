import {
  type DeclaredField,
  type Field,
  type FieldsClass,
  fieldsOf,
  type Schema,
} from '../contract/fields/field.js';

const REF = '#/components/schemas/';

/** Direction of an object: requests allow known fields only; answers may get new fields with any release. */
export type Direction = 'in' | 'out';

/** The schemas of all classes in a document, including those of nested fields. */
export class Schemas {
  readonly byName: Record<string, Schema> = {};
  private readonly classes = new Map<string, FieldsClass>();

  /** Returns a reference to the schema of a class, or to any of several. @throws {Error} two classes have the same name */
  of(classes: FieldsClass | readonly FieldsClass[], direction: Direction): Schema {
    const [first, ...others] = [classes].flat();
    if (first !== undefined && others.length === 0) return this.one(first, direction);
    return { anyOf: [classes].flat().map((one) => this.one(one, direction)) };
  }

  /** Returns the schema of a field. */
  ofField(field: DeclaredField, direction: Direction): Schema {
    const { schema, about, isNullable } = field;
    const own = field.of === undefined ? schema : this.ofParts(field.of(), field, direction);
    const described = about === '' ? own : { ...own, description: about };
    if (!isNullable) return described;
    if (typeof own['type'] === 'string' && own['enum'] === undefined) {
      return { ...described, type: [own['type'], 'null'] };
    }
    return { anyOf: [own, { type: 'null' }], ...(about === '' ? {} : { description: about }) };
  }

  private ofParts(of: FieldsClass, { maxItems, minItems = 1 }: Field, direction: Direction): Schema {
    const items = this.one(of, direction);
    if (maxItems === undefined) return items;
    // Lists in answers may be empty and have no maximum length.
    return direction === 'in' ? { type: 'array', items, minItems, maxItems } : { type: 'array', items };
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
