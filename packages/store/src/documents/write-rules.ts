import {
  InvalidOptionError,
  type BatchOperation,
  type BulkOperation,
  type DocumentBody,
  type PatchOptions,
  type ReadOptions,
  type RequestOptions,
  type WriteOptions,
} from '@tidemark/contracts'
import {
  checkOptions,
  describeValue,
  option,
  optionRule,
  requiredOption,
  type OptionRule,
  type OptionRules,
} from '@tidemark/contracts/internal'

/*
 * A condition or a fence whose name is misspelt would protect nothing, and nobody would see it: whatever is given with a
 * write is checked.
 */

const CONDITIONS = { ifMatch: option.text, ifNoneMatch: option.text }

export const readRules: OptionRules<ReadOptions> = {
  ifNoneMatch: option.text,
  signal: option.signal,
}

export const writeRules: OptionRules<WriteOptions> = {
  ...CONDITIONS,
  partitionKey: option.anything,
  signal: option.signal,
}

export const patchRules: OptionRules<PatchOptions<DocumentBody>> = {
  ...writeRules,
  condition: option.function,
}

type Rules = Readonly<Record<string, OptionRule>>

const KIND = requiredOption(option.text)
const ID = { kind: KIND, id: option.anything }
const DOCUMENT = { kind: KIND, document: option.anything }

const BATCH_RULES: Readonly<Record<BatchOperation['kind'], Rules>> = {
  create: DOCUMENT,
  upsert: { ...DOCUMENT, ...CONDITIONS },
  replace: { ...DOCUMENT, ...CONDITIONS },
  patch: { ...ID, ...CONDITIONS, operations: option.anything, condition: option.function },
  read: { ...ID, ...CONDITIONS },
  delete: { ...ID, ...CONDITIONS },
}

const KEYED = { partitionKey: option.anything }

const BULK_RULES: Readonly<Record<BulkOperation['kind'], Rules>> = {
  create: { ...BATCH_RULES.create, ...KEYED },
  upsert: { ...BATCH_RULES.upsert, ...KEYED },
  replace: { ...BATCH_RULES.replace, ...KEYED },
  patch: { ...BATCH_RULES.patch, ...KEYED },
  delete: { ...BATCH_RULES.delete, ...KEYED },
}

export const bulkRules: OptionRules<RequestOptions> = { signal: option.signal }

const KEY = { ...BATCH_RULES.delete, ...KEYED }

const ATOMIC_RULES: Readonly<Record<'put' | 'delete' | 'check', Rules>> = {
  put: { ...DOCUMENT, ...CONDITIONS, expiresAtMs: option.number },
  delete: KEY,
  check: KEY,
}

export const fenceRule: OptionRule = {
  ...optionRule('{ job, range, epoch }', (value) => typeof value === 'object' && value !== null),
  within: {
    job: requiredOption(option.text),
    range: requiredOption(option.anything),
    epoch: requiredOption(option.number),
  },
}

/** @throws ERR_INVALID_OPTION */
export function checkBatchOperation(operation: { readonly kind: string }): void {
  checkOperation(operation, BATCH_RULES)
}

/** @throws ERR_INVALID_OPTION */
export function checkBulkOperation(operation: { readonly kind: string }): void {
  checkOperation(operation, BULK_RULES)
}

/** @throws ERR_INVALID_OPTION */
export function checkBulkSource(source: unknown): void {
  if (typeof source === 'object' && source !== null) {
    if (Symbol.iterator in source || Symbol.asyncIterator in source) return
  }
  const given = describeValue(source)
  throw new InvalidOptionError(`operations must be a list, a generator or a stream, got ${given}`)
}

/** @throws ERR_INVALID_OPTION */
export function checkAtomicOperation(operation: { readonly kind: string }): void {
  checkOperation(operation, ATOMIC_RULES)
}

function checkOperation(
  operation: { readonly kind: string } | null | undefined,
  rules: Readonly<Record<string, Rules>>,
): void {
  if (operation === null || operation === undefined) {
    throw new InvalidOptionError(`an operation must be an object, got ${describeValue(operation)}`)
  }
  const { kind } = operation
  const known = Object.hasOwn(rules, kind) ? rules[kind] : undefined
  if (known === undefined) {
    const kinds = Object.keys(rules).map((name) => `'${name}'`)
    throw new InvalidOptionError(`kind must be ${kinds.join(', ')}, got ${describeValue(kind)}`)
  }
  checkOptions<Readonly<Record<string, unknown>>>({ ...operation }, known)
}
