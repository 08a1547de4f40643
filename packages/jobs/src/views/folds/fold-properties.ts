import { InvalidOptionError, type DocumentBody } from '@tidemark/contracts'
import type { AnyFold, Folds } from './fold.ts'
import type { FoldedProperty } from './folded.ts'
import { summedProperty } from './summed-property.ts'
import { rankedProperty } from './ranked-property.ts'

/** A result, whose name is taken by what every view document has. */
const RESERVED = new Set(['id', 'key', 'ttl'])
/** A document has this many folds at most, so that one commit holds what a document changes. */
const MAX_FOLDS = 50

/**
 * The folds of a view by name, in the order of their names.
 *
 * @throws ERR_INVALID_OPTION
 */
export function foldProperties<T extends DocumentBody>(
  fold: Folds<T>,
): readonly FoldedProperty<T>[] {
  const named: readonly (readonly [string, AnyFold<T>])[] = isFold(fold)
    ? [['value', fold]]
    : Object.entries(fold).sort(([a], [b]) => (a < b ? -1 : 1))
  if (named.length === 0 || named.length > MAX_FOLDS) {
    throw new InvalidOptionError(`fold must have 1 to ${MAX_FOLDS} folds, got ${named.length}`)
  }
  return named.map(([name, each]) => {
    if (RESERVED.has(name) || name.startsWith('_') || name === '') {
      throw new InvalidOptionError(`fold cannot be named ${JSON.stringify(name)}`)
    }
    if (!isFold(each)) {
      throw new InvalidOptionError(`fold.${name} must be a fold, such as count()`)
    }
    return 'limit' in each ? rankedProperty(name, each) : summedProperty(name, each)
  })
}

function isFold<T extends DocumentBody>(given: Folds<T>): given is AnyFold<T> {
  return 'kind' in given && typeof given.kind === 'string' && typeof given.value === 'function'
}
