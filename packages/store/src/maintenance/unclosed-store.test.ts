import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('the background work of a store that nobody closed does not keep its process alive', async () => {
  const child = fileURLToPath(new URL('unclosed-store.child.ts', import.meta.url))
  const args = ['--conditions=@tidemark/source', child]
  // Rejects when it has to be killed, or ends with an error.
  const { stderr } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
  expect(stderr).toBe('')
})
