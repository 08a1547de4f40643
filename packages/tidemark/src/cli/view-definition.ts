import type { Command } from 'commander'
import { type DocumentBody } from '@tidemark/contracts'
import { partitionKeyPathSegments } from '@tidemark/contracts/internal'
import { average, count, max, min, sum, type AnyFold, type ViewFunctions } from '@tidemark/jobs'
import { InputError } from './input-error.ts'
import { loadModule } from './load-map-module.ts'

/** Flags that say what a view is: a module, or a key and simple folds. */
export interface DefinitionFlags {
  readonly module?: string
  readonly by?: string
  readonly count?: boolean
  readonly sum?: readonly string[]
  readonly average?: readonly string[]
  readonly min?: readonly string[]
  readonly max?: readonly string[]
}

type NamedFolds = Readonly<Record<string, AnyFold>>

export function addDefinitionFlags(command: Command): Command {
  const paths = 'of the number at /path, as <path> or <name>=<path>; may be repeated'
  return command
    .option('--module <file>', 'module that exports by(document) and fold')
    .option('--by <path>', 'key: the value at /path, instead of a module')
    .option('--count', 'with --by: the number of documents, as "count"')
    .option('--sum <path...>', `with --by: the sum ${paths}`)
    .option('--average <path...>', 'with --by: the mean, likewise')
    .option('--min <path...>', 'with --by: the lowest number or text, likewise')
    .option('--max <path...>', 'with --by: the highest number or text, likewise')
}

/** Rejects with ERR_INPUT when the flags or the module make no view. */
export async function viewDefinition(
  flags: DefinitionFlags,
): Promise<ViewFunctions<DocumentBody, NamedFolds | AnyFold>> {
  const { module: file, by } = flags
  if ((file === undefined) === (by === undefined)) {
    throw new InputError(
      'give either --module, or --by with --count, --sum, --average, --min or --max',
    )
  }
  if (file !== undefined) return definitionOf(await loadModule('--module', file), file)
  const fold = foldsOf(flags)
  if (Object.keys(fold).length === 0) {
    throw new InputError('--by needs one of --count, --sum, --average, --min and --max')
  }
  const key = valueAt(by ?? '', '--by')
  return {
    fold,
    by: key,
  }
}

type Key = string | number | boolean | undefined

function foldsOf(flags: DefinitionFlags): NamedFolds {
  const folds: Record<string, AnyFold> = {}
  if (flags.count === true) folds['count'] = count()
  const numbers = { sum, average }
  for (const kind of ['sum', 'average'] as const) {
    for (const [name, path] of named(flags[kind], `--${kind}`)) {
      const value = valueAt(path, `--${kind}`)
      folds[name] = numbers[kind]((document) => numberOf(value(document)))
    }
  }
  for (const kind of ['min', 'max'] as const) {
    for (const [name, path] of named(flags[kind], `--${kind}`)) {
      const value = valueAt(path, `--${kind}`)
      const of = (document: DocumentBody): number | string | undefined => scoreOf(value(document))
      folds[name] = kind === 'min' ? min(of) : max(of)
    }
  }
  return folds
}

/** `<name>=<path>`, or the path with the last part of it as the name. */
function named(
  given: readonly string[] = [],
  flag: string,
): readonly (readonly [name: string, path: string])[] {
  return given.map((text) => {
    const at = text.indexOf('=/')
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
    if (!text.startsWith('/')) throw new InputError(`${flag} ${text} must be a path such as /total`)
    return [text.slice(text.lastIndexOf('/') + 1), text]
  })
}

function valueAt(path: string, flag: string): (document: object) => Key {
  if (!/^\/[^/]/.test(path)) throw new InputError(`${flag} ${path} must be a path such as /total`)
  const segments = partitionKeyPathSegments(path)
  return (document) => {
    let value: unknown = document
    for (const segment of segments) {
      value = typeof value === 'object' && value !== null ? Reflect.get(value, segment) : undefined
    }
    switch (typeof value) {
      case 'string':
      case 'number':
      case 'boolean':
        return value
      default:
        return undefined
    }
  }
}

const numberOf = (value: Key): number | undefined => (typeof value === 'number' ? value : undefined)

function scoreOf(value: Key): number | string | undefined {
  return typeof value === 'number' || typeof value === 'string' ? value : undefined
}

function definitionOf(
  exported: Readonly<Record<string, unknown>>,
  file: string,
): ViewFunctions<DocumentBody, NamedFolds | AnyFold> {
  const { by, fold } = exported
  if (isFunction(by) && isFolds(fold)) return { by, fold }
  throw new InputError(`--module ${file} must export a function by(document), and fold`)
}

// What they return is checked when it is used.
function isFunction(value: unknown): value is ViewFunctions<DocumentBody, never>['by'] {
  return typeof value === 'function'
}

function isFolds(value: unknown): value is NamedFolds | AnyFold {
  return typeof value === 'object' && value !== null
}
