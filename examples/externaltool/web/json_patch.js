// JSON Patch (RFC 6902), as STATE_DELTA and ACTIVITY_DELTA use it.

const same = (a, b) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

function steps(pointer) {
  if (pointer === '') return [];
  if (pointer[0] !== '/') throw new Error(`"${pointer}" is not a JSON Pointer`);
  return pointer.slice(1).split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function child(value, step) {
  if (value !== null && typeof value === 'object' && Object.hasOwn(value, step) && !(Array.isArray(value) && step === 'length')) return value[step];
  throw new Error(`there is no "${step}"`);
}

const find = (document, pointer) => steps(pointer).reduce(child, document);

function place(document, pointer) {
  const path = steps(pointer);
  const key = path.pop();
  return { holder: path.reduce(child, document), key };
}

function add(document, pointer, value) {
  const { holder, key } = place(document, pointer);
  if (key === undefined) return value;
  if (Array.isArray(holder)) {
    const index = key === '-' ? holder.length : Number(key);
    if (!Number.isInteger(index) || index < 0 || index > holder.length) throw new Error(`there is no place "${key}"`);
    holder.splice(index, 0, value);
  } else if (holder !== null && typeof holder === 'object') {
    // Not an assignment: `__proto__` is a name like any other.
    Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    throw new Error(`"${key}" would be in no object`);
  }
  return document;
}

function remove(document, pointer) {
  const { holder, key } = place(document, pointer);
  if (key === undefined) return null;
  child(holder, key);
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
  return document;
}

/** The document after the patch. Throws, and changes nothing, if the patch does not apply. */
export function applyPatch(document, patch) {
  let changed = structuredClone(document);
  for (const { op, path, from, value } of patch) {
    switch (op) {
      case 'add': changed = add(changed, path, structuredClone(value)); break;
      case 'remove': changed = remove(changed, path); break;
      case 'replace': find(changed, path); changed = path === '' ? structuredClone(value) : add(remove(changed, path), path, structuredClone(value)); break;
      case 'copy': changed = add(changed, path, structuredClone(find(changed, from))); break;
      case 'move': {
        const moved = find(changed, from);
        changed = add(remove(changed, from), path, moved);
        break;
      }
      case 'test':
        if (!same(find(changed, path), value)) throw new Error(`"${path}" has another value`);
        break;
      default: throw new Error(`"${op}" is not an operation`);
    }
  }
  return changed;
}
