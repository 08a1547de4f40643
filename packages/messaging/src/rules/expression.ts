import type { SystemProperty } from '@tidemark/store/messages'

/** What an expression is about: an application property, or one of the message's own. */
export type PropertyName =
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'system'; readonly name: SystemProperty }

/** A value; null is unknown, or a property that is not there. A bigint is a whole number of 64 bits, a number is a double. */
export type SqlValue = string | number | bigint | boolean | null | OtherValue

/** A date, bytes, or a type that a front for a protocol knows. */
export interface OtherValue {
  readonly other: Readonly<Record<string, unknown>>
  /** Of a date: epoch ms. */
  readonly order: number | undefined
}

export type BinaryOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '='
  | '<>'
  | '<'
  | '<='
  | '>'
  | '>='
  | 'AND'
  | 'OR'

export type Expression =
  | { readonly kind: 'literal'; readonly value: SqlValue }
  | { readonly kind: 'property'; readonly property: PropertyName }
  /** The application property whose name is a value. */
  | { readonly kind: 'lookUp'; readonly name: Expression }
  /** A UUID that nobody else has. */
  | { readonly kind: 'newId' }
  | { readonly kind: 'exists'; readonly property: PropertyName }
  | { readonly kind: 'not' | 'negate'; readonly operand: Expression }
  | { readonly kind: 'isNull'; readonly operand: Expression }
  | { readonly kind: 'in'; readonly operand: Expression; readonly list: readonly Expression[] }
  | {
      readonly kind: 'like'
      readonly operand: Expression
      readonly pattern: Expression
      readonly escape: Expression | undefined
    }
  | {
      readonly kind: 'binary'
      readonly operator: BinaryOperator
      readonly left: Expression
      readonly right: Expression
    }

/** One step of an action. */
export type ActionStep =
  | { readonly kind: 'set'; readonly property: PropertyName; readonly value: Expression }
  | { readonly kind: 'remove'; readonly property: PropertyName }
