import { expect, test } from 'vitest'
import { systemClock } from '@tidemark/contracts'
import { ChangeFeedProcessorHost, MemoryLeaseStore, type HostOptions } from '@tidemark/processor'
import { FakeFeed } from '@tidemark/testing'
import { PublishedApi } from './reference/read-entries.ts'
import { readOptions } from './reference/read-options.ts'
import { ROOT } from './repository.ts'

const RANGE =
  /^(?:any number above (?<above>\d+)(?:, up to (?<upTo>[\d_]+))?|(?<from>[\d_]+) to (?<to>[\d_]+))/
const tables = readOptions(new PublishedApi(ROOT)).flatMap((one) => one.tables)
const options = tables
  .filter(({ name }) => name === 'HostOptions' || name === 'WorkOptions')
  .flatMap((table) => table.options)
  .filter(({ type }) => type === 'number')

/** Whether the rule of the option takes this value. Bounds that two options have together are not meant here. */
function isTaken(name: string, value: number): boolean {
  const hostOptions = { [name]: value } as HostOptions
  const feed = new FakeFeed({ clock: systemClock })
  try {
    return Boolean(
      new ChangeFeedProcessorHost({ feed, leases: new MemoryLeaseStore(), hostOptions }),
    )
  } catch (error) {
    return !(error as Error).message.startsWith(`hostOptions.${name} must be`)
  }
}

test.each(options.map(({ name, range = '' }) => [name, range]))(
  'a host refuses %s outside of its range: %s',
  (name, range) => {
    const { above, upTo, from, to } = RANGE.exec(range)?.groups ?? {}
    const bound = (text: string | undefined): number => Number((text ?? '').replaceAll('_', ''))
    if (above === undefined) {
      expect(isTaken(name, bound(from))).toBe(true)
      expect(isTaken(name, bound(from) - 1)).toBe(false)
    } else {
      expect(isTaken(name, bound(above) + 0.5)).toBe(true)
      expect(isTaken(name, bound(above))).toBe(false)
    }
    const highest = upTo ?? to
    if (highest !== undefined) {
      expect(isTaken(name, bound(highest))).toBe(true)
      expect(isTaken(name, bound(highest) + 1)).toBe(false)
    }
  },
)
