import type { Expression, PathExpression } from './expression.ts'
import { mapChildren } from './map-expression.ts'

/** Numbers that are equal for expressions that say the same. Each expression is looked at once, however large it is. */
export class ExpressionKeys {
  readonly #keys = new Map<Expression, number>()
  readonly #keysOfTexts = new Map<string, number>()

  of(expression: Expression): number {
    const known = this.#keys.get(expression)
    if (known !== undefined) return known
    const key =
      expression.kind === 'path'
        ? (this.ofBeginnings(expression).at(-1) ?? 0)
        : this.#keyOfText(this.#textOf(expression))
    this.#keys.set(expression, key)
    return key
  }

  /** Of the root of a path, and of what it is after each of its steps. */
  ofBeginnings({ root, steps }: PathExpression): number[] {
    let key = this.of(root)
    return [key, ...steps.map((step) => (key = this.#keyOfText(`${key}.${this.of(step)}`)))]
  }

  /** JSON with the children's keys instead of the children. */
  #textOf(expression: Expression): string {
    const shallow =
      expression.kind === 'variable'
        ? { ...expression, name: '' }
        : mapChildren(expression, (child) => ({ kind: 'literal', value: this.of(child) }))
    return JSON.stringify(shallow, (_name, value: unknown) =>
      // A literal undefined would vanish, and be taken for null inside an array.
      value === undefined ? '\u0000undefined' : value,
    )
  }

  #keyOfText(text: string): number {
    const key = this.#keysOfTexts.get(text) ?? this.#keysOfTexts.size
    this.#keysOfTexts.set(text, key)
    return key
  }
}
