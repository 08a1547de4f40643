import { afterEach, describe, expect, test } from 'vitest'
import { Fleet, assertFleetHistory, type FleetOptions } from '@tidemark/testing'

let fleet: Fleet | undefined

function newFleet(options: FleetOptions = {}): Fleet {
  fleet = new Fleet({ feedOptions: { startFromBeginning: true }, ...options })
  return fleet
}

afterEach(async () => {
  const ended = fleet
  fleet = undefined
  if (ended === undefined) return
  assertFleetHistory(ended)
  await ended.end()
  assertFleetHistory(ended)
})

const KEYS = Array.from({ length: 24 }, (_, index) => `key${index}`)

function write(target: Fleet, rounds = 1): void {
  for (let round = 0; round < rounds; round += 1) for (const key of KEYS) target.feed.append(key)
}

describe('one host', () => {
  test('PH-1 PH-3 a host opens every range and delivers every change in order', async () => {
    const one = newFleet()
    write(one, 5)
    await one.start('a')
    await one.until(() => one.isDrained())
    expect(one.counts()).toEqual({ a: 8 })
    write(one, 5)
    await one.until(() => one.isDrained(), 100)
    expect(one.duplicates().size).toBe(0)
  })
})
