// Strict schemas of the protocol's events and of a request.
//
// The schemas are those of @ag-ui/core 1.0.0, the package of the official client 1.0.0, without unknown members. No
// package has the specification's schema.json of 1.1. It differs from 1.0 in one member: `encryptedValueType` (a
// string) beside `encryptedValue`, and never without it.

import { createRequire } from 'node:module';

const requireOfClient = createRequire(createRequire(import.meta.url).resolve('ag-ui-client-1'));
const core = requireOfClient('@ag-ui/core/schemas');
const { z } = requireOfClient('zod/v4');

/// The same schema, in which objects have no unknown members, unless the specification leaves them open.
function strict(schema, version) {
    const { def } = schema._zod;
    const inner = (each) => strict(each, version);
    switch (def.type) {
    case 'object': {
        const shape = Object.fromEntries(Object.entries(def.shape).map(([name, member]) => [name, inner(member)]));
        if (version === '1.1' && shape.encryptedValue) shape.encryptedValueType = z.string().optional();
        if (schema.meta()?.specOpen) return z.looseObject(shape);
        return z.strictObject(shape).refine((value) => !('encryptedValueType' in value) || 'encryptedValue' in value,
            'encryptedValueType without encryptedValue');
    }
    case 'union':
        if (def.discriminator) return z.discriminatedUnion(def.discriminator, def.options.map(inner));
        return z.union(def.options.map(inner));
    case 'array':
        return schema.clone({ ...def, element: inner(def.element) });
    case 'optional':
    case 'nullable':
    case 'default':
        return schema.clone({ ...def, innerType: inner(def.innerType) });
    case 'pipe':
        return schema.clone({ ...def, in: inner(def.in) });
    case 'string': case 'number': case 'boolean': case 'enum': case 'literal': case 'any': case 'custom': case 'transform':
        return schema;
    default:
        throw new Error(`strict() does not know the kind ${def.type}`);
    }
}

const versions = ['1.0', '1.1'];
const eventSchemas = Object.fromEntries(versions.map((version) => [version, strict(core.EventSchema, version)]));
const inputSchema = strict(core.RunAgentInputSchema, '1.1');

function problemOf(schema, value) {
    const { success, error } = schema.safeParse(value);
    return success ? undefined : error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
}

/// The problem of an event in the form of `version`; undefined if it has none.
export function eventProblem(event, version) {
    return problemOf(eventSchemas[version], event);
}

/// The problem of a RunAgentInput of 1.1; undefined if it has none.
export function inputProblem(input) {
    return problemOf(inputSchema, input);
}

/// The types of all events of the protocol.
export const eventTypes = eventSchemas['1.1'].def.options.map((option) => option.def.shape.type.def.values[0]);
