import {
  effectivePartitionKey,
  partitionKeyDefinition,
  rangeContainsEpk,
  type FeedRange,
} from '@tidemark/contracts'
import { CUSTOMERS, customerOf } from '../data/order-document.ts'

/** The first order whose key is in a range. */
export function orderOfRange(range: FeedRange): number {
  const definition = partitionKeyDefinition(['/customerId'])
  for (let index = 0; index < CUSTOMERS; index++) {
    if (rangeContainsEpk(range, effectivePartitionKey([customerOf(index)], definition)))
      return index
  }
  throw new Error(`no order has a key in ${range.minInclusive} to ${range.maxExclusive}`)
}
