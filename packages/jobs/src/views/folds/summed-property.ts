import type { DocumentBody } from '@tidemark/contracts'
import { ViewValueError } from '../view-value-error.ts'
import type { Fold } from './fold.ts'
import type { FoldedProperty } from './folded.ts'

/** A fold that adds parts up, and takes them away or, where it cannot, adds the rest up again. */
export function summedProperty<T extends DocumentBody>(
  name: string,
  fold: Fold<T>,
): FoldedProperty<T> {
  const isIndexed = fold.remove === undefined
  return {
    name,
    kind: isIndexed ? `${fold.kind} recounted` : fold.kind,
    isIndexed,
    empty: fold.empty,
    part(document, tie) {
      const part = checked(name, fold.part(document) ?? undefined)
      if (part === undefined) return undefined
      // As it will be read: what is taken away later is the same that is added now.
      const added: unknown = typeof part === 'object' ? JSON.parse(JSON.stringify(part)) : part
      return { kept: isIndexed ? tie : added, added }
    },
    change(before, { removed, added }) {
      if (isIndexed && removed.length > 0) return { state: before, isWhole: false }
      let state = before
      for (const part of removed) state = fold.remove?.(state, part)
      for (const part of added) state = fold.add(state, part.added)
      return { state: checked(name, state), isWhole: true }
    },
    async remake(_, parts) {
      let state = fold.empty
      for await (const { added } of parts) state = fold.add(state, added)
      return checked(name, state)
    },
    value: (state) => fold.value(state),
  }
}

/** Stored as JSON, what is no number would come back as null. */
function checked<Value>(name: string, value: Value): Value {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  throw new ViewValueError(`fold ${name} takes finite numbers, and made ${value}`)
}
