import { describe, expect, test } from 'vitest'
import type { Checkpoint, CheckpointOutcome } from '@tidemark/contracts'
import { HEARTBEAT_MS, at, held, running, type Driver } from './lease-core-driver.fixture.ts'

function tried(n: number, count: number): Checkpoint {
  return { ...at(n), attempts: { count, size: 4 } }
}

function progress(driver: Driver, checkpoint: Checkpoint): void {
  driver.tell({ kind: 'progress', held: held('-40'), checkpoint })
}

/** What is under way to the store. */
function sent(driver: Driver): readonly Checkpoint[] {
  const call = driver.pending('checkpoint')
  return call?.op === 'checkpoint'
    ? call.request.checkpoints.map(({ checkpoint }) => checkpoint)
    : []
}

function answer(driver: Driver, outcome: CheckpointOutcome): void {
  driver.answer({ op: 'checkpoint', reply: [outcome] })
}

function acknowledged(driver: Driver): readonly Checkpoint[] {
  return driver.of('checkpointed').map(({ checkpoint }) => checkpoint)
}

describe('attempts, which are stored at one LSN', () => {
  test('PH-7 a second try at the same LSN is stored after the first was answered', () => {
    const driver = running()
    const [first, second] = [tried(5, 1), tried(5, 2)]
    progress(driver, first)
    progress(driver, second)
    expect(sent(driver)).toEqual([first])
    answer(driver, 'stored')
    expect(acknowledged(driver)).toEqual([first])
    expect(sent(driver)).toEqual([second])
    answer(driver, 'stored')
    expect(acknowledged(driver)).toEqual([first, second])
    expect(sent(driver)).toEqual([])
    expect(driver.core.held().find(({ held: { leaseId } }) => leaseId === '-40')?.stored).toBe(
      second,
    )
  })

  test('PH-7 tries that came while a call was under way go as the last one', () => {
    const driver = running()
    progress(driver, tried(5, 1))
    for (const count of [2, 3, 4]) progress(driver, tried(5, count))
    answer(driver, 'stored')
    expect(sent(driver)).toEqual([tried(5, 4)])
  })

  test('PH-7 the batch that was accepted in the end goes after the tries, whatever became of the call', () => {
    const driver = running()
    progress(driver, tried(5, 1))
    progress(driver, at(9))
    driver.fail('checkpoint')
    driver.passTo(1_000)
    expect(sent(driver)).toEqual([at(9)])
    answer(driver, 'stored')
    expect(sent(driver)).toEqual([])
  })

  test('PH-7 a try that comes after a higher position is history', () => {
    const driver = running()
    progress(driver, at(9))
    progress(driver, tried(5, 1))
    answer(driver, 'stored')
    expect(sent(driver)).toEqual([])
    expect(acknowledged(driver)).toEqual([at(9)])
  })

  test('I2 PH-7 a store that fell behind gets the newest tries again, not those that it had acknowledged first', () => {
    const driver = running()
    progress(driver, tried(5, 1))
    answer(driver, 'stored')
    progress(driver, tried(5, 2))
    answer(driver, 'stored')
    driver.passTo(HEARTBEAT_MS)
    driver.synced({ heldMatches: false })
    driver.answer({ op: 'reconcile', reply: { unknownToHost: [], lost: [], behind: ['-40'] } })
    expect(sent(driver)).toEqual([tried(5, 2)])
  })
})
