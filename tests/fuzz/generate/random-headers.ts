import type { SeededRandom } from '@tidemark/testing/simulation'
import { NAMES } from './random-json.ts'

type Values = readonly string[]

/** Of headers that make the server wait: they are as good when they come less often. */
const SELDOM = 0.1

/** Headers that any request may carry; most requests carry none. */
const ANYWHERE: readonly (readonly [name: string, values: Values, share?: number])[] = [
  ['if-match', ['*', '"5"', '5', '""', 'W/"5"', '"0000-0000"']],
  ['if-none-match', ['*', '"5"', '"0"', '5', '"99999999999999999999"', '"-1"', '""', 'x'.repeat(3000)]],
  ['if-modified-since', ['Fri, 02 Jan 2026 03:04:05 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT', 'yesterday', '0', 'Sat, 99 Feb 9999 99:99:99 GMT']],
  ['x-ms-max-item-count', ['-1', '0', '1', '2', '1000', '99999999999', '1.5', 'x', '']],
  ['x-ms-continuation', ['x', '{}', '[]', 'null', 'eyJhIjoxfQ==', '-1', '0'.repeat(900), '%00']],
  ['x-ms-session-token', ['0:-1#5', '0:-1#99999999999', '0:5', ':', '0:-1#1,1:-1#2', 'x', '0:-1#1#0=1#x', ',,,,'], SELDOM],
  ['x-ms-documentdb-partitionkeyrangeid', ['0', '1', '2', '99', '-1', 'x', 'rid,0', ',', '99999999999999999999', '0x0', ' ']],
  ['x-ms-start-epk', ['', '00', '1FFFFFFFFFFFFFFF', 'FF', 'zz', '3', '05C1D0']],
  ['x-ms-end-epk', ['', '00', 'FF', '1FFFFFFFFFFFFFFF', 'zz', 'F'.repeat(500)]],
  ['x-ms-read-key-type', ['EffectivePartitionKeyRange', 'EffectivePartitionKey', 'x']],
  ['x-ms-documentdb-partitionkey', ['["a"]', '["b"]', '[5]', '[null]', '[{}]', '[]', '["a","b"]', '{}', '["', '"a"', '[[1]]', '["\\ud800"]', '[1e400]']],
  ['prefer', ['return=minimal', 'return=representation', 'x']],
  ['x-ms-consistency-level', ['Session', 'Strong', 'Nonsense']],
  ['x-ms-documentdb-is-upsert', ['true', 'True', 'false', '1']],
  ['x-ms-documentdb-isquery', ['true', 'True', 'yes']],
  ['x-ms-cosmos-is-query-plan-request', ['True', 'true']],
  ['x-ms-cosmos-is-batch-request', ['true', 'True']],
  ['x-ms-cosmos-batch-atomic', ['true', 'false', 'x']],
  ['x-ms-cosmos-batch-continue-on-error', ['true', 'false', 'x']],
  ['a-im', ['Incremental Feed', 'Incremental feed', 'Full-Fidelity Feed', 'x']],
  ['x-ms-cosmos-changefeed-wire-format-version', ['2021-09-15', '1']],
  ['x-ms-offer-throughput', ['400', '20000', '0', '-1', 'x', '1000000000000', '1e9', '']],
  ['x-ms-cosmos-offer-autopilot-settings', ['{"maxThroughput":4000}', '{"maxThroughput":"x"}', '{', 'null', '[]']],
  ['x-tidemark-wait-ms', ['0', '5', '50', '-1', '99999999999', 'x', ''], SELDOM],
  ['x-ms-documentdb-populatequotainfo', ['true']],
  ['x-ms-version', ['2018-12-31', '2020-07-15', 'x', '']],
  ['content-type', ['application/json', 'application/query+json', 'text/html', 'multipart/form-data', 'x']],
  ['content-encoding', ['gzip', 'br', 'x']],
  ['accept', ['application/json', 'text/html', '*/*;q=0']],
  ['accept-encoding', ['gzip', '*;q=0']],
  ['range', ['bytes=0-1', 'bytes=9-1,x']],
  ['cookie', ['a=b; '.repeat(50)]],
  ['x-forwarded-proto', ['https', 'javascript']],
  ['origin', ['null', 'http://other.example']],
] // oxfmt-ignore

/** Each header with this probability, and sometimes one that nobody knows. */
export function randomHeaders(random: SeededRandom, probability: number): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, values, share = 1] of ANYWHERE) {
    if (random.chance(probability * share)) headers[name] = random.pick(values)
  }
  if (random.chance(0.05)) headers[`x-${headerName(random)}`] = 'é'.repeat(random.below(40))
  return headers
}

/** Only what a name of a header may hold. */
function headerName(random: SeededRandom): string {
  return random.pick(NAMES).replaceAll(/[^a-z]/gi, '') || 'ms'
}
