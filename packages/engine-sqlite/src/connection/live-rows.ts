import type { SQLInputValue } from 'node:sqlite'
import { neverExpires, type TtlEra, type TtlPolicy } from '@tidemark/store/engine'
import type { CollectionRow } from './catalog-rows.ts'

export function policyOf({ record }: CollectionRow): TtlPolicy {
  return { defaultTtl: record.definition.defaultTtl, eras: record.ttlEras }
}

/** A part of a statement: `values` are bound to its `?` in order. */
export interface Condition {
  readonly sql: string
  readonly values: readonly SQLInputValue[]
}

/** How SQL distinguishes live documents of one collection from expired ones, in one snapshot. */
export interface LiveRows {
  /** Condition for rows of kind 0; undefined when none can have expired. */
  readonly condition: Condition | undefined
  /** Value for a row of kind 0: the second at which it will expire, or 0. */
  readonly expirySecond: string
}

/*
 * The column `exp` is exact except while documents are refiled after a change of `defaultTtl`. Then expiry is computed
 * from `ts` and `ttl`, as `expiredSecond` does.
 */
export function liveRows(collection: CollectionRow, nowSecond: number): LiveRows {
  const policy = policyOf(collection)
  if (collection.reindex === undefined) {
    return {
      condition: neverExpires(policy)
        ? undefined
        : { sql: '(exp = 0 OR exp > ?)', values: [nowSecond] },
      expirySecond: 'exp',
    }
  }
  const expirySecond = expiryExpression(policy.defaultTtl)
  const eras = policy.eras.map(
    (era) => `NOT ${hasExpired(expiryExpression(era.defaultTtl), secondsOf(era))}`,
  )
  const condition = [`NOT ${hasExpired(expirySecond, '?')}`, ...eras].join(' AND ')
  return { condition: { sql: `(${condition})`, values: [nowSecond] }, expirySecond }
}

function expiryExpression(defaultTtl: number | null): string {
  if (defaultTtl === null) return '0'
  const byDefault = defaultTtl === -1 ? '0' : `ts + ${defaultTtl}`
  return `(CASE ttl WHEN -1 THEN 0 WHEN 0 THEN ${byDefault} ELSE ts + ttl END)`
}

function hasExpired(expression: string, second: string): string {
  return `(${expression} > 0 AND ${expression} <= ${second})`
}

function secondsOf({ untilMs }: TtlEra): string {
  return String(Math.floor(untilMs / 1000))
}
