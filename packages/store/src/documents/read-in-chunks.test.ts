import { setFlagsFromString } from 'node:v8'
import { setImmediate } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { readInChunks } from './read-in-chunks.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('ST-12 what a slow source gave is not kept', async () => {
  const given: WeakRef<object>[] = []
  async function* slow(): AsyncGenerator<object> {
    for (let n = 0; n < 50; n++) {
      await setImmediate()
      const item = { n }
      given.push(new WeakRef(item))
      yield item
    }
  }
  const prepare = (): { readonly chars: number } => ({ chars: 1 })
  const stopped = new Promise<void>(() => {})
  let chunks = 0
  let kept = Infinity
  for await (const { items } of readInChunks(slow(), { prepare, stopped })) {
    expect(items).toHaveLength(1)
    chunks += 1
    await setImmediate()
    // Once, while the source is still read: it takes long in a process that ran other tests.
    if (chunks < 50) continue
    collectGarbage()
    kept = given.filter((each) => each.deref() !== undefined).length
  }
  expect(chunks).toBe(50)
  expect(kept).toBeLessThan(10)
})
