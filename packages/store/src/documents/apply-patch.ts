import { InvalidPatchError, type PatchOperation } from '@tidemark/contracts'
import {
  MAX_JSON_LEVELS,
  SYSTEM_PROPERTIES,
  partitionKeyPathSegments,
} from '@tidemark/contracts/internal'

/** As in Cosmos DB. */
const MAX_OPERATIONS = 10
/** Array positions beyond this are a mistake, and exceed what `length` can hold. */
const ARRAY_INDEX = /^(?:0|[1-9]\d{0,8})$/

/**
 * Applies patch operations in order. It changes the document in place, so the document must belong to the caller alone.
 * When this throws, discard the document.
 *
 * @throws ERR_INVALID_PATCH naming the operation and its path
 */
export function applyPatch(
  document: object,
  operations: readonly PatchOperation[],
  partitionKeyPaths: readonly string[],
): void {
  // Callers without types can send anything, here and below.
  const count = Array.isArray(operations) ? operations.length : shown(operations)
  if (typeof count === 'string' || count < 1 || count > MAX_OPERATIONS) {
    throw new InvalidPatchError(
      `a patch is a list of 1 to ${MAX_OPERATIONS} operations, got ${count}`,
    )
  }
  const guarded = [
    ['id'],
    ...SYSTEM_PROPERTIES.map((name) => [name]),
    ...partitionKeyPaths.map(partitionKeyPathSegments),
  ]
  for (const [index, operation] of operations.entries()) {
    const fail = (why: string): never => {
      throw new InvalidPatchError(`patch operation ${index} (${shown(operation?.op)}): ${why}`)
    }
    if (typeof operation !== 'object' || operation === null) fail('it must be an object')
    applyOne(document, operation, { guarded, fail })
  }
}

interface PatchContext {
  readonly guarded: readonly (readonly string[])[]
  readonly fail: (why: string) => never
}

function applyOne(document: object, operation: PatchOperation, context: PatchContext): void {
  const { op } = operation
  const at = target(document, operation.path, context)
  switch (op) {
    case 'add':
    case 'set':
      put(at, operation.value, { context, insert: op === 'add' })
      return
    case 'replace':
      if (!exists(at)) context.fail(`nothing is at ${operation.path}`)
      put(at, operation.value, { context, insert: false })
      return
    case 'remove':
      take(at, context)
      return
    case 'incr': {
      const { value } = operation
      if (typeof value !== 'number' || !Number.isFinite(value)) {
        context.fail(`the value must be a number, got ${shown(value)}`)
      }
      const present = exists(at) ? read(at) : 0
      if (typeof present !== 'number') return context.fail(`${operation.path} is not a number`)
      const sum = present + value
      // JSON has no such number: the document would contain null instead.
      if (!Number.isFinite(sum))
        context.fail(`${operation.path} would be beyond the largest number`)
      put(at, sum, { context, insert: false })
      return
    }
    case 'move': {
      const source = target(document, operation.from, context)
      if (
        `${operation.path}/`.startsWith(`${operation.from}/`) &&
        operation.path !== operation.from
      ) {
        context.fail(`${operation.from} cannot be moved into itself`)
      }
      const moved = take(source, context)
      // Look it up again: removing an element from an array shifts the elements after it.
      put(target(document, operation.path, context), moved, { context, insert: true })
      return
    }
    default:
      context.fail(`unknown operation ${shown(op)}`)
  }
}

/** For a message. Callers without types can send objects, even ones that cannot be converted to text. */
function shown(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

interface Target {
  readonly parent: object
  readonly key: string
  readonly path: string
  /** Lists and objects around what is there. */
  readonly levels: number
}

function target(document: object, path: string, { guarded, fail }: PatchContext): Target {
  if (typeof path !== 'string' || !/^(?:\/[^/]+)+$/.test(path)) {
    return fail(`path ${shown(path)} must look like "/property" or "/list/0"`)
  }
  const segments = path.slice(1).split('/')
  for (const protectedPath of guarded) {
    // A change above or below a protected property would change it too.
    const shared = Math.min(protectedPath.length, segments.length)
    if (protectedPath.slice(0, shared).every((segment, index) => segment === segments[index])) {
      fail(`/${protectedPath.join('/')} cannot be patched`)
    }
  }
  let parent = document
  for (const segment of segments.slice(0, -1)) {
    const next = child(parent, segment)
    if (typeof next !== 'object' || next === null) return fail(`nothing is above ${path}`)
    parent = next
  }
  return { parent, key: segments.at(-1) ?? '', path, levels: segments.length }
}

function child(parent: object, key: string): unknown {
  if (Array.isArray(parent) && !ARRAY_INDEX.test(key)) return undefined
  return Object.hasOwn(parent, key) ? Reflect.get(parent, key) : undefined
}

function exists({ parent, key }: Target): boolean {
  return (!Array.isArray(parent) || ARRAY_INDEX.test(key)) && Object.hasOwn(parent, key)
}

function read({ parent, key }: Target): unknown {
  return child(parent, key)
}

function put(
  { parent, key, path, levels }: Target,
  value: unknown,
  { context, insert }: { readonly context: PatchContext; readonly insert: boolean },
): void {
  if (value === undefined) context.fail(`a value is missing for ${path}`)
  // Patch by patch a document would become deeper than any that can be written whole.
  if (isDeeper(value, MAX_JSON_LEVELS - levels)) {
    context.fail(`the document would be nested deeper than ${MAX_JSON_LEVELS} levels`)
  }
  if (!Array.isArray(parent)) {
    // Not an assignment, which would not treat "__proto__" as data.
    Object.defineProperty(parent, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
    return
  }
  const list: unknown[] = parent
  const index = key === '-' ? list.length : ARRAY_INDEX.test(key) ? Number(key) : Number.NaN
  if (!(index <= list.length)) {
    context.fail(`${path} is not a position of an array of ${list.length}`)
  }
  list.splice(index, insert || index === list.length ? 0 : 1, value)
}

/** Whether a value has more lists and objects inside one another than `levels`. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels <= 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1))
}

function take(at: Target, { fail }: PatchContext): unknown {
  if (!exists(at)) return fail(`nothing is at ${at.path}`)
  const value = read(at)
  const { parent, key } = at
  if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else Reflect.deleteProperty(parent, key)
  return value
}
